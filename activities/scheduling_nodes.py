"""The nodes of a pool, from what clusters told of them and from documents, in the scheduler's words."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from definitions.cluster import LOCAL_CLUSTER
from definitions.cluster_document import Cluster, settings_of
from definitions.documents import AnyKind
from definitions.topology import Topology
from policies.scheduling.affinity import NODE_NAME
from policies.scheduling.demands import capacity
from policies.scheduling.documents import Scheduling
from policies.scheduling.masks import SOFT
from policies.scheduling.mig import slices_of
from policies.scheduling.model import Node, Taint
from store.base import Document

STATES = "node.kubernetes.io/"  # taints by which a cluster says how a node is, rather than whom it is for


def nodes_of(pool: str, views: Mapping[str, Sequence[Document]], scheduling: Scheduling) -> tuple[Node, ...]:
    """Nodes of a pool by name. Simulated ones take the place of this machine, where any are described.

    A node that no NodePool selects, though some select nodes, takes nothing new; what runs there is still counted.
    """
    if pool == LOCAL_CLUSTER and scheduling.nodes:
        return tuple(sorted(map(_named, scheduling.nodes), key=lambda node: node.name))
    return tuple(sorted((_node(view, pool, scheduling) for view in views.get(pool, ())), key=lambda node: node.name))


def capacity_of(views: Mapping[str, Sequence[Document]], scheduling: Scheduling) -> dict[str, int]:
    """What the nodes of all pools have together, without those that jobs are not placed on."""
    served = {pool: [view for view in views[pool] if _serves(view, pool, scheduling)] for pool in views}
    pools = {LOCAL_CLUSTER, *views}
    return capacity(node for pool in sorted(pools) for node in nodes_of(pool, served, scheduling))


def levels_of(nodes: Iterable[Node], scheduling: Scheduling, usual: Mapping[str, str]) -> dict[str, str]:
    """Levels of closeness in a pool, widest first: their names to node labels.

    They are those of the first node pool, by name, that has a topology and nodes among these; else `usual`.
    """
    there = tuple(nodes)
    for _, pool in sorted(scheduling.pools.items()):
        if pool.levels and pool.members(there):
            return dict(pool.levels)
    return dict(usual)


def ghosts(names: Iterable[str], slices: Iterable[str]) -> tuple[Node, ...]:
    """Nodes that are not there any more, while something still holds them: they take nothing new and have nothing."""
    none_left = dict.fromkeys(sorted(slices), 0)
    return tuple(Node(name, 0, 0, slices=none_left, labels={NODE_NAME: name}, open=False) for name in sorted(names))


def usual_levels(documents: Iterable[AnyKind]) -> dict[str, str]:
    """Of the only topology there is."""
    found = [document for document in documents if isinstance(document, Topology)]
    return {level.name: level.node_label for level in found[0].spec.levels} if len(found) == 1 else {}


def networks_of(document: Document | None) -> dict[str, Mapping[str, str]]:
    """Network -> labels of the cluster's nodes that have it."""
    if document is None:
        return {}
    rules = settings_of(Cluster.model_validate(document)).networks
    return {network.value: rule.node_selector for network, rule in rules.items()}


def _named(node: Node) -> Node:
    return Node(
        name=node.name,
        cpu=node.cpu,
        memory=node.memory,
        gpus=node.gpus,
        model=node.model,
        gpu_memory=node.gpu_memory,
        slices=node.slices,
        labels={**node.labels, NODE_NAME: node.name},
        taints=node.taints,
        simulated=node.simulated,
    )


def _serves(view: Mapping[str, Any], pool: str, scheduling: Scheduling) -> bool:
    return scheduling.serves(pool, view.get("labels", {}))


def _node(view: Mapping[str, Any], pool: str, scheduling: Scheduling) -> Node:
    gpus, word = view.get("gpus", 0), view.get("gpu_type", "")
    slices = slices_of(view.get("allocatable", {}))
    model = scheduling.models.get(word, word) if gpus or slices else ""
    taints = view.get("taints", ())
    lasting = [taint for taint in taints if not taint["key"].startswith(STATES)]
    passing = any(taint["key"].startswith(STATES) and taint["effect"] != SOFT for taint in taints)
    return Node(
        name=view["name"],
        cpu=view.get("cpu_millis", 0),
        memory=view.get("memory", 0),
        gpus=gpus,
        model=model,
        gpu_memory=view.get("gpu_memory") or scheduling.gpu_memory.get(model, 0),
        slices=slices,
        labels={**view.get("labels", {}), NODE_NAME: view["name"]},
        taints=tuple(Taint(taint["key"], taint.get("value", ""), taint["effect"]) for taint in lasting),
        open=view["ready"] and view["schedulable"] and not passing and _serves(view, pool, scheduling),
    )
