"""Nodes of clusters: look, and take them out of service."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.cli import options as given
from perdure.cli import session
from perdure.cli.output import Out
from perdure.cli.verb import command, group

if TYPE_CHECKING:
    from perdure.client import Client

OnCluster = Annotated[
    str | None,
    typer.Option("--cluster", metavar="NAME", help="Its cluster; found by itself where only one has such a node."),
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, in your words; kept with the node.")]


def register(app: typer.Typer) -> None:
    """Add the noun."""
    noun = group(app, "nodes", "Nodes of clusters.", "perdure nodes list --cluster north-1")
    command(noun, "list", "perdure nodes list", shows="ClusterNode")(list_)
    command(noun, "show", "perdure nodes show gpu-7", shows="ClusterNode")(show)
    command(noun, "cordon", "perdure nodes cordon gpu-7 --reason 'fan broken'", shows="NodeOperation")(cordon)
    command(noun, "uncordon", "perdure nodes uncordon gpu-7", shows="NodeOperation")(uncordon)
    command(noun, "drain", "perdure nodes drain gpu-7 --reason 'new kernel'", shows="NodeOperation")(drain)


def list_(
    cluster: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this cluster.")] = None,
    name: Annotated[str | None, typer.Option(help="Only of this name.")] = None,
    limit: given.Limit = None,
    cursor: given.Cursor = None,
    whole: given.All = False,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """List nodes by cluster and name."""
    from perdure.cli.cluster_shapes import NODE
    from perdure.cli.lists import show_list
    from perdure.client.operations import clusters

    make = partial(clusters.list_nodes, cluster=cluster, name=name)
    with session.client(None) as client:
        show_list(client, Out.of(json, output), NODE, make, limit=limit, cursor=cursor, whole=whole)


def show(node: given.NodeName, cluster: OnCluster = None, json: given.Json = None, output: given.Output = None) -> None:
    """Show a node: what it has, how it is, and which of your jobs run there."""
    from perdure.cli.cluster_shapes import NODE

    with session.client(None) as client:
        Out.of(json, output).one(client.nodes.get(cluster or _cluster_of(client, node), node), NODE)


def cordon(
    node: given.NodeName,
    cluster: OnCluster = None,
    reason: Reason = "",
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Let nothing new start on a node. What runs there goes on."""
    _order("cordon", node, cluster, reason, Out.of(json, output))


def uncordon(
    node: given.NodeName,
    cluster: OnCluster = None,
    reason: Reason = "",
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Let pods start on a node again. This also ends a drain that is under way."""
    _order("uncordon", node, cluster, reason, Out.of(json, output))


def drain(
    node: given.NodeName,
    cluster: OnCluster = None,
    reason: Reason = "",
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Let nothing new start on a node, and have the jobs leave it: each saves first, then goes on elsewhere.

    It goes on when this returns; `perdure nodes show` tells who is left.
    """
    _order("drain", node, cluster, reason, Out.of(json, output))


def _order(verb: str, node: str, cluster: str | None, reason: str, out: Out) -> None:
    from perdure.cli.cluster_shapes import NODE_OPERATION

    with session.client(None) as client:
        done = getattr(client.nodes, verb)(cluster or _cluster_of(client, node), node, reason=reason)
        out.one(done, NODE_OPERATION)


def _cluster_of(client: Client, node: str) -> str:
    """The one cluster that has a node of that name. Raises PerdureError PD-2950 or PD-2951."""
    from perdure.codes import AMBIGUOUS_NODE, NO_SUCH_NODE
    from perdure.errors import PerdureError

    found = [each.cluster for each in client.nodes.each(name=node)]
    if not found:
        raise PerdureError(NO_SUCH_NODE, f"no cluster has a node {node!r}")
    if len(found) > 1:
        raise PerdureError(AMBIGUOUS_NODE, f"clusters {', '.join(found)} have a node {node!r} each")
    return found[0]
