"""What is kept of a decision of the scheduler, to be read later by people: the document of its row."""

from datetime import datetime
from typing import Any

from definitions.places import PlacedPod
from definitions.wire import Wire


class GangPlaced(Wire):
    """A gang that got its places. `amounts`: resource -> what they count against quotas."""

    job: str
    queue: str
    attempt: int
    pods: tuple[PlacedPod, ...]
    amounts: dict[str, int] = {}


class GangDisplaced(Wire):
    """A gang that was told to give its places up. `leaves_for`: the job that gets them; None: nobody in particular."""

    job: str
    queue: str
    attempt: int
    leaves_for: str | None = None
    reason: str


class GangRefused(Wire):
    """A gang that goes on waiting, where what is said of it changed. `refusal`: the numbers of the cause."""

    job: str
    queue: str
    position: int | None = None
    cause: str | None = None
    refusal: dict[str, Any] | None = None
    reason: str = ""
    start_at: datetime | None = None
    firm: bool | None = None


class DecisionRecord(Wire):
    """One decision. `waiting`: gangs that wait after it. `seconds`: that it took, where that was measured.

    `dropped`: jobs of `placed` and `displaced` for which nothing was written, since they had changed meanwhile.
    """

    placed: tuple[GangPlaced, ...] = ()
    displaced: tuple[GangDisplaced, ...] = ()
    refused: tuple[GangRefused, ...] = ()
    dropped: tuple[str, ...] = ()
    waiting: int | None = None
    seconds: float | None = None
