"""What a cluster says of one pod, in our words: the facts from which policies/pod_evidence.py judges a rank.

The runtime's adapter fills this from the API's objects and decides nothing; the policy knows no API.
"""

from datetime import datetime
from enum import StrEnum

from definitions.wire import Wire


class PodCause(StrEnum):
    """Why a pod did not run to the end of its own command, as the cluster's own words prove it."""

    OUT_OF_MEMORY = "out-of-memory"  # OOMKilled
    EVICTED_PRESSURE = "evicted-pressure"  # by the kubelet, short of memory, disk or process ids
    OVER_EPHEMERAL = "over-ephemeral-storage"  # by the kubelet, because the pod used more disk than it asked for
    EVICTED = "evicted"  # by the eviction API (a drain) or by a taint
    DELETED = "deleted"  # somebody deleted the pod or its job
    PREEMPTED = "preempted"  # by the cluster's scheduler, for a pod of higher priority
    DEADLINE = "deadline"  # DeadlineExceeded
    NODE_LOST = "node-lost"  # its node is not ready, or gone
    IMAGE = "image"  # cannot be pulled, or is not there
    CONFIG = "config"  # a secret, config map, key or volume that the pod names is missing
    UNSCHEDULABLE = "unschedulable"
    REFUSED = "refused"  # the cluster accepts no such pod (quota, admission, node's own admission)
    INIT = "init"  # our own preparation in the pod failed
    LOST = "lost"  # the pod is gone and nothing says how


class ContainerState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    TERMINATED = "terminated"


class ContainerFacts(Wire):
    """`reason`, `message`: the kubelet's own words."""

    name: str
    state: ContainerState = ContainerState.WAITING
    ready: bool = False
    restarts: int = 0
    reason: str = ""
    message: str = ""
    waiting_since: datetime | None = None  # since when it waits with a failing reason; None: nobody saw it begin
    exit_code: int | None = None
    signal: int | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None


class PodFacts(Wire):
    """One pod as it was last seen. `index`: its node rank in the gang."""

    name: str
    uid: str
    index: int
    node: str | None = None
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    created_at: datetime | None = None
    started_at: datetime | None = None
    deleting: bool = False  # a deletion was asked for
    deleted_at: datetime | None = None  # when it was asked for: the object's deletionTimestamp less its grace period
    scheduled: bool = False
    unschedulable: str = ""  # the scheduler's own sentence
    disruption: str = ""  # reason of the condition DisruptionTarget
    disruption_message: str = ""
    disruption_at: datetime | None = None  # the condition's last transition
    init: tuple[ContainerFacts, ...] = ()
    main: ContainerFacts | None = None
    warning: str = ""  # the newest Warning event while it waits, "<reason>: <message>" (FailedMount has no status)
    gone: bool = False  # it is no longer there; the rest is what was seen last
    last_seen: datetime | None = None  # last proof of life
    node_ready: bool | None = None  # None: nothing is known of its node
    node_gone: bool = False
