"""From what a cluster says of an attempt's pods to what is known of each of its ranks.

A receipt is the word of the supervisor that saw the rank end, and is never contradicted: a cause is only put beside it
where it explains it. Without one the cluster's words are all there is, and what they leave open stays unknown.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from definitions.attempt import AttemptLaunch, AttemptObservation, RankEvidence, RankState, StoppedBy
from definitions.cluster import ClusterSettings
from definitions.pod import PodCause, PodFacts
from policies.pod_causes import KILLED, awaits_words, given_up_at, holding, is_given_up, is_up, node_lost_at
from policies.pod_gang import OVER, as_a_gang
from policies.pod_rank import Look, with_receipt, without_receipt

Receipts = Mapping[int, RankEvidence]  # by rank, as the agents wrote them
NONE: Receipts = {}
CREATED = "waits: its pods are being made"
PREPARED = "waits: its pods are being prepared"
_EPOCH = datetime.min.replace(tzinfo=UTC)


def observation(
    launch: AttemptLaunch,
    pods: Sequence[PodFacts],
    settings: ClusterSettings,
    now: datetime,
    receipts: Receipts = NONE,
    *,
    stopped: bool = False,
) -> AttemptObservation:
    """What is known of an attempt that was launched: its ranks, whether it is over, and why it does not run yet."""
    ranks = evidence(pods, launch, settings, now, receipts, stopped=stopped)
    ended = all(rank.state in OVER for rank in ranks)
    if ended and any(_awaits_words(pod, launch, settings, now, receipts, stopped) for pod in _by_index(pods).values()):
        ended = False
    waits = "" if ended else note(pods, launch)
    return AttemptObservation(ref=launch.ref, at=now, ranks=ranks, ended=ended, note=waits)


def evidence(
    pods: Sequence[PodFacts],
    launch: AttemptLaunch,
    settings: ClusterSettings,
    now: datetime,
    receipts: Receipts = NONE,
    *,
    stopped: bool = False,
) -> tuple[RankEvidence, ...]:
    """Every rank of the attempt, in order. `stopped`: we asked the attempt to end, so its pods go on our request.

    An attempt that is given up (see `hopeless`) has ended here, although the cluster would go on trying.
    """
    places, look = _by_index(pods), Look(launch, settings, now)
    ranks = tuple(_rank(look, places, receipts, rank) for rank in range(launch.ranks))
    return as_a_gang(ranks, receipts, stopped=stopped, given_up=hopeless(pods, settings, now))


def hopeless(pods: Sequence[PodFacts], settings: ClusterSettings, now: datetime) -> bool:
    """Whether some pod has been kept from starting for longer than anybody would wait for it to mend by itself."""
    return any(is_given_up(pod, settings, now) for pod in _by_index(pods).values())


def patience_ends(pods: Sequence[PodFacts], settings: ClusterSettings, now: datetime) -> datetime | None:
    """When to look again although nothing changes: the next moment at which patience with some pod ends."""
    moments = [at for pod in pods for at in (given_up_at(pod, settings), node_lost_at(pod, settings))]
    return min((at for at in moments if at is not None and at > now), default=None)


def note(pods: Sequence[PodFacts], launch: AttemptLaunch) -> str:
    """Why the attempt does not run yet, as one sentence that changes only when the reason does; empty when it runs."""
    places = _by_index(pods)
    waiting = [places.get(node) for node in range(launch.nodes) if not is_up(places.get(node))]
    if not waiting:
        return ""
    held = [(pod, why) for pod in waiting if pod is not None and (why := holding(pod)) is not None]
    if not held:
        return PREPARED if all(pod is not None and pod.scheduled for pod in waiting) else CREATED
    # What no waiting cures is told first: it is what somebody has to mend.
    _, first = min(held, key=lambda one: (one[1].cause is PodCause.UNSCHEDULABLE, one[0].index))
    same = sum(1 for _, why in held if why.cause is first.cause)
    who = f"{same} of {launch.nodes} pods: " if launch.nodes > 1 else ""
    return f"waits: {who}{first.sentence}"


def _by_index(pods: Sequence[PodFacts]) -> dict[int, PodFacts]:
    """The first pod of each index. A second one is the cluster's replacement for it, and its gang is broken already."""
    places: dict[int, PodFacts] = {}
    for pod in sorted(pods, key=lambda one: (one.created_at is None, one.created_at or _EPOCH, one.uid)):
        places.setdefault(pod.index, pod)
    return places


def _awaits_words(
    pod: PodFacts, launch: AttemptLaunch, settings: ClusterSettings, now: datetime, receipts: Receipts, stopped: bool
) -> bool:
    size = launch.processes_per_node
    told = [receipts[rank] for rank in range(pod.index * size, (pod.index + 1) * size) if rank in receipts]
    was_told = any(receipt.stopped_by is StoppedBy.SHUTDOWN for receipt in told)
    was_killed = not told and pod.main is not None and pod.main.exit_code in KILLED
    return awaits_words(pod, settings, now, unasked=not stopped and (was_told or was_killed))


def _rank(look: Look, places: Mapping[int, PodFacts], receipts: Receipts, rank: int) -> RankEvidence:
    size = look.launch.processes_per_node
    node = rank // size
    pod, receipt = places.get(node), receipts.get(rank)
    if pod is None:
        return receipt or RankEvidence(rank=rank, node="", state=RankState.WAITING, ready=False)
    of_the_pod = [receipts[one] for one in range(node * size, (node + 1) * size) if one in receipts]
    if receipt is not None:
        return with_receipt(look, pod, receipt, of_the_pod)
    return without_receipt(look, pod, rank, left_out=bool(of_the_pod))
