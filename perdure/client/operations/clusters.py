"""Clusters and their nodes. They belong to the installation; the project only says as whom one asks."""

from __future__ import annotations

from perdure.client._models import (
    ClusterCheck,
    ClusterNode,
    ClusterNodePage,
    ClusterPage,
    ClusterRemoved,
    ClusterView,
    NodeOperation,
    OperateNode,
)
from perdure.client.call import Call, as_json, reading, segment
from perdure.client.documents import Document, body_of

JSON = "application/json"
PATIENCE = 120.0  # seconds that a cluster may take to answer


def create(document: Document, *, dry_run: bool = False, project: str | None = None) -> Call[ClusterView]:
    """Add a cluster. With `dry_run` nothing is stored; what would be is told."""
    return Call(
        "clusters.create",
        "POST",
        "/v1/clusters",
        reading(ClusterView),
        {"dryRun": True if dry_run else None},
        body=as_json(body_of(document)),
        content_type=JSON,
        project=project,
        keyed=not dry_run,
    )


def replace(name: str, document: Document, *, project: str | None = None) -> Call[ClusterView]:
    """Describe a cluster anew. Its worker begins anew with that."""
    path = f"/v1/clusters/{segment(name)}"
    sent = as_json(body_of(document))
    return Call(
        "clusters.replace",
        "PUT",
        path,
        reading(ClusterView),
        body=sent,
        content_type=JSON,
        project=project,
        keyed=True,
    )


def list_clusters(
    *, limit: int | None = None, cursor: str | None = None, project: str | None = None
) -> Call[ClusterPage]:
    """Clusters by name."""
    page = {"limit": limit, "cursor": cursor}
    return Call("clusters.list", "GET", "/v1/clusters", reading(ClusterPage), page, project=project)


def get(name: str, *, project: str | None = None) -> Call[ClusterView]:
    """One cluster, with its worker and its last check."""
    return Call("clusters.get", "GET", f"/v1/clusters/{segment(name)}", reading(ClusterView), project=project)


def check(name: str, *, project: str | None = None) -> Call[ClusterCheck]:
    """Have its worker look at what jobs need there."""
    path = f"/v1/clusters/{segment(name)}:check"
    return Call("clusters.check", "POST", path, reading(ClusterCheck), project=project, patience=PATIENCE)


def delete(name: str, *, project: str | None = None) -> Call[ClusterRemoved]:
    """Forget a cluster. Refused while jobs run there."""
    return Call("clusters.delete", "DELETE", f"/v1/clusters/{segment(name)}", reading(ClusterRemoved), project=project)


def list_nodes(
    *,
    cluster: str | None = None,
    name: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    project: str | None = None,
) -> Call[ClusterNodePage]:
    """Nodes by cluster and name."""
    query = {"cluster": cluster, "name": name, "limit": limit, "cursor": cursor}
    return Call("nodes.list", "GET", "/v1/nodes", reading(ClusterNodePage), query, project=project)


def get_node(cluster: str, name: str, *, project: str | None = None) -> Call[ClusterNode]:
    """One node: what it has, how it is, and which of your jobs run there."""
    return Call("nodes.get", "GET", _node(cluster, name), reading(ClusterNode), project=project)


def cordon(cluster: str, name: str, *, reason: str = "", project: str | None = None) -> Call[NodeOperation]:
    """Let nothing new start there. What runs goes on."""
    return _operate("cordon", cluster, name, reason, project)


def uncordon(cluster: str, name: str, *, reason: str = "", project: str | None = None) -> Call[NodeOperation]:
    """Let pods start there again."""
    return _operate("uncordon", cluster, name, reason, project)


def drain(cluster: str, name: str, *, reason: str = "", project: str | None = None) -> Call[NodeOperation]:
    """Let nothing new start there, and have the jobs' pods leave: each job saves first, then goes on elsewhere."""
    return _operate("drain", cluster, name, reason, project)


def _node(cluster: str, name: str) -> str:
    return f"/v1/clusters/{segment(cluster)}/nodes/{segment(name)}"


def _operate(verb: str, cluster: str, name: str, reason: str, project: str | None) -> Call[NodeOperation]:
    path = f"{_node(cluster, name)}:{verb}"
    body = as_json(OperateNode(reason=reason))
    read = reading(NodeOperation)
    return Call(f"nodes.{verb}", "POST", path, read, body=body, content_type=JSON, project=project, keyed=True)
