"""A cluster that jobs can run on, and the nodes that it has. The control plane keeps no credentials of any."""

from datetime import datetime, timedelta

from definitions.job_resources import Network
from definitions.wire import Wire

LOCAL_CLUSTER = "local"  # this machine's processes
QUEUE_PREFIX = "cluster-"


def cluster_queue(name: str) -> str:
    """The task queue of a cluster's worker."""
    return f"{QUEUE_PREFIX}{name}"


def session_queue(name: str) -> str:
    """Its queue for sessions, which last: they must not take the places of what jobs need done."""
    return f"sessions-{name}"


class NetworkRule(Wire):
    """How pods get a fast network on this cluster: what is added to those that ask for it."""

    annotations: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    resources: dict[str, str] = {}  # extended resources per pod, e.g. {"rdma/hca": "1"}
    env: dict[str, str] = {}


NETWORKS: dict[Network, NetworkRule] = {
    Network.RDMA: NetworkRule(
        annotations={"k8s.v1.cni.cncf.io/networks": "rdma-network"},
        node_selector={"perdure.dev/rdma": "true"},
        env={"NCCL_IB_DISABLE": "0", "NCCL_NET_GDR_LEVEL": "5", "NCCL_DEBUG": "WARN"},
    ),
    Network.SRIOV: NetworkRule(
        annotations={"k8s.v1.cni.cncf.io/networks": "sriov-network"},
        node_selector={"perdure.dev/sriov": "true"},
        env={"NCCL_IB_DISABLE": "0", "NCCL_NET_GDR_LEVEL": "5", "NCCL_DEBUG": "WARN"},
    ),
}


class ClusterSettings(Wire):
    """How jobs run on a cluster. Given with `perdure clusters add`, stored in its row, read by its worker."""

    namespace: str = "perdure-jobs"
    image: str | None = None  # for jobs that name none
    agent_image: str = "perdure:latest"  # ours: prepares pods, supervises ranks, reads volumes
    image_pull_policy: str = "IfNotPresent"
    storage_class: str | None = None  # of run folders; None: the cluster's default class
    storage_bytes: int | None = 10 * 1024**3  # None: run folders live and die with the pod
    shared_storage: bool = True  # whether that class can be mounted by several nodes (ReadWriteMany)
    gpu_resource: str = "nvidia.com/gpu"
    gpu_type_label: str = "nvidia.com/gpu.product"
    gpu_memory_label: str = "nvidia.com/gpu.memory"  # MiB per GPU
    networks: dict[Network, NetworkRule] = NETWORKS
    service_account: str | None = None  # None: the namespace's default; its token is never mounted
    run_as_user: int = 1000
    run_as_group: int = 1000
    labels: dict[str, str] = {}  # put on every object
    image_pull_secrets: tuple[str, ...] = ()
    image_patience: timedelta = timedelta(minutes=5)  # how long an image may fail to be pulled
    config_patience: timedelta = timedelta(minutes=2)  # how long a missing secret, key or volume may be missing
    node_patience: timedelta = timedelta(minutes=1)  # how long a node may be silent before its ranks count as lost
    objects_url: str | None = None  # address under which pods reach the object store, when it is another than ours


class NodeTaint(Wire):
    key: str
    value: str = ""
    effect: str = "NoSchedule"


class TakenByOthers(Wire):
    """What pods that are not of this installation ask of a node. `extended`: of further resources, by name."""

    pods: int = 0
    cpu_millis: int = 0
    memory: int = 0
    gpus: int = 0
    extended: dict[str, int] = {}


class NodeView(Wire):
    """One node as its cluster's worker last saw it. Sizes are bytes; `gpus` counts the cluster's GPU resource."""

    cluster: str
    name: str
    ready: bool
    schedulable: bool
    reason: str = ""  # why it is not ready, in the cluster's words
    cordon_reason: str = ""  # why people took it out of service
    cpu_millis: int = 0
    memory: int = 0
    gpus: int = 0
    gpu_type: str = ""
    gpu_memory: int | None = None
    allocatable: dict[str, str] = {}
    labels: dict[str, str] = {}
    taints: tuple[NodeTaint, ...] = ()
    conditions: dict[str, str] = {}  # type -> "status: reason"
    version: str = ""
    others: TakenByOthers | None = None  # None: nothing, or it is not known
    seen_at: datetime


class Finding(Wire):
    """One line of `clusters check` or `doctor`: `ok` or what is wrong, and what mends it."""

    what: str
    ok: bool
    detail: str = ""
    fix: str = ""


class ClusterReport(Wire):
    """What a cluster's worker found out about its cluster. `rbac`: the least rights that it needs, as a document."""

    cluster: str
    version: str = ""
    at: datetime
    findings: tuple[Finding, ...] = ()
    storage_classes: tuple[str, ...] = ()
    gpus: int = 0
    nodes: int = 0
    rbac: str = ""
