"""What the ranks of an attempt mean for each other: which failure came first, and who was only taken along.

A program that loses its peers ends with whatever code it likes, perhaps before anybody has told of the loss. So a rank
of which nothing but its end is known is not the cause where another was taken away, as far as that can have come first:
what the job does wrong by itself it will do again, but a job must not fail for good because its place was taken.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from definitions.attempt import OomEvidence, RankEvidence, RankState, StartError, StoppedBy
from definitions.pod import PodCause
from policies.pod_causes import KILLED, TAKEN

OVER = (RankState.EXITED, RankState.LOST)
TAKEN_ALONG = "ended with its gang"
NEVER_UP = "it never started, since its gang did not come up"
UNSIGNED = (PodCause.DELETED, PodCause.LOST)  # the cluster's clean-up after a failure looks the same
# How much earlier than a loss an end must be to be no consequence of it: machines' clocks differ, and clusters tell
# whole seconds. A gang ends within five seconds, so a longer time can only matter to ranks that need no others.
CLOCKS_DIFFER = timedelta(seconds=5)
# The same for a loss of which only the end is known, or when it was noticed: a node counts as silent minutes later.
NOTICED_LATE = timedelta(minutes=10)


def as_a_gang(
    ranks: tuple[RankEvidence, ...], receipts: Mapping[int, RankEvidence], *, stopped: bool, given_up: bool
) -> tuple[RankEvidence, ...]:
    """A rank with a receipt only loses a cause that was none, others are told who ended them. `stopped`: we asked the
    attempt to end. `given_up`: it will never come up, so the ranks that wait for the others have ended too."""
    first = _first_told(ranks)
    broken = given_up or any(rank.state in OVER and _failed(rank) for rank in ranks)
    judged = []
    for rank in ranks:
        if stopped and _went(rank):
            rank = receipts.get(rank.rank) or _ended_with(rank, StoppedBy.REQUEST, "ended on request")
        elif _is_consequence(rank, first):
            rank = receipts.get(rank.rank) or _ended_with(rank, StoppedBy.GANG, TAKEN_ALONG)
        elif broken and (rank.state is RankState.WAITING or (given_up and rank.state is RankState.RUNNING)):
            rank = _ended_with(rank, StoppedBy.GANG, NEVER_UP)
        judged.append(rank)
    return _with_lost_peers(judged, receipts)


def _went(rank: RankEvidence) -> bool:
    """Whether nothing is there of it any more, or was ever."""
    return rank.cause in TAKEN or (rank.state is RankState.WAITING and not rank.node)


def _ended_with(rank: RankEvidence, by: StoppedBy, detail: str) -> RankEvidence:
    over = {"state": RankState.LOST, "stopped_by": by, "cause": None, "cause_at": None, "node_lost": False}
    return rank.model_copy(update={**over, "detail": detail})


def _first_told(ranks: Sequence[RankEvidence]) -> datetime | None:
    """When the first rank failed for a reason that was told: by the cluster, or by its own supervisor. An end that
    nobody has explained is none: it may itself be the consequence."""
    told = [rank for rank in ranks if rank.state in OVER and _failed_as_told(rank)]
    moments = [rank.cause_at or rank.ended_at for rank in told]
    return min((at for at in moments if at is not None), default=None)


def _failed_as_told(rank: RankEvidence) -> bool:
    if rank.cause is not None:
        return rank.cause not in UNSIGNED
    return rank.stopped_by in (StoppedBy.HANG, StoppedBy.TIMEOUT) or (rank.start_error not in (None, StartError.GATE))


def _failed(rank: RankEvidence) -> bool:
    return rank.state is RankState.LOST or rank.signal is not None or rank.exit_code != 0


def _is_consequence(rank: RankEvidence, first: datetime | None) -> bool:
    """Whether a pod was deleted because the attempt had failed already: the cluster's own clean-up does not say so.

    Moments of a cluster have whole seconds. A pod that just vanished is taken for a consequence of what was told.
    """
    if first is None or rank.cause not in UNSIGNED:
        return False
    at = rank.cause_at or rank.ended_at
    return rank.cause is PodCause.LOST or at is None or first.replace(microsecond=0) <= at


def _with_lost_peers(ranks: Sequence[RankEvidence], receipts: Mapping[int, RankEvidence]) -> tuple[RankEvidence, ...]:
    over = [rank for rank in ranks if rank.state in OVER]
    losses = [rank for rank in over if _is_loss(rank) or _was_killed_whole(rank, receipts)]
    return tuple(
        rank.model_copy(update={"lost_peer": True})
        if rank not in losses and _just_ended(rank) and any(_may_follow(rank, loss) for loss in losses)
        else rank
        for rank in ranks
    )


def _is_loss(rank: RankEvidence) -> bool:
    """Whether something outside of the job ended it, so that its peers lost it: its cluster, its machine, the network.
    Or it stands at a gate that others have passed: then it is another start of a rank that they have lost."""
    if rank.cause is not None or rank.stopped_by in (StoppedBy.SHUTDOWN, StoppedBy.SEVERED):
        return True
    return rank.start_error is StartError.GATE or (rank.state is RankState.LOST and rank.stopped_by is None)


def _was_killed_whole(rank: RankEvidence, receipts: Mapping[int, RankEvidence]) -> bool:
    """Whether its pod was killed with its supervisors: whoever only loses a peer leaves a receipt."""
    return rank.rank not in receipts and rank.exit_code in KILLED


def _just_ended(rank: RankEvidence) -> bool:
    """Whether a code or a signal is all there is: as a failing of its own would look, or the loss of a peer."""
    if rank.state is not RankState.EXITED or rank.stopped_by is not None or rank.start_error is not None:
        return False
    return _failed(rank) and rank.oom is not OomEvidence.CONFIRMED and not rank.disk_full


def _may_follow(rank: RankEvidence, loss: RankEvidence) -> bool:
    """Whether a rank that just ended can have ended because of this loss."""
    lost_at = loss.cause_at or loss.ended_at
    if rank.ended_at is None or lost_at is None:
        return True
    exact = loss.cause_at is not None and loss.cause not in (PodCause.NODE_LOST, PodCause.LOST)
    return rank.ended_at >= lost_at - (CLOCKS_DIFFER if exact else NOTICED_LATE)
