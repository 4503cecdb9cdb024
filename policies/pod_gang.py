"""What the ranks of an attempt mean for each other: which failure came first, and who was only taken along."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from definitions.attempt import RankEvidence, RankState, StoppedBy
from definitions.pod import PodCause
from policies.pod_causes import TAKEN

OVER = (RankState.EXITED, RankState.LOST)
OWN = (None, StoppedBy.HANG, StoppedBy.TIMEOUT)
TAKEN_ALONG = "ended with its gang"
NEVER_UP = "it never started, since its gang did not come up"
UNSIGNED = (PodCause.DELETED, PodCause.LOST)  # the cluster's clean-up after a failure looks the same


def as_a_gang(
    ranks: tuple[RankEvidence, ...], receipts: Mapping[int, RankEvidence], *, stopped: bool, given_up: bool
) -> tuple[RankEvidence, ...]:
    """A rank with a receipt only loses a cause that was none, others are told who ended them. `stopped`: we asked the
    attempt to end. `given_up`: it will never come up, so the ranks that wait for the others have ended too."""
    first = _first_failure(ranks)
    broken = given_up or any(rank.state in OVER and _failed(rank) for rank in ranks)
    judged = []
    for rank in ranks:
        if rank.rank not in receipts and stopped and _went(rank):
            rank = _ended_with(rank, StoppedBy.REQUEST, "ended on request")
        elif _is_consequence(rank, first):
            rank = receipts.get(rank.rank) or _ended_with(rank, StoppedBy.GANG, TAKEN_ALONG)
        elif broken and (rank.state is RankState.WAITING or (given_up and rank.state is RankState.RUNNING)):
            rank = _ended_with(rank, StoppedBy.GANG, NEVER_UP)
        judged.append(rank)
    return tuple(judged)


def _went(rank: RankEvidence) -> bool:
    """Whether nothing is there of it any more, or was ever."""
    return (rank.state is RankState.LOST and rank.cause in TAKEN) or (rank.state is RankState.WAITING and not rank.node)


def _ended_with(rank: RankEvidence, by: StoppedBy, detail: str) -> RankEvidence:
    over = {"state": RankState.LOST, "stopped_by": by, "cause": None, "cause_at": None, "node_lost": False}
    return rank.model_copy(update={**over, "detail": detail})


def _first_failure(ranks: Sequence[RankEvidence]) -> datetime | None:
    """When the first rank failed by itself, or by a cause that is no consequence of another's failure."""
    own = [rank for rank in ranks if rank.state in OVER and _failed_by_itself(rank)]
    moments = [rank.cause_at or rank.ended_at for rank in own]
    return min((at for at in moments if at is not None), default=None)


def _failed_by_itself(rank: RankEvidence) -> bool:
    if rank.cause is not None:
        return rank.cause not in UNSIGNED
    return rank.stopped_by in OWN and _failed(rank)


def _failed(rank: RankEvidence) -> bool:
    return rank.state is RankState.LOST or rank.signal is not None or rank.exit_code != 0


def _is_consequence(rank: RankEvidence, first: datetime | None) -> bool:
    """Whether a pod was deleted because the attempt had failed already: the cluster's own clean-up does not say so.

    Moments of a cluster have whole seconds. A pod that just vanished is taken for a consequence of any other failure.
    """
    if first is None or rank.cause not in UNSIGNED:
        return False
    at = rank.cause_at or rank.ended_at
    return rank.cause is PodCause.LOST or at is None or first.replace(microsecond=0) <= at
