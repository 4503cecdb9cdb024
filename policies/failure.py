"""Why an attempt ended: from evidence to a class of failure, a first rank, and a sentence.

An exit code is never guessed and never over-read: 137 says that a shell saw SIGKILL, not that memory ran out. What
counts as proof of each class stands in `_of_rank`, in the order in which it is asked.
"""

import signal as signals
from datetime import UTC, datetime

from definitions.attempt import AttemptObservation, OomEvidence, RankEvidence, RankState, StartError, StoppedBy
from definitions.pod import PodCause
from definitions.states import FailureClass, Mode
from definitions.wire import Wire

SHELL_SIGNAL_BASE = 128  # POSIX shells report "ended by signal n" as exit code 128 + n
LAST_SIGNAL = 64
NOT_BY_ITSELF = (StoppedBy.GANG, StoppedBy.SEVERED, StoppedBy.REQUEST)
# What a cluster says ended a rank. `detail` has its words. Where a rank was never started, `start_error` says more.
CAUSES: dict[PodCause, FailureClass] = {
    PodCause.OUT_OF_MEMORY: FailureClass.OUT_OF_MEMORY,
    PodCause.EVICTED_PRESSURE: FailureClass.EVICTED,
    PodCause.OVER_EPHEMERAL: FailureClass.DISK_FULL,
    PodCause.EVICTED: FailureClass.EVICTED,
    PodCause.DELETED: FailureClass.EVICTED,
    PodCause.PREEMPTED: FailureClass.PREEMPTED,
    PodCause.DEADLINE: FailureClass.TIMEOUT,
    PodCause.NODE_LOST: FailureClass.NODE_LOST,
    PodCause.IMAGE: FailureClass.IMAGE,
    PodCause.CONFIG: FailureClass.CONFIG,
    PodCause.UNSCHEDULABLE: FailureClass.INFRASTRUCTURE,
    PodCause.REFUSED: FailureClass.INFRASTRUCTURE,
    PodCause.INIT: FailureClass.INFRASTRUCTURE,
    PodCause.LOST: FailureClass.INFRASTRUCTURE,
}


class Judgement(Wire):
    """How an attempt ended. `failure` is None when every rank ended with 0."""

    failure: FailureClass | None = None
    reason: str
    rank: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    nodes: tuple[str, ...] = ()  # where the failing rank ran
    last_lines: tuple[str, ...] = ()


def judge(observation: AttemptObservation, mode: Mode = Mode.BATCH) -> Judgement:
    """Say how an ended attempt ended. The first rank that failed by itself is the cause; others were only stopped."""
    if not observation.exists or not observation.ranks:
        return Judgement(failure=FailureClass.INFRASTRUCTURE, reason="the runtime knows nothing of this attempt")
    failing = first_failure(observation)
    if failing is not None:
        return _judgement(failing, len(observation.ranks))
    stopped = next((r for r in observation.ranks if r.stopped_by is StoppedBy.REQUEST), None)
    if stopped is not None:
        return Judgement(failure=FailureClass.SIGNAL, reason="stopped on request", rank=stopped.rank)
    if mode is Mode.SERVICE:
        return Judgement(failure=FailureClass.USER_ERROR, reason="the service ended by itself, with 0", exit_code=0)
    running = next((r for r in observation.ranks if r.state is not RankState.EXITED), None)
    if running is not None:
        why = f"rank {running.rank} was {running.state} when the attempt was collected"
        return Judgement(failure=FailureClass.INFRASTRUCTURE, reason=why, rank=running.rank)
    ranks = len(observation.ranks)
    return Judgement(reason="ended with 0" if ranks == 1 else f"all {ranks} ranks ended with 0", exit_code=0)


def first_failure(observation: AttemptObservation) -> RankEvidence | None:
    """The rank that failed first by itself: not one that was stopped because a peer had failed, or that lost one."""
    failed = [r for r in observation.ranks if _failed(r)]
    causes = [r for r in failed if not r.lost_peer and r.stopped_by not in NOT_BY_ITSELF]
    for known_by in (StoppedBy.SEVERED, StoppedBy.GANG):
        causes = causes or [r for r in failed if r.stopped_by is known_by]
    return min(causes, key=_when, default=None)


def _failed(rank: RankEvidence) -> bool:
    if rank.state is RankState.LOST or rank.start_error is not None:
        return True
    if rank.stopped_by in (StoppedBy.TIMEOUT, StoppedBy.HANG, StoppedBy.SHUTDOWN):
        return True
    return rank.state is RankState.EXITED and (rank.signal is not None or rank.exit_code != 0)


def _when(rank: RankEvidence) -> tuple[datetime, int]:
    """An eviction gives time to save, and ends the rank only then; what its peers do meanwhile is not the cause."""
    known = [at for at in (rank.cause_at, rank.ended_at) if at is not None]
    return min(known, default=datetime.max.replace(tzinfo=UTC)), rank.rank


def _judgement(rank: RankEvidence, ranks: int) -> Judgement:
    failure, what = _of_rank(rank)
    place = f" on {_machine(rank)}" if rank.node else ""
    who = f"rank {rank.rank} of {ranks}{place}: " if ranks > 1 else ""
    return Judgement(
        failure=failure,
        reason=f"{who}{what}",
        rank=rank.rank,
        exit_code=rank.exit_code,
        signal=rank.signal,
        nodes=(rank.node,) if rank.node else (),
        last_lines=rank.last_lines[-20:],
    )


def _machine(rank: RankEvidence) -> str:
    return f"{rank.node} (simulated)" if rank.simulated else rank.node


def _of_rank(rank: RankEvidence) -> tuple[FailureClass, str]:
    if rank.start_error is not None:
        return _never_started(rank)
    if rank.cause is not None:
        return CAUSES[rank.cause], rank.detail or f"ended by its cluster ({rank.cause})"
    if rank.state is RankState.LOST:
        if rank.node_lost:
            return FailureClass.NODE_LOST, f"its machine {_machine(rank)} went down or was restarted"
        return FailureClass.INFRASTRUCTURE, "both supervisors are gone; how the command ended cannot be known"
    if rank.stopped_by is StoppedBy.TIMEOUT:
        return FailureClass.TIMEOUT, "stopped at its time limit"
    if rank.stopped_by is StoppedBy.HANG:
        return FailureClass.HANG, f"no progress within the declared limit{_dash(rank.detail)}"
    if rank.stopped_by is StoppedBy.SHUTDOWN:
        return FailureClass.NODE_LOST, f"taken down with its machine or service manager{_dash(rank.detail)}"
    if rank.stopped_by is StoppedBy.SEVERED:
        return FailureClass.INFRASTRUCTURE, f"ended because its gang was torn apart{_dash(rank.detail)}"
    return _of_exit(rank)


def _never_started(rank: RankEvidence) -> tuple[FailureClass, str]:
    if rank.start_error in (StartError.NOT_FOUND, StartError.NOT_EXECUTABLE):
        words = "not found" if rank.start_error is StartError.NOT_FOUND else "not executable"
        return FailureClass.COMMAND_NOT_FOUND, f"command {words}{_dash(rank.detail)}"
    if rank.start_error is StartError.SECRET:
        return FailureClass.USER_ERROR, f"a secret could not be given to it{_dash(rank.detail)}"
    return FailureClass.INFRASTRUCTURE, f"it never started ({rank.start_error}){_dash(rank.detail)}"


def _of_exit(rank: RankEvidence) -> tuple[FailureClass, str]:
    how = _how(rank)
    if rank.oom is OomEvidence.CONFIRMED:
        return FailureClass.OUT_OF_MEMORY, f"{how}: out of memory, counted by its own control group"
    killed = rank.signal == signals.SIGKILL or rank.exit_code == SHELL_SIGNAL_BASE + signals.SIGKILL
    if rank.oom is OomEvidence.SUSPECTED and killed:
        return FailureClass.OUT_OF_MEMORY, f"{how}: out of memory is suspected, the kernel's count of OOM kills grew"
    if rank.disk_full:
        return FailureClass.DISK_FULL, f"{how}: the disk of its run folder is full"
    if rank.signal is not None:
        return FailureClass.SIGNAL, how
    code = rank.exit_code or 0
    if SHELL_SIGNAL_BASE < code <= SHELL_SIGNAL_BASE + LAST_SIGNAL:
        return FailureClass.SIGNAL, f"{how}, as shells report {_signal_name(code - SHELL_SIGNAL_BASE)}"
    return FailureClass.USER_ERROR, how


def _how(rank: RankEvidence) -> str:
    if rank.signal is not None:
        return f"ended by {_signal_name(rank.signal)}"
    return f"ended with exit code {rank.exit_code}"


def _signal_name(number: int) -> str:
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _dash(detail: str) -> str:
    return f": {detail}" if detail else ""
