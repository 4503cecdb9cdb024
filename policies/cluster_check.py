"""What makes a cluster fit for jobs, judged from what was found there."""

import re
from collections.abc import Mapping, Sequence

from definitions.cluster import ClusterSettings, Finding, NodeView

LEAST_VERSION = (1, 29)  # Indexed Jobs count failures by index from then on
# Provisioners whose volumes one node mounts at a time. Of others it is not known.
ONE_NODE_ONLY = frozenset(
    {
        "ebs.csi.aws.com",
        "pd.csi.storage.gke.io",
        "disk.csi.azure.com",
        "rbd.csi.ceph.com",
        "csi.vsphere.vmware.com",
        "cinder.csi.openstack.org",
        "rancher.io/local-path",
        "topolvm.io",
    }
)
DEFAULT_AGENT_IMAGE = ClusterSettings().agent_image


def version_finding(version: str) -> Finding:
    match = re.match(r"v?(\d+)\.(\d+)", version)
    ok = match is not None and (int(match[1]), int(match[2])) >= LEAST_VERSION
    least = ".".join(map(str, LEAST_VERSION))
    fix = "" if ok else f"upgrade the cluster to {least} or later"
    return Finding(what="version", ok=ok, detail=version or "not told", fix=fix)


def access_finding(missing: Sequence[str]) -> Finding:
    if not missing:
        return Finding(what="access", ok=True, detail="the worker's account has every right that it needs")
    return Finding(
        what="access",
        ok=False,
        detail=f"the worker's account may not: {', '.join(missing)}",
        fix="apply the document that `perdure clusters rbac` prints, and let the worker use its account",
    )


def storage_finding(settings: ClusterSettings, classes: Mapping[str, str], default: Sequence[str]) -> Finding:
    """`classes`: name -> provisioner; `default`: those that are marked so."""
    if settings.storage_bytes is None:
        return Finding(what="storage", ok=True, detail="run folders go with their pods, as the cluster's settings say")
    chosen = settings.storage_class or next(iter(default), None)
    if chosen is None:
        fix = "name one as storage.className, mark one as default, or set storage.enabled: false"
        return Finding(what="storage", ok=False, detail="no storage class is the default", fix=fix)
    if chosen not in classes:
        there = ", ".join(sorted(classes)) or "none"
        detail = f"there is no storage class {chosen}; there are: {there}"
        return Finding(what="storage", ok=False, detail=detail, fix="correct storage.className")
    provisioner = classes[chosen]
    if settings.shared_storage and provisioner in ONE_NODE_ONLY:
        return Finding(
            what="storage",
            ok=False,
            detail=f"volumes of {chosen} ({provisioner}) are mounted by one node at a time",
            fix="set storage.shared: false, or name a class whose volumes several nodes can mount",
        )
    shared = "several nodes at once" if settings.shared_storage else "one node at a time"
    return Finding(what="storage", ok=True, detail=f"{chosen} ({provisioner}), mounted by {shared}")


def agent_finding(settings: ClusterSettings) -> Finding:
    if settings.agent_image == DEFAULT_AGENT_IMAGE:
        detail = f"{settings.agent_image}: found only where it was put on every node by hand"
        return Finding(what="agent image", ok=False, detail=detail, fix="name Perdure's image as agentImage")
    return Finding(what="agent image", ok=True, detail=settings.agent_image)


def node_finding(nodes: Sequence[NodeView]) -> Finding:
    ready = sum(node.ready and node.schedulable for node in nodes)
    detail = f"{ready} of {len(nodes)} ready and in service"
    return Finding(what="nodes", ok=ready > 0, detail=detail, fix="" if ready else "see `perdure nodes list`")


def gpu_finding(nodes: Sequence[NodeView], settings: ClusterSettings) -> Finding:
    """A cluster without GPUs is fit for jobs that ask for none."""
    having = [node for node in nodes if node.gpus]
    if not having:
        return Finding(what="GPUs", ok=True, detail=f"no node has {settings.gpu_resource}; jobs that ask for it wait")
    nameless = [node.name for node in having if not node.gpu_type]
    detail = f"{sum(node.gpus for node in having)} on {_nodes(len(having))}"
    if nameless:
        fix = "run GPU feature discovery there, or set the label; until then gpuType matches no such node"
        return Finding(what="GPUs", ok=False, detail=f"{detail}; {len(nameless)} without a model's label", fix=fix)
    return Finding(what="GPUs", ok=True, detail=f"{detail}: {', '.join(sorted({node.gpu_type for node in having}))}")


def network_findings(nodes: Sequence[NodeView], settings: ClusterSettings) -> tuple[Finding, ...]:
    """Which fast networks there are. None is no fault."""
    found = []
    for network, rule in settings.networks.items():
        able = sum(rule.node_selector.items() <= node.labels.items() for node in nodes)
        said = _nodes(able) if able else "no node has its labels; jobs that ask for it wait"
        found.append(Finding(what=f"network {network}", ok=True, detail=said))
    return tuple(found)


def _nodes(number: int) -> str:
    return f"{number} node{'' if number == 1 else 's'}"
