"""The state of an array's workflow, what it is told and what it does: one job that stands for many, one per index."""

from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field

from definitions.facts import EndsFound, Event, JobEnded, LookCommand, Requested
from definitions.job_order import Awaited
from definitions.states import FailureClass, Phase
from definitions.wire import Wire

# Inclusive, in order, and never next to each other: (0, 3), (7, 7) is 0-3,7.
Ranges = tuple[tuple[int, int], ...]


class Indexes(Wire):
    """Which indexes an array has. A position counts them from 0 on; `step` lies between two of them."""

    first: int = 0
    last: int
    step: int = 1

    @property
    def count(self) -> int:
        return (self.last - self.first) // self.step + 1

    def at(self, position: int) -> int:
        return self.first + position * self.step

    def position(self, index: int) -> int | None:
        """None when it is none of them."""
        place, rest = divmod(index - self.first, self.step)
        return place if rest == 0 and 0 <= place < self.count else None

    def __str__(self) -> str:
        return f"{self.first}-{self.last}" + (f":{self.step}" if self.step != 1 else "")


class ArrayPlace(Wire):
    """What a job of an array is told of its place. `job`: id of the array."""

    job: str
    index: int
    indexes: Indexes


class Granted(Wire):
    """What people gave the array while it was under way, and jobs that are made later get too."""

    extended: timedelta = timedelta(0)  # on top of the document's running time
    priority: int | None = None  # instead of the ticket's


class Telling(Wire):
    """A request that is being passed on. `left`: positions of the jobs that may not have heard it yet."""

    request: Requested
    left: Ranges
    tries: int = 0  # in a row without anybody hearing it
    again_at: datetime | None = None


class ArrayState(Wire):
    """What an array is between two facts. Its size depends on how many jobs are open, not on how many there are."""

    tenant: str
    project: str
    job: str
    name: str
    indexes: Indexes
    limit: int  # most jobs that are open at once
    bounded: bool = False  # whether the jobs have a time limit, which can be extended
    queued: bool = False  # whether they wait in a queue, where their priority counts
    phase: Phase = Phase.PENDING
    reason: str = "submitted"
    failure: FailureClass | None = None
    made: int = 0  # positions below it are those of jobs that were made
    open: Ranges = ()  # positions of jobs that were made and have not ended
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0
    worst: tuple[tuple[int, FailureClass | None], ...] = ()  # the lowest indexes that failed, with the class
    after: tuple[Awaited, ...] = ()  # jobs that have to end before the first one is made
    granted: Granted = Granted()
    telling: tuple[Telling, ...] = ()
    handled: tuple[str, ...] = ()  # ids of the last requests, so that a repeat is harmless
    events: tuple[Event, ...] = ()  # not yet recorded
    event_count: int = 0
    poll: timedelta = timedelta(minutes=2)  # how long nobody is heard of before the store is asked first
    polls: int = 0  # how often it was asked since somebody was heard of; it is asked less and less
    look_at: datetime | None = None  # when it is asked next
    started_at: datetime | None = None
    ended_at: datetime | None = None


class ArrayInput(Wire):
    """What ArrayWorkflow starts from: a fresh state, or the state that a continued run hands on."""

    state: ArrayState
    heartbeat: timedelta = timedelta(seconds=10)
    suspended: bool = False  # submitted as suspended


class Made(Wire):
    """Jobs of the next `count` positions are there. `ended`: those that have ended by now, or could not be accepted."""

    kind: Literal["made"] = "made"
    start: int
    count: int
    ended: tuple[JobEnded, ...] = ()


class Passed(Wire):
    """Jobs at these positions have heard a request, or never will need to."""

    kind: Literal["passed"] = "passed"
    request_id: str
    done: Ranges


ArrayFact = Annotated[JobEnded | Requested | EndsFound | Made | Passed, Field(discriminator="kind")]


class MakeCommand(Wire):
    """Make the jobs of the next `count` positions from `start` on."""

    kind: Literal["make"] = "make"
    start: int
    count: int


class PassCommand(Wire):
    """Pass a request on to jobs at some positions."""

    kind: Literal["pass"] = "pass"
    request: Requested
    positions: Ranges


class RecordArray(Wire):
    """Write the state to the store now."""

    kind: Literal["record"] = "record"


ArrayCommand = MakeCommand | PassCommand | LookCommand | RecordArray
