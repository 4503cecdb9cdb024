"""What a job's workflow has done to the world: launch, stop, control, poll, collect and record.

Stop and control record the state that asked for them. Launch and collect also record the state that follows from what
they saw. They find it with the same pure `advance` that the workflow then runs on the same fact at the same moment, so
one activity does what would otherwise take two.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.clock import utc_now
from activities.effects import beating, effect
from activities.ports import Journal, JournalEntry, PortError, Runtime
from definitions.attempt import AttemptObservation, Collected
from definitions.facts import (
    AttemptCollected,
    AttemptSummary,
    ControlCommand,
    Launched,
    PollCommand,
    StopCommand,
)
from definitions.job_state import JobState
from definitions.states import Phase
from definitions.wire import Wire
from policies.checkpoints import deciding
from policies.failure import first_failure
from policies.job_steps import attempt_launch
from policies.lifecycle import PROBLEMS_NOTED, advance, moment
from policies.retention import to_prune


class StateWork(Wire):
    """Input of activities that need the whole state."""

    state: JobState


class StopWork(StateWork):
    command: StopCommand


class ControlWork(StateWork):
    command: ControlCommand


class Recorded(Wire):
    """What the store says now: the workflow records again where it came to another phase."""

    phase: Phase


class LaunchResult(Wire):
    fact: Launched
    recorded: Recorded


class CollectResult(Wire):
    fact: AttemptCollected
    recorded: Recorded


class RuntimeActivities:
    """Served where the runtime is: on the queue of its cluster."""

    def __init__(self, runtime: Runtime, journal: Journal, now: Callable[[], datetime] = utc_now) -> None:
        self._runtime = runtime
        self._journal = journal
        self._now = now

    @activity.defn
    def launch(self, work: StateWork) -> LaunchResult:
        """Start every rank of the current attempt, or none. Pods may not run yet when this returns; their observations
        tell when they do.

        Safe to repeat: the attempt's ref is the launch's identity, and the journal's writes are keyed. A job that is to
        stop breaks in; what has been started by then is ended when the attempt is collected.
        """
        with beating(), port_errors():
            with effect("record-starting"), uninterrupted():
                self._journal.write(entry(work.state))
            with effect("launch"):
                seen = self._runtime.launch(attempt_launch(work.state))
            # Processes of this machine are behind their gate by now, which they open themselves; nobody tells of that.
            running = work.state.launch.pod is None or not seen.waits
            fact = Launched(attempt=work.state.attempt, at=self._now(), running=running, note=seen.note)
            after = advance(work.state, fact, fact.at).state
            with effect("record-running"), uninterrupted():
                self._journal.write(entry(after))
        return LaunchResult(fact=fact, recorded=recorded(after))

    @activity.defn
    def stop(self, work: StopWork) -> Recorded | None:
        """Record that the job is being stopped, and hand over the request to end, which may take its time.

        Safe to repeat: an attempt that is ending or has ended stays so.
        """
        with beating(), port_errors():
            with effect("record-stopping"):
                self._journal.write(entry(work.state))
            with effect("stop"):
                self._runtime.stop(work.command.ref, work.command.stop)
        return recorded(work.state)

    @activity.defn
    def control(self, work: ControlWork) -> Recorded | None:
        """Record a request, and ask for the checkpoint or tell the deadline. Safe to repeat: it goes by its id."""
        command = work.command
        with beating(), port_errors():
            with effect("record-control"):
                self._journal.write(entry(work.state))
            with effect("control"):
                self._runtime.control(
                    command.ref, command.request_id, checkpoint=command.checkpoint, deadline=command.deadline
                )
        return recorded(work.state)

    @activity.defn
    def poll(self, command: PollCommand) -> AttemptObservation:
        """Ask the runtime how the attempt is. Safe to repeat: it only looks, and ends what has lost its supervisors."""
        with beating(), port_errors(), effect("poll"):
            seen = self._runtime.observe(command.ref)
        return seen.brief()

    @activity.defn
    def collect(self, work: StateWork) -> CollectResult:
        """Keep logs, checkpoints and artifacts of the ended attempt, prune checkpoints, record what follows.

        Safe to repeat: objects have deterministic keys, verification only reads, rows are keyed.
        """
        state = work.state
        with beating(), port_errors():
            with effect("record-collecting"):
                self._journal.write(entry(state))
            with effect("collect"):
                collected = self._runtime.collect(attempt_launch(state))
            fact = AttemptCollected(attempt=state.attempt, collected=collected)
            after = advance(state, fact, moment(fact, self._now())).state
            self._prune(after, collected)  # before the end is recorded: who sees it sees everything settled
            with effect("record-collected"):
                self._journal.write(entry(after, collected))
        return CollectResult(fact=fact.model_copy(update={"collected": slim(collected)}), recorded=recorded(after))

    def _prune(self, state: JobState, collected: Collected) -> None:
        folders = to_prune(list(collected.checkpoints), state.checkpoints)
        if not folders:
            return
        ref = collected.observation.ref
        with effect("prune"):
            gone = self._runtime.prune(ref, folders)
        with effect("record-pruned"):
            self._journal.checkpoints_deleted(ref, gone)


class JournalActivities:
    """Served beside the store: on the control queue."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    @activity.defn
    def record(self, work: StateWork) -> Recorded:
        """Write the state and its new events. Safe to repeat: events are keyed, older states change nothing."""
        with port_errors(), effect("record"):
            self._journal.write(entry(work.state))
        return recorded(work.state)


def entry(state: JobState, collected: Collected | None = None) -> JournalEntry:
    return JournalEntry(state=state, events=state.events, attempt=current_attempt(state), collected=collected)


def slim(collected: Collected) -> Collected:
    """Leave out what only the store needs, so that what a job left fits into the workflow's history, whatever it was:
    a gang of a thousand ranks, every checkpoint of a month, a problem with each of many thousand files.

    Nothing that a policy reads is touched: the first failing rank keeps its last lines.
    """
    cause = first_failure(collected.observation)
    ranks = tuple(
        rank if cause is not None and rank.rank == cause.rank else rank.model_copy(update={"last_lines": ()})
        for rank in collected.observation.ranks
    )
    return collected.model_copy(
        update={
            "observation": collected.observation.model_copy(update={"ranks": ranks}),
            "checkpoints": tuple(one.model_copy(update={"metrics": {}}) for one in deciding(collected.checkpoints)),
            "progress": None,
            "artifact_files": (),
            "problems": collected.problems[:PROBLEMS_NOTED],
        }
    )


def recorded(state: JobState) -> Recorded:
    return Recorded(phase=state.phase)


def current_attempt(state: JobState) -> AttemptSummary | None:
    """The row of the present attempt: as remembered when it has ended, else as it began."""
    if state.ref is None:
        return None
    if state.attempts and state.attempts[-1].number == state.attempt:
        return state.attempts[-1]
    return AttemptSummary(
        number=state.attempt,
        token=state.ref.token,
        started_at=state.attempt_started_at,
        from_step=state.launch_from_step,
        reason=state.reason,
    )


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let a cancellation break in only afterwards: within a write it could leave a lock of the database's taken."""
    if not activity.in_activity():
        yield
        return
    with activity.shield_thread_cancel_exception():
        yield


@contextmanager
def port_errors() -> Iterator[None]:
    """Turn a port's error into the engine's: its code is the type, and `permanent` stops the retries."""
    try:
        yield
    except PortError as error:
        raise ApplicationError(str(error), type=error.code, non_retryable=error.permanent) from error
