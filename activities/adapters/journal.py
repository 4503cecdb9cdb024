"""The journal in the database: what a job came to, written by keys, so that repeats and late writes change nothing.

One transaction per entry, with the job's row locked: state, events, attempt, evidence, checkpoints and artifacts of an
entry are all there, or none is. So is what the job asks of the scheduler, or gives back to it: a job that is recorded
as waiting waits, and one that is recorded as ended holds nothing, and has left word to everybody who follows it.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from activities.adapters.database import database_errors
from activities.clock import utc_now
from activities.ports import JournalEntry, PortError
from definitions.attempt import AttemptRef, Collected
from definitions.job import Job
from definitions.job_state import JobState
from policies.job_asks import asking_of
from policies.job_steps import deadline
from store import artifacts, attempts, checkpoints, events, followers, gangs, reserved
from store.engine import transaction
from store.gangs import Ask
from store.tables_jobs import JobRow


class SqlJournal:
    """The Journal port. An entry may be written again, and after entries that are newer: rows come out the same."""

    def __init__(self, engine: Engine, now: Callable[[], datetime] = utc_now) -> None:
        self._engine = engine
        self._now = now

    def write(self, entry: JournalEntry) -> None:
        """Record an entry. Raises PortError: permanent (PD-3703) when the job has no row, else PD-3706: try again."""
        now = self._now()
        with database_errors():
            transaction(self._engine, lambda session: _write(session, entry, now))

    def checkpoints_deleted(self, ref: AttemptRef, folders: tuple[str, ...]) -> None:
        """Note that folders are gone. Safe to repeat, and before the entry that tells of them. Raises like `write`."""
        now = self._now()

        def mark(session: Session) -> None:
            checkpoints.mark_deleted(session, _locked(session, ref.tenant, ref.project, ref.job), folders, now)

        with database_errors():
            transaction(self._engine, mark)


def _write(session: Session, entry: JournalEntry, now: datetime) -> None:
    state = entry.state
    job = _locked(session, state.tenant, state.project, state.job)
    over = job.phase.is_final
    if _apply(session, job, state):
        _ask(session, job, state, now)
    if job.phase.is_final and not over:
        session.flush()
        followers.tell(session, job)
    events.append(session, job.tenant, job.project, job.id, entry.events)
    if entry.attempt is not None:
        attempts.record(session, job, entry.attempt, state.event_count)
    if entry.collected is not None:
        _keep(session, job, entry.collected)


def _locked(session: Session, tenant: str, project: str, job: str) -> JobRow:
    mine = (JobRow.tenant == tenant, JobRow.project == project, JobRow.id == job)
    row = session.scalar(select(JobRow).where(*mine).with_for_update())
    if row is None:
        raise PortError(f"job {job} of {tenant}/{project} has no row", permanent=True, code="PD-3703")
    return row


def _apply(session: Session, job: JobRow, state: JobState) -> bool:
    """Bring the row to a state that is not older than it, and say whether it was not. A state that says the same leaves
    the generation alone."""
    if state.event_count < job.event_count or (job.phase.is_final and not state.phase.is_final):
        return False
    for name, value in (_columns(state) | _size(job, state)).items():
        setattr(job, name, value)
    if state.phase.is_final:
        job.live_name = None
    if session.is_modified(job):
        job.generation += 1
    return True


def _ask(session: Session, job: JobRow, state: JobState, now: datetime) -> None:
    """Let the job's gang follow the state. A job without a ticket has none."""
    if (ticket := state.ticket) is None:
        return
    asked = asking_of(Job.model_validate(job.spec).spec, state)
    ask = Ask(
        pool=job.cluster,
        queue=ticket.queue,
        priority=ticket.priority,
        priority_class=ticket.priority_class,
        limit_seconds=asked.limit,
        shape=asked.shape,
        reservation=ticket.reservation,
    )
    gave_back = gangs.follow(session, job, state.phase, state.attempt, ask, state.queued_at, now)
    if gave_back:
        reserved.end_uses(session, job.id, now)


def _size(job: JobRow, state: JobState) -> dict[str, int]:
    """Of an elastic job: as large as it is, and as large as it is wanted."""
    if state.sizes is None:
        return {}
    nodes, gpus = state.launch.nodes, job.gpus // job.nodes
    return {"nodes": nodes, "ranks": state.launch.ranks, "gpus": gpus * nodes, "asked_nodes": state.sizes.asked}


def _columns(state: JobState) -> dict[str, Any]:
    return {
        "phase": state.phase,
        "reason": state.reason,
        "failure": state.failure,
        "attempt": state.attempt,
        "exit_code": state.exit_code,
        "checkpoint_step": state.resume_step,
        "started_at": state.started_at,
        "ended_at": state.ended_at,
        "wake_at": state.wake_at,
        "deadline": deadline(state),
        "event_count": state.event_count,
    }


def _keep(session: Session, job: JobRow, collected: Collected) -> None:
    seen = collected.observation
    attempts.record_evidence(session, job, seen)
    checkpoints.record(session, job, collected.checkpoints, seen.at)
    artifacts.record(session, job, seen.ref.number, collected.artifact_files, seen.at)
    if collected.progress is not None and seen.ref.number == job.attempt:
        job.progress = collected.progress.model_dump(mode="json")
