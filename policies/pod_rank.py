"""What is known of one rank, from its pod and from the receipt that its supervisor wrote, where there is one."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from definitions.attempt import AttemptLaunch, OomEvidence, RankEvidence, RankState, StoppedBy
from definitions.cluster import ClusterSettings
from definitions.pod import ContainerState, PodCause, PodFacts
from policies.pod_causes import (
    KILLED,
    TAKEN,
    Why,
    ending,
    given_up_at,
    holding,
    is_given_up,
    is_over,
    is_up,
    removal,
)

SIGKILL = 9
DATED = (PodCause.EVICTED, PodCause.PREEMPTED, PodCause.DELETED)  # the cluster says when that was decided
UNSEEN_ENDS = frozenset({"ContainerStatusUnknown", "Unknown"})


class Look(NamedTuple):
    """From where the pods of an attempt are looked at."""

    launch: AttemptLaunch
    settings: ClusterSettings
    now: datetime

    @property
    def memory(self) -> int | None:
        """The limit of its container, for sentences."""
        return self.launch.pod.memory if self.launch.pod is not None else None


def with_receipt(look: Look, pod: PodFacts, receipt: RankEvidence, of_the_pod: Sequence[RankEvidence]) -> RankEvidence:
    """A receipt with the cause that explains what it says: why the rank was taken down, or why the kernel killed it.

    `of_the_pod`: the receipts of all ranks of its pod.
    """
    if not is_over(pod, look.settings, look.now):
        return receipt
    why = removal(pod, look.settings, look.now)
    if why is not None and not _taken_down(receipt) and not _was_leaving(receipt, why):
        why = None
    if why is None and _ran_out_of_memory(receipt, of_the_pod):
        why = ending(pod, look.settings, look.now, look.memory)
        why = why if why is not None and why.cause is PodCause.OUT_OF_MEMORY else None
    if why is None:
        return receipt
    return receipt.model_copy(update={"cause": why.cause, "cause_at": why.at, "detail": why.sentence})


def without_receipt(look: Look, pod: PodFacts, rank: int, *, left_out: bool) -> RankEvidence:
    """The cluster's words alone. `left_out`: other ranks of the pod have receipts, so this one's had no room."""
    if not is_over(pod, look.settings, look.now):
        return _alive(look, pod, rank)
    main, why = pod.main, ending(pod, look.settings, look.now, look.memory)
    seen = RankEvidence(
        rank=rank,
        node=pod.node or "",
        state=RankState.LOST,
        started_at=main.started_at if main is not None else None,
        ended_at=(main.ended_at if main is not None else None) or pod.last_seen or (why.at if why else None),
        ready=False,
    )
    code = _exit_code(pod)
    if left_out and code is not None:
        return seen.model_copy(update=_left_out(code))
    chosen = code is not None and code not in KILLED  # the container ended as its own process wanted
    by_code = seen.model_copy(update=_by_exit_code(code, pod))
    if why is None or (why.cause in TAKEN and chosen and not _was_leaving(by_code, why)):
        return by_code
    return seen.model_copy(update=_by_cause(why))


def _taken_down(receipt: RankEvidence) -> bool:
    if receipt.stopped_by is StoppedBy.SHUTDOWN:
        return True
    return receipt.state is RankState.LOST and receipt.stopped_by is None and receipt.start_error is None


def _was_leaving(rank: RankEvidence, why: Why) -> bool:
    """Whether it failed, with whatever code, when it was known that its pod had to go: it may have heard of that."""
    if why.cause not in DATED or why.at is None or rank.ended_at is None:
        return False
    just_ended = rank.state is RankState.EXITED and rank.stopped_by is None and rank.start_error is None
    return just_ended and rank.exit_code != 0 and rank.ended_at >= why.at


def _ran_out_of_memory(receipt: RankEvidence, of_the_pod: Sequence[RankEvidence]) -> bool:
    """Whether this is a rank that a container's OOM kill can have ended: one that was killed, or, where none was (the
    kernel chose a child of it), one that failed by itself."""
    if any(_was_killed(one) for one in of_the_pod):
        return _was_killed(receipt)
    return receipt.stopped_by is None and receipt.start_error is None and receipt.exit_code not in (0, None)


def _was_killed(receipt: RankEvidence) -> bool:
    return receipt.stopped_by is None and (receipt.signal == SIGKILL or receipt.exit_code == 128 + SIGKILL)


def _exit_code(pod: PodFacts) -> int | None:
    """How its container ended; None where nobody saw it: a node that restarted reports an invented code."""
    main = pod.main
    if main is not None and main.state is ContainerState.TERMINATED and main.reason not in UNSEEN_ENDS:
        return main.exit_code
    return 0 if pod.phase == "Succeeded" else None


def _by_cause(why: Why) -> dict[str, Any]:
    told = {"cause": why.cause, "cause_at": why.at, "detail": why.sentence, "start_error": why.start_error}
    if why.cause is PodCause.OUT_OF_MEMORY:
        return told | {"state": RankState.EXITED, "signal": SIGKILL, "oom": OomEvidence.CONFIRMED}
    return told | {"node_lost": why.cause is PodCause.NODE_LOST}


def _left_out(code: int) -> dict[str, Any]:
    """Its pod's message had room only for the receipts that matter more."""
    if code == 0:
        return {"state": RankState.EXITED, "exit_code": 0}
    return {"stopped_by": StoppedBy.GANG, "detail": "its receipt did not fit into its pod's message"}


def _by_exit_code(code: int | None, pod: PodFacts) -> dict[str, Any]:
    if code is None:
        words = pod.main.reason if pod.main is not None and pod.main.reason else pod.phase
        return {"cause": PodCause.LOST, "detail": f"its pod ended ({words}), and nothing says how"}
    told = "" if code == 0 else "its pod left no receipt; this is its exit code"
    return {"state": RankState.EXITED, "exit_code": code, "detail": told}


def _alive(look: Look, pod: PodFacts, rank: int) -> RankEvidence:
    node, main = pod.node or "", pod.main
    if main is not None and is_up(pod):
        started = main.started_at
        return RankEvidence(rank=rank, node=node, state=RankState.RUNNING, started_at=started, ready=main.ready)
    why = holding(pod)
    given_up = is_given_up(pod, look.settings, look.now)
    return RankEvidence(
        rank=rank,
        node=node,
        state=RankState.LOST if given_up else RankState.WAITING,
        ended_at=given_up_at(pod, look.settings) if given_up else None,
        ready=False,
        cause=why.cause if why is not None else None,
        detail=why.sentence if why is not None else "",
    )
