"""The state of a job's workflow: one frozen model, handed to continue-as-new whole."""

from datetime import datetime, timedelta

from definitions.attempt import AttemptLaunch, AttemptRef
from definitions.facts import AttemptSummary, Event, Verb
from definitions.job_order import Awaited
from definitions.places import Placement, Ticket
from definitions.states import FailureClass, Phase
from definitions.wire import Wire


class RetryRules(Wire):
    """How often, how soon and for which failures an attempt is followed by another."""

    limit: int = 3
    first_delay: timedelta = timedelta(seconds=10)
    longest_delay: timedelta = timedelta(minutes=10)
    factor: float = 2.0
    budget: timedelta | None = None  # no new attempt later than this after the first one began
    classes: dict[
        FailureClass, int
    ] = {}  # per class: most retries (0: never); others follow the table in policies/failure.py


class CheckpointRules(Wire):
    keep_last: int = 3
    keep_every: int | None = None
    keep_best: int = 0
    best_metric: str | None = None
    best_is_max: bool = False
    resume: bool = True


class Sizes(Wire):
    """Numbers of nodes of an elastic job. `asked`: what people want. `ceiling`: more than that the scheduler does not
    give it; as many as it can use, until a person asks for a certain number."""

    least: int
    most: int
    asked: int
    ceiling: int


class JobState(Wire):
    """What a job is between two facts. Everything needed to decide is here, and nothing else."""

    tenant: str
    project: str
    job: str
    # The template of every attempt: ref, deadline and resume point are filled in per attempt. Its nodes are those of
    # the current attempt.
    launch: AttemptLaunch
    seed: str  # 32 hex digits made at submit; attempt tokens derive from it, so that a replay finds the same ones
    retry: RetryRules = RetryRules()
    checkpoints: CheckpointRules = CheckpointRules()
    timeout: timedelta | None = None  # of the job's running time as a whole, suspended time not counted
    phase: Phase = Phase.PENDING
    reason: str = "submitted"
    failure: FailureClass | None = None
    attempt: int = 0
    ref: AttemptRef | None = None  # of the current attempt
    attempts: tuple[AttemptSummary, ...] = ()
    retries_used: int = 0
    used: timedelta = timedelta(0)  # running time of ended attempts
    started_at: datetime | None = None
    attempt_started_at: datetime | None = None
    ended_at: datetime | None = None
    wake_at: datetime | None = None
    stop_requested: Verb | None = None  # cancel or suspend while an attempt is being stopped
    launch_from_step: int | None = None  # where the current attempt began
    resume_from: str | None = None  # newest verified checkpoint: folder relative to the run folder
    resume_step: int | None = None
    avoid_nodes: tuple[str, ...] = ()
    pin: bool = False  # keep later attempts on the nodes of the first one
    pinned: tuple[str, ...] = ()  # those nodes, once the first attempt has run
    limit_moved: bool = False  # the time limit changed while the attempt waited for its pods, which do not know of it
    polls: int = 0  # safety polls of this attempt so far; they grow rarer
    launch_problem: str = ""  # why the current attempt could not be launched
    launch_refused: bool = False  # ... and that trying again cannot help
    handled: tuple[str, ...] = ()  # ids of the last requests, so that a repeat is harmless
    events: tuple[Event, ...] = ()  # not yet recorded; the next activity carries and clears them
    event_count: int = 0
    exit_code: int | None = None
    ticket: Ticket | None = None  # None: attempts begin without waiting for places
    # Since when it waits for places or holds them: anew after a back-off or a suspension, not when it was displaced.
    # It tells this asking from others for the same attempt.
    queued_at: datetime | None = None
    placement: Placement | None = None  # of the current attempt
    displaced: str = ""  # why the scheduler wants the places of the current attempt back
    leave_within: timedelta | None = None  # so long the attempt may take to save and stop; None: its own times
    after: tuple[Awaited, ...] = ()  # other jobs that have to end before it begins
    sizes: Sizes | None = None  # None: every attempt has as many nodes as the document says
    resizes: bool = False  # the current attempt is stopped only to go on with another number of nodes


class JobInput(Wire):
    """What JobWorkflow starts from: a fresh state, or the state that a continued run hands on."""

    state: JobState
    queue: str = "cluster-local"
    safety_poll: timedelta = timedelta(minutes=2)
    heartbeat: timedelta = timedelta(seconds=10)
    suspended: bool = False  # submitted as suspended


class RequestOutcome(Wire):
    """The answer to a request that was granted: where the job is now."""

    phase: Phase
    reason: str
