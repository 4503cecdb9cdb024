"""What ended one pod, or keeps it from starting: from the cluster's own words to a cause and a sentence.

Only words count: an exit code says nothing about memory, and a pod that is gone says nothing about its node. `ending`
asks for proofs in this order: what was decided about the pod as a whole, then what happened to one of its containers,
then who wanted to see it go.
"""

from datetime import datetime, timedelta

from definitions.attempt import StartError
from definitions.cluster import ClusterSettings
from definitions.pod import ContainerFacts, ContainerState, PodCause, PodFacts
from definitions.quantities import format_size
from definitions.wire import Wire
from policies import pod_words
from policies.pod_words import said

OVER = ("Failed", "Succeeded")
BY_KUBELET = "TerminationByKubelet"
WORDS_WITHIN = timedelta(seconds=20)  # after a container's end, for the kubelet to write why it ended the pod
AHEAD = timedelta(seconds=5)  # that a node's clock may be
OF_THE_POD = {
    "DeadlineExceeded": PodCause.DEADLINE,
    "Preempting": PodCause.PREEMPTED,
    "NodeLost": PodCause.NODE_LOST,
    "NodeShutdown": PodCause.NODE_LOST,
    "Terminated": PodCause.NODE_LOST,  # how the kubelet calls it when its machine is shut down
}
DISRUPTIONS = {
    "PreemptionByScheduler": PodCause.PREEMPTED,
    "DeletionByPodGC": PodCause.NODE_LOST,
}
START_ERRORS = {  # codes with which our preparation says that a rank could not be started, beside those of snapshots
    "PD-3010": StartError.WORKDIR,
    "PD-3012": StartError.SECRET,
    "PD-3722": StartError.SECRET,
}
SNAPSHOTS = "PD-34"
KILLED = frozenset({128 + 9, 128 + 15})  # what a container's end looks like when the kubelet ended it
# What takes a pod away whatever its command does: it explains an end that the command did not choose, and no other.
TAKEN = frozenset({PodCause.EVICTED, PodCause.PREEMPTED, PodCause.DELETED, PodCause.LOST, PodCause.NODE_LOST})


class Why(Wire):
    """A cause with its sentence, when it began (None: with the end), and what it means for the start of a rank."""

    cause: PodCause
    sentence: str
    at: datetime | None = None
    start_error: StartError | None = None


def is_over(pod: PodFacts, settings: ClusterSettings, now: datetime) -> bool:
    """Whether nothing of this pod runs any more, or nobody will ever hear of it."""
    if pod.gone or pod.phase in OVER or _failed_init(pod) is not None:
        return True
    return _has_ended(pod.main) or node_is_lost(pod, settings, now)


def ending(pod: PodFacts, settings: ClusterSettings, now: datetime, memory: int | None = None) -> Why | None:
    """What ended a pod that is over; None when it was its own command. `memory`: its limit, for the sentence."""
    for proof in _PROOFS:
        found = proof(pod)
        if found is not None:
            return found
    if _has_ended(pod.main) and pod.main is not None and pod.main.reason == "OOMKilled":
        return Why(cause=PodCause.OUT_OF_MEMORY, sentence=_oom_sentence(pod, memory))
    return removal(pod, settings, now)


def removal(pod: PodFacts, settings: ClusterSettings, now: datetime) -> Why | None:
    """What took a pod away, whatever its command did. A disruption names itself, a plain deletion does not, and a pod
    may just be missing."""
    whole = _of_the_pod(pod)
    if whole is not None:
        return whole
    if pod.disruption:
        return _disrupted(pod)
    if pod.node_gone or (not pod.gone and node_is_lost(pod, settings, now)):
        return _node_lost(pod)
    if pod.deleting:
        return Why(cause=PodCause.DELETED, sentence=f"its pod {pod.name} was deleted", at=pod.deleted_at)
    if pod.gone:
        seen = "" if pod.last_seen is None else f"; last seen {pod.last_seen.isoformat(timespec='seconds')}"
        what = f"its pod {pod.name} is gone, and nothing says how{seen}"
        return Why(cause=PodCause.LOST, sentence=what, at=pod.last_seen)
    return None


def awaits_words(pod: PodFacts, settings: ClusterSettings, now: datetime, *, unasked: bool) -> bool:
    """Whether the kubelet may only be about to say why it ended a pod: the container's own words are there before.

    `unasked`: these say that it was told to end, or it was killed without any, and nobody here had asked for that.
    """
    main = pod.main
    if pod.gone or pod.phase in OVER or main is None or not _has_ended(main) or main.ended_at is None:
        return False
    if not -AHEAD <= now - main.ended_at < WORDS_WITHIN:
        return False
    return pod.disruption == BY_KUBELET or (unasked and removal(pod, settings, now) is None)


def holding(pod: PodFacts) -> Why | None:
    """What keeps a pod from starting, where that is more than that it takes its time."""
    for container in (*pod.init, *((pod.main,) if pod.main else ())):
        if container.state is ContainerState.WAITING:
            if container.reason in pod_words.IMAGE_REASONS:
                what = f"its image cannot be had: {pod_words.image_words(container)}"
                return Why(cause=PodCause.IMAGE, sentence=what, at=_since(pod, container))
            if container.reason in pod_words.CONFIG_REASONS:
                what = f"its container cannot be made ({container.reason}): {said(container.message)}"
                return Why(cause=PodCause.CONFIG, sentence=what, at=_since(pod, container))
    missing = pod_words.missing_volume(pod)
    if missing:
        return Why(cause=PodCause.CONFIG, sentence=f"a volume is missing: {said(missing)}", at=_begun(pod))
    if pod.unschedulable and not pod.scheduled:
        return Why(cause=PodCause.UNSCHEDULABLE, sentence=f"no node can take it: {said(pod.unschedulable)}")
    return None


def given_up_at(pod: PodFacts, settings: ClusterSettings) -> datetime | None:
    """When what keeps a pod from starting has lasted so long that it counts as its end; None: never."""
    why = holding(pod)
    if why is None or why.at is None or why.cause is PodCause.UNSCHEDULABLE:
        return None
    if any(one.reason == pod_words.NEVER_AN_IMAGE for one in (*pod.init, pod.main) if one is not None):
        return why.at
    return why.at + (settings.image_patience if why.cause is PodCause.IMAGE else settings.config_patience)


def is_given_up(pod: PodFacts, settings: ClusterSettings, now: datetime) -> bool:
    at = given_up_at(pod, settings)
    return at is not None and now >= at and not is_over(pod, settings, now)


def is_up(pod: PodFacts | None) -> bool:
    """Whether its container runs, or ran."""
    return pod is not None and pod.main is not None and pod.main.state is not ContainerState.WAITING


def node_lost_at(pod: PodFacts, settings: ClusterSettings) -> datetime | None:
    """When a node that is silent counts as lost, counted from the last proof of life; None while it is not silent."""
    if pod.node is None:
        return None
    known = pod.last_seen or _begun(pod)
    if pod.node_ready is not False or known is None:
        return None
    return known + settings.node_patience


def node_is_lost(pod: PodFacts, settings: ClusterSettings, now: datetime) -> bool:
    if pod.node is None:
        return False
    lost_at = node_lost_at(pod, settings)
    return pod.node_gone or (lost_at is not None and now >= lost_at)


def _of_the_pod(pod: PodFacts) -> Why | None:
    """What the kubelet, or a controller for it, wrote about the pod as a whole."""
    if pod.reason == "Evicted":
        return _evicted(pod)
    cause = OF_THE_POD.get(pod.reason)
    if cause is not None:
        sentences = {
            PodCause.DEADLINE: "stopped by the cluster at the deadline of its pod",
            PodCause.PREEMPTED: f"taken off {_node(pod)} for a pod that goes first",
            PodCause.NODE_LOST: f"its node {_node(pod)} went down",
        }
        return Why(cause=cause, sentence=f"{sentences[cause]} ({pod.reason}): {said(pod.message)}")
    if pod.phase == "Failed" and pod.reason and not _ever_started(pod):
        what = f"{_node(pod)} did not accept its pod ({pod.reason}): {said(pod.message)}"
        return Why(cause=PodCause.REFUSED, sentence=what)
    return None


def _evicted(pod: PodFacts) -> Why:
    if pod_words.over_own_limit(pod.message):
        what = f"evicted from {_node(pod)}: it used more scratch space than it may: {said(pod.message)}"
        return Why(cause=PodCause.OVER_EPHEMERAL, sentence=what, at=pod.disruption_at)
    short = pod_words.short_of(pod.message)
    what = f"evicted from {_node(pod)}, which was short of {short}: {said(pod.message)}"
    return Why(cause=PodCause.EVICTED_PRESSURE, sentence=what, at=pod.disruption_at)


def _of_preparation(pod: PodFacts) -> Why | None:
    container = _failed_init(pod)
    if container is None or (container.exit_code in KILLED and (pod.deleting or pod.disruption)):
        return None
    code, message = pod_words.init_report(container)
    how = f"({code})" if code else f"({container.reason or 'Error'}, exit code {container.exit_code})"
    snapshot = StartError.WORKDIR if code.startswith(SNAPSHOTS) else None
    return Why(
        cause=PodCause.INIT,
        sentence=f"its pod could not be prepared {how}: {said(message)}",
        start_error=START_ERRORS.get(code, snapshot),
    )


def _of_the_start(pod: PodFacts) -> Why | None:
    main = pod.main
    if main is None or not _has_ended(main) or main.reason not in pod_words.START_REASONS:
        return None
    what = f"its container could not be started ({main.reason}): {said(main.message)}"
    return Why(cause=PodCause.CONFIG, sentence=what)


_PROOFS = (_of_the_pod, _of_preparation, _of_the_start)


def _oom_sentence(pod: PodFacts, memory: int | None) -> str:
    limit = "" if memory is None else f" at its limit of {format_size(memory)}"
    return f"out of memory{limit}: the kernel ended its container on {_node(pod)} (OOMKilled)"


def _node_lost(pod: PodFacts) -> Why:
    state = "is gone from the cluster" if pod.node_gone else "is not ready"
    seen = "" if pod.last_seen is None else f"; last sign of life {pod.last_seen.isoformat(timespec='seconds')}"
    return Why(cause=PodCause.NODE_LOST, sentence=f"its node {_node(pod)} {state}{seen}", at=pod.last_seen)


def _disrupted(pod: PodFacts) -> Why:
    cause = DISRUPTIONS.get(pod.disruption, PodCause.EVICTED)
    by_taint = pod.disruption == "DeletionByTaintManager"
    if by_taint and (pod.node_gone or pod.node_ready is False):
        cause = PodCause.NODE_LOST
    sentences = {
        PodCause.PREEMPTED: f"preempted on {_node(pod)} for a pod of higher priority",
        PodCause.NODE_LOST: f"its node {_node(pod)} is lost, and its pod was removed",
        PodCause.EVICTED: f"evicted from {_node(pod)}",
    }
    words = f"({pod.disruption}): {said(pod.disruption_message)}"
    return Why(cause=cause, sentence=f"{sentences[cause]} {words}", at=pod.disruption_at)


def _failed_init(pod: PodFacts) -> ContainerFacts | None:
    return next((one for one in pod.init if _has_ended(one) and one.exit_code not in (0, None)), None)


def _has_ended(container: ContainerFacts | None) -> bool:
    return container is not None and container.state is ContainerState.TERMINATED


def _ever_started(pod: PodFacts) -> bool:
    containers = (*pod.init, *((pod.main,) if pod.main else ()))
    return any(one.state is not ContainerState.WAITING for one in containers)


def _since(pod: PodFacts, container: ContainerFacts) -> datetime | None:
    return container.waiting_since or _begun(pod)


def _begun(pod: PodFacts) -> datetime | None:
    """The latest moment at which it is known to have got further."""
    prepared = [one.ended_at for one in pod.init if one.ended_at is not None]
    known = [moment for moment in (pod.created_at, pod.started_at, *prepared) if moment is not None]
    return max(known, default=None)


def _node(pod: PodFacts) -> str:
    return pod.node or "the cluster"
