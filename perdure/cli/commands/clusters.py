"""Clusters: where jobs can run beside this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perdure.cli import options as given
from perdure.cli import session
from perdure.cli.output import Out
from perdure.cli.verb import command, group

MaybeFile = Annotated[
    Path | None, typer.Option("--file", "-f", metavar="FILE", help="A Cluster document, instead of the flags.")
]


def register(app: typer.Typer) -> None:
    """Add the noun."""
    noun = group(app, "clusters", "Clusters that jobs can run on.", "perdure clusters list")
    command(
        noun,
        "add",
        "perdure clusters add south-1 --image registry.example.org/train:1 --agent-image example.org/perdure:1",
        "perdure clusters add north-1 -f north.yaml --replace",
        shows="ClusterView",
    )(add)
    command(noun, "list", "perdure clusters list", shows="ClusterView")(list_)
    command(noun, "show", "perdure clusters show north-1", shows="ClusterView")(show)
    command(noun, "check", "perdure clusters check north-1", shows="ClusterCheck")(check)
    command(noun, "rbac", "perdure clusters rbac north-1 > rbac.yaml", shows="ClusterCheck")(rbac)
    command(noun, "remove", "perdure clusters remove north-1 -y", shows="ClusterRemoved")(remove)
    command(noun, "worker", "perdure clusters worker north-1 --kubeconfig ~/.kube/config")(worker)


def add(
    cluster: given.ClusterName,
    file: MaybeFile = None,
    description: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    namespace: Annotated[str | None, typer.Option(help="Namespace of the jobs; perdure-jobs when left out.")] = None,
    image: Annotated[str | None, typer.Option(help="Image of jobs that name none.")] = None,
    agent_image: Annotated[str | None, typer.Option(help="Perdure's own image.")] = None,
    storage_class: Annotated[str | None, typer.Option(help="Storage class of run folders.")] = None,
    storage_size: Annotated[str | None, typer.Option(metavar="SIZE", help="Size of run folders, such as 10Gi.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Describe one that is there anew.")] = False,
    dry_run: given.DryRun = False,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Add a cluster. Its worker, which alone has the credentials, is started beside it: `perdure clusters worker`."""
    from perdure.cli.cluster_document import cluster_document
    from perdure.cli.cluster_shapes import CLUSTER

    spec = {
        "description": description,
        "namespace": namespace,
        "image": image,
        "agentImage": agent_image,
        "storage": {"className": storage_class, "size": storage_size},
    }
    document = cluster_document(cluster, spec, file)
    with session.client(None) as client:
        if replace:
            view = client.clusters.replace(cluster, document)
        else:
            view = client.clusters.create(document, dry_run=dry_run)
        Out.of(json, output).one(view, CLUSTER)


def list_(
    limit: given.Limit = None,
    cursor: given.Cursor = None,
    whole: given.All = False,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """List clusters by name, each with its worker and its last check."""
    from perdure.cli.cluster_shapes import CLUSTER
    from perdure.cli.lists import show_list
    from perdure.client.operations import clusters

    with session.client(None) as client:
        out = Out.of(json, output)
        show_list(client, out, CLUSTER, clusters.list_clusters, limit=limit, cursor=cursor, whole=whole)


def show(cluster: given.ClusterName, json: given.Json = None, output: given.Output = None) -> None:
    """Show a cluster: its worker, its nodes, what its last check found wrong."""
    from perdure.cli.cluster_shapes import CLUSTER

    with session.client(None) as client:
        Out.of(json, output).one(client.clusters.get(cluster), CLUSTER)


def check(cluster: given.ClusterName, json: given.Json = None, output: given.Output = None) -> None:
    """Have the cluster's worker look whether jobs can run there. Exit code 1 when something is missing."""
    from perdure.cli.cluster_shapes import CHECK
    from perdure.codes import Exit

    with session.client(None) as client:
        found = client.clusters.check(cluster)
        Out.of(json, output).one(found, CHECK)
    raise typer.Exit(Exit.OK if found.ok else Exit.JOB_FAILED)


def rbac(cluster: given.ClusterName, json: given.Json = None, output: given.Output = None) -> None:
    """Print the least rights that the cluster's worker needs, for `kubectl apply -f`."""
    from perdure.cli.cluster_shapes import RBAC

    with session.client(None) as client:
        Out.of(json, output).one(client.clusters.check(cluster), RBAC)


def remove(
    cluster: given.ClusterName, yes: given.Yes = False, json: given.Json = None, output: given.Output = None
) -> None:
    """Forget a cluster. Refused while jobs run there. Nothing is done to the cluster itself."""
    from perdure.cli.cluster_shapes import REMOVED
    from perdure.cli.terminal import say

    session.confirm(f"Remove cluster {cluster}?", yes)
    with session.client(None) as client:
        removed = client.clusters.delete(cluster)
        Out.of(json, output).one(removed, REMOVED)
    say(f"removed cluster {cluster}")


def worker(
    cluster: given.ClusterName,
    kubeconfig: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Credentials; in a pod: those of its service account.")
    ] = None,
    context: Annotated[str | None, typer.Option(help="Context of that file; its current one when left out.")] = None,
) -> None:
    """Serve a cluster from here until Ctrl-C: start its jobs, watch them, tell of its nodes.

    It uses the control plane of this machine (`perdure up`), or the one that the PERDURE_ variables describe.
    """
    from perdure.local import cluster_worker

    cluster_worker.become(cluster, kubeconfig, context)
