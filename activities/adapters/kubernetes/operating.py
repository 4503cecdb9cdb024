"""Taking nodes out of service, and having our pods leave them."""

from activities.adapters.kubernetes.cache import Object
from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import OURS, RANKS, ROLE, label, ref_of
from activities.adapters.kubernetes.node_views import CORDON_REASON
from activities.ports import PortError
from definitions.cluster_calls import NodePod

FORBIDDEN_FOR_NOW = ("PD-3117",)  # a disruption budget
OVER = ("Succeeded", "Failed")


class KubernetesOperator:
    """The `ClusterOperator` of one cluster."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    def cordon(self, node: str, reason: str) -> None:
        self._patch(node, {"metadata": {"annotations": {CORDON_REASON: reason}}, "spec": {"unschedulable": True}})

    def uncordon(self, node: str) -> None:
        self._patch(node, {"metadata": {"annotations": {CORDON_REASON: None}}, "spec": {"unschedulable": None}})

    def pods(self, node: str) -> tuple[NodePod, ...]:
        found = self._client.list(Kind.POD, labels=OURS, fields=f"spec.nodeName={node}")
        return tuple(_pod(each) for each in found if (each.get("status") or {}).get("phase") not in OVER)

    def evict(self, pod: NodePod) -> bool:
        try:
            self._client.evict(pod.name, uid=pod.uid)
        except PortError as error:
            if error.code in FORBIDDEN_FOR_NOW:
                return False
            raise
        return True  # asked, or gone already

    def _patch(self, node: str, merge: Object) -> None:
        if self._client.patch(Kind.NODE, node, merge) is None:
            raise PortError(f"the cluster has no node {node!r} any more", permanent=True, code="PD-2004")


def _pod(pod: Object) -> NodePod:
    meta, ref = pod["metadata"], ref_of(pod)
    is_rank = ref is not None and label(pod, ROLE) == RANKS
    return NodePod(
        name=meta["name"],
        uid=meta["uid"],
        tenant=ref.tenant if ref else "",
        project=ref.project if ref else "",
        job=ref.job if ref is not None and is_rank else None,
        leaving=meta.get("deletionTimestamp") is not None,
    )
