"""Runs of schedules in the database: a job per schedule and time, whatever comes twice."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from activities.clock import utc_now
from activities.ports import PortError
from activities.schedules import ScheduledJob, Submitted, TickAt
from definitions.errors import PerdureError
from definitions.schedule import Overlap, Schedule
from definitions.schedule_record import StoredSchedule
from definitions.states import Phase
from policies.schedule_runs import Run, run_at
from policies.scheduling.admission import ticket_from
from store import intake, jobs, schedules, scheduling_documents
from store.engine import reading, transaction
from store.tables import JobRow, ScheduleRow


class SqlScheduleRuns:
    """The ScheduleRuns port."""

    def __init__(self, engine: Engine, now: Callable[[], datetime] = utc_now) -> None:
        self._engine = engine
        self._now = now

    def submit(self, at: TickAt) -> Submitted:
        """Insert the job of this time, unless the schedule is gone or paused by now. Safe to repeat.

        A job that cannot be accepted is there all the same, failed, so that people see why nothing ran.
        """
        with _port_errors():
            return transaction(self._engine, lambda session: self._submit(session, at))

    def phase(self, job: ScheduledJob) -> Phase | None:
        with _port_errors(), reading(self._engine) as session:
            row = jobs.get(session, job.tenant, job.project, job.job)
            return row.phase if row is not None else None

    def _submit(self, session: Session, at: TickAt) -> Submitted:
        tick = at.tick
        row = schedules.get(session, tick.tenant, tick.project, tick.schedule)
        if row is None or row.paused:
            return Submitted(note="the schedule is paused" if row else "the schedule is gone")
        stored = StoredSchedule.model_validate(row.document)
        schedule = Schedule.model_validate(stored.document)
        run = run_at(schedule, tick.tenant, tick.project, at.nominal)
        others = _live(session, row) if schedule.spec.overlap is Overlap.TERMINATE_OTHER else ()
        if session.get(JobRow, run.id) is None:
            self._insert(session, row, stored, run)
        mine = ScheduledJob(tenant=tick.tenant, project=tick.project, job=run.id)
        return Submitted(job=mine, others=tuple(other for other in others if other != mine))

    def _insert(self, session: Session, row: ScheduleRow, stored: StoredSchedule, run: Run) -> None:
        origin = intake.Origin(id=run.id, tenant=row.tenant, owner=stored.owner, seed=run.seed, schedule=row.name)
        now = self._now()
        try:
            with session.begin_nested():
                job, seed = intake.found_source(session, row.tenant, run.job)
                ticket = ticket_from(scheduling_documents.held(session), job.spec)
                intake.check_reservation(session, ticket)
                submission = stored.submission.model_copy(update={"seed_checkpoint": seed, "ticket": ticket})
                intake.accept(session, job, submission, origin, now)
        except PerdureError as refused:
            intake.refuse(session, run.job, stored.submission, origin, now, refused)


def _live(session: Session, row: ScheduleRow) -> tuple[ScheduledJob, ...]:
    """Jobs of the schedule that have not ended."""
    wanted = jobs.JobFilter(schedule=row.name, phases=tuple(phase for phase in Phase if not phase.is_final))
    found = jobs.page(session, row.tenant, row.project, wanted, limit=100)
    return tuple(ScheduledJob(tenant=row.tenant, project=row.project, job=job.id) for job in found.items)


@contextmanager
def _port_errors() -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        raise PortError("the database did not answer", code="PD-3706") from error
