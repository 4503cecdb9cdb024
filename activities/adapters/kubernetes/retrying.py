"""When a call is repeated, and after which pause. Pure but for the clock and the dice."""

import random
import time
from collections.abc import Callable
from enum import Enum

from activities.adapters.kubernetes.errors import Answer

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 4.0
LONGEST_RETRY_AFTER = 10.0
LEAST = 0.05  # seconds that a try needs to be worth it
FAILED = frozenset({500, 502, 503, 504})


class Step(Enum):
    DONE = "done"  # the answer stands
    AGAIN = "again"  # nothing happened; repeat
    UNKNOWN = "unknown"  # it may have happened; look, or repeat what can be repeated
    RENEW = "renew"  # the credentials were not accepted


def after(answer: Answer, *, conflicts_pass: bool) -> Step:
    """What follows an answer. `conflicts_pass`: a 409 of this call is another writer's doing, over at the next try."""
    if answer.status == 401:
        return Step.RENEW
    if answer.status == 429:
        return Step.DONE if answer.has_cause("DisruptionBudget") else Step.AGAIN
    if answer.status in FAILED:
        return Step.UNKNOWN
    if answer.status == 409 and conflicts_pass and not answer.has_cause("FieldManagerConflict"):
        return Step.AGAIN
    return Step.DONE


class Patience:
    """The time that one call has, and the growing, jittered pauses between its tries.

    `pause` sleeps and says whether it was interrupted, as `Event.wait` does; an interrupted call is not repeated.
    """

    def __init__(self, seconds: float, pause: Callable[[float], object] = time.sleep) -> None:
        self._ends = time.monotonic() + seconds
        self._pause = pause
        self._next = FIRST_PAUSE

    def left(self) -> float:
        return max(0.0, self._ends - time.monotonic())

    def wait(self, retry_after: float | None = None) -> bool:
        """Pause before another try; False at once when it could not be finished in time."""
        seconds = self._next * random.uniform(0.5, 1.0)
        self._next = min(self._next * 2, LONGEST_PAUSE)
        if retry_after is not None:
            seconds = max(seconds, min(retry_after, LONGEST_RETRY_AFTER))
        if seconds + LEAST > self.left():
            return False
        return not self._pause(seconds)
