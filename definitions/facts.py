"""What a job's workflow is told (facts), what it does (commands), and its state between the two.

policies/lifecycle.py is the only code that turns a fact into the next state.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from definitions.attempt import AttemptObservation, AttemptRef, Collected, StopRequest
from definitions.places import Displaced, Placed
from definitions.states import FailureClass, Phase
from definitions.wire import Wire


class Launched(Wire):
    """The launch activity returned. `running`: all ranks are behind or past the gate; else an observation will tell."""

    kind: Literal["launched"] = "launched"
    attempt: int
    at: datetime
    running: bool = True
    note: str = ""  # why it does not run yet


class LaunchFailed(Wire):
    """The launch activity gave up after its retries, or was refused for good (`permanent`)."""

    kind: Literal["launch-failed"] = "launch-failed"
    attempt: int
    at: datetime
    permanent: bool = False
    message: str = ""
    code: str = ""  # of the refusal


class Observed(Wire):
    """A runtime's report about an attempt: a signal from the watcher, or the answer of the safety poll."""

    kind: Literal["observed"] = "observed"
    observation: AttemptObservation


class AttemptCollected(Wire):
    kind: Literal["collected"] = "collected"
    attempt: int
    collected: Collected


class CollectFailed(Wire):
    """Nothing could be kept of the attempt: the collect activity gave up after its retries."""

    kind: Literal["collect-failed"] = "collect-failed"
    attempt: int
    at: datetime
    message: str = ""


class TimerFired(Wire):
    kind: Literal["timer"] = "timer"


class Verb(StrEnum):
    """What a person may ask of a running job."""

    CANCEL = "cancel"
    SUSPEND = "suspend"
    RESUME = "resume"
    EXTEND = "extend"
    CHECKPOINT = "checkpoint"
    REPRIORITISE = "reprioritise"
    RESIZE = "resize"


class Requested(Wire):
    """A person's request. It arrives as an update; `request_id` makes a repeat harmless."""

    kind: Literal["requested"] = "requested"
    verb: Verb
    request_id: str
    actor: str
    reason: str = ""
    at: datetime
    extend_by: timedelta | None = None
    priority: int | None = None  # 0 to 100
    nodes: int | None = None  # that an elastic job is to run on


class JobEnded(Wire):
    """A job that others follow has ended. Told at least once."""

    kind: Literal["job-ended"] = "job-ended"
    job: str
    name: str
    phase: Phase  # a final one
    failure: FailureClass | None = None
    at: datetime


class EndsFound(Wire):
    """What the store says of jobs that others wait for: those that have ended."""

    kind: Literal["ends-found"] = "ends-found"
    ends: tuple[JobEnded, ...] = ()


Fact = Annotated[
    Launched
    | LaunchFailed
    | Observed
    | AttemptCollected
    | CollectFailed
    | TimerFired
    | Requested
    | Placed
    | Displaced
    | JobEnded
    | EndsFound,
    Field(discriminator="kind"),
]


class Event(Wire):
    """One line of a job's history, with actor and reason. `key` is unique per job and makes a repeat harmless."""

    key: str
    at: datetime
    actor: str
    kind: str
    reason: str
    data: dict[str, Any] = {}


class AttemptSummary(Wire):
    """What the job remembers of an ended attempt; the row in the store says the same."""

    number: int
    token: str
    started_at: datetime | None = None
    ended_at: datetime | None = None
    failure: FailureClass | None = None
    reason: str = ""
    exit_code: int | None = None
    signal: int | None = None
    first_rank: int | None = None
    from_step: int | None = None
    reached_step: int | None = None
    checkpoint_step: int | None = None
    counted: bool = True  # whether it used up the retry budget
    displaced: bool = False  # whether the scheduler took its places back
    resized: bool = False  # whether it was stopped only to go on with another number of nodes
    nodes: tuple[str, ...] = ()
    last_lines: tuple[str, ...] = ()


class LaunchCommand(Wire):
    kind: Literal["launch"] = "launch"
    ref: AttemptRef


class StopCommand(Wire):
    kind: Literal["stop"] = "stop"
    ref: AttemptRef
    stop: StopRequest


class CollectCommand(Wire):
    """Keep what an ended attempt left: logs, checkpoints (verified), artifacts. Kills leftovers."""

    kind: Literal["collect"] = "collect"
    ref: AttemptRef


class ControlCommand(Wire):
    """Ask the running ranks for something through control.json (checkpoint now; a new deadline)."""

    kind: Literal["control"] = "control"
    ref: AttemptRef
    request_id: str
    checkpoint: bool = False
    deadline: datetime | None = None


class PollCommand(Wire):
    """Ask the runtime itself how the attempt is: the slow safety net under the watcher's signals."""

    kind: Literal["poll"] = "poll"
    ref: AttemptRef


class LookCommand(Wire):
    """Ask the store which of these jobs have ended: the slow safety net under the word that is left for followers."""

    kind: Literal["look"] = "look"
    jobs: tuple[str, ...]


class RecordCommand(Wire):
    """Write the state to the store now (every other command carries the state too)."""

    kind: Literal["record"] = "record"


Command = Annotated[
    LaunchCommand | StopCommand | CollectCommand | ControlCommand | PollCommand | LookCommand | RecordCommand,
    Field(discriminator="kind"),
]
