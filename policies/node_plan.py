"""Draining a node: whom to ask to leave, how long to wait before looking again, and when it is over."""

from datetime import datetime, timedelta

from definitions.cluster_calls import NodePod
from definitions.wire import Wire

FIRST_LOOK = timedelta(seconds=2)
RARELY = timedelta(seconds=30)
DRAIN_WITHIN = timedelta(hours=1)  # saving a large job and ending it in good order may take its time


class DrainStep(Wire):
    """What to do now. `over`: nothing more; `message` says how far it has come."""

    evict: tuple[NodePod, ...] = ()
    look_after: timedelta = FIRST_LOOK
    over: bool = False
    message: str = ""


def drain_step(
    pods: tuple[NodePod, ...], asked: frozenset[str], left: int, began: datetime, now: datetime
) -> DrainStep:
    """The next step of a drain, from the pods of ours that are on the node now.

    `asked`: uids of pods that were asked and may take their time; `left`: how many have left since it `began`. A pod
    that is leaving for another reason is only waited for.
    """
    if not pods:
        return DrainStep(over=True, message=_told(left, 0))
    if now - began >= DRAIN_WITHIN:
        return DrainStep(over=True, message=f"{_told(left, len(pods))}; the drain has given up after an hour")
    waiting = tuple(pod for pod in pods if pod.uid not in asked and not pod.leaving)
    pause = min(max(FIRST_LOOK, (now - began) / 10), RARELY)
    return DrainStep(evict=waiting, look_after=pause, message=_told(left, len(pods)))


def _told(left: int, there: int) -> str:
    gone = f"{left} pod{'' if left == 1 else 's'} left"
    return gone if not there else f"{gone}, {there} still there"
