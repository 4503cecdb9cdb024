"""What the scheduler gives a job: the ticket that it waits with, the places that it gets, and word that it must go."""

from datetime import datetime, timedelta
from typing import Literal

from definitions.wire import Wire


class Ticket(Wire):
    """How a job waits, as it was found when the job was accepted. Its shape follows from its document."""

    queue: str
    priority: int = 0  # 0 to 100, within the class
    priority_class: str | None = None
    reservation: str | None = None  # that it is to run in


class PlacedPod(Wire):
    """Where one node of a job runs. `devices`: which of that node's GPUs, by number. `simulated`: nothing is there."""

    node: str
    devices: tuple[int, ...] = ()
    simulated: bool = False


class Placement(Wire):
    """Places of a whole gang, in order of node rank. `decision`: number of the decision in its pool."""

    pool: str
    decision: int
    pods: tuple[PlacedPod, ...]


class Placed(Wire):
    """The scheduler holds places for the job's next attempt."""

    kind: Literal["placed"] = "placed"
    attempt: int  # that they are for
    at: datetime
    asked_at: datetime | None = None  # of the asking that it answers: one that was taken back is not answered
    placement: Placement


class Displaced(Wire):
    """The scheduler wants the places of an attempt back: it saves, stops, and waits again. `for_good`: it is cancelled
    instead. `within`: so long it may take to save and stop, where its own times are longer. `resizes`: other places are
    held for it already, and its next attempt begins on these."""

    kind: Literal["displaced"] = "displaced"
    attempt: int
    at: datetime
    reason: str
    for_good: bool = False
    within: timedelta | None = None
    resizes: bool = False
