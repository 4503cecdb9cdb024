"""Schedules: from a body to what is stored, and from there to what is shown."""

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from api.access import Caller
from api.prepare import complete, place, submission_of
from definitions import documents
from definitions.api_catalog import CreateSchedule, ScheduleView
from definitions.errors import PerdureError
from definitions.job import Job
from definitions.job_document import document_of, named
from definitions.principal import Action, ResourceKind
from definitions.quantities import format_duration
from definitions.schedule import Schedule
from definitions.schedule_record import StoredSchedule
from definitions.submission import JobSubmission
from policies.next_runs import next_runs
from policies.schedule_runs import run_name
from store.tables import ScheduleRow

RUNS_SHOWN = 5


def prepare_schedule(
    caller: Caller, session: Session, body: CreateSchedule, *, uploaded: bool = True
) -> tuple[Schedule, StoredSchedule]:
    """Parse a schedule and prepare its job as a submit now would: what it names must be there. Reads only.

    `uploaded` False: a client looks before it uploads, and the snapshot need not be there yet.
    """
    schedule = _parsed(body, caller.deps.settings.default_cluster)
    submission = submission_of(body.submission)
    metadata = schedule.metadata
    if "project" not in metadata.model_fields_set:
        metadata = metadata.model_copy(update={"project": caller.project})
    elif caller.named and metadata.project != caller.project:
        detail = f"the document says project {metadata.project!r}, the request {caller.project!r}"
        raise PerdureError("PD-2022", detail, where="metadata.project")
    caller.require(Action.CREATE, ResourceKind.SCHEDULE, project=metadata.project)
    job = _in_project(schedule.spec.job, metadata.project)
    settled = complete(caller, session, place(caller, job), submission, uploaded=uploaded).job
    checkpoints = settled.spec.checkpoints.model_copy(update={"from_": job.spec.checkpoints.from_})  # found at each run
    settled = settled.model_copy(update={"spec": settled.spec.model_copy(update={"checkpoints": checkpoints})})
    spec = schedule.spec.model_copy(update={"job": settled})
    schedule = schedule.model_copy(update={"metadata": metadata, "spec": spec})
    stored = StoredSchedule(document=document_of(schedule), owner=caller.principal.name, submission=submission)
    return schedule, stored


def run_of(row: ScheduleRow, now: datetime) -> tuple[Job, JobSubmission]:
    """The job of a run outside the schedule's times."""
    stored = StoredSchedule.model_validate(row.document)
    schedule = Schedule.model_validate(stored.document)
    return named(schedule.spec.job, run_name(schedule, now)), stored.submission


def schedule_view(
    stored: StoredSchedule | dict[str, Any],
    paused: bool,
    now: datetime,
    *,
    created_at: datetime | None = None,
    last_jobs: list[str] | None = None,
    whole: bool = True,
) -> ScheduleView:
    """A schedule; without its document unless `whole`. Next runs are those it has when it is not paused."""
    record = StoredSchedule.model_validate(stored)
    schedule = Schedule.model_validate(record.document)
    spec = schedule.spec
    return ScheduleView(
        name=schedule.metadata.name,
        project=schedule.metadata.project,
        cron=list(spec.cron),
        calendars=[calendar.model_dump(mode="json", by_alias=True) for calendar in spec.calendars],
        time_zone=spec.time_zone,
        overlap=spec.overlap,
        catch_up=format_duration(spec.catch_up_window),
        jitter=format_duration(spec.jitter),
        paused=paused,
        next_runs=list(next_runs(spec, now, RUNS_SHOWN)),
        last_jobs=last_jobs or [],
        owner=record.owner,
        created_at=created_at,
        document=record.document if whole else None,
    )


def _parsed(body: CreateSchedule, cluster: str) -> Schedule:
    if body.text is not None:
        return documents.parse_one(body.text, body.source or "document", Schedule, cluster=cluster)
    found = documents.from_data(body.document, source=body.source or "", cluster=cluster)
    if not isinstance(found, Schedule):
        raise PerdureError("PD-2022", f"one Schedule is expected, and it is a {found.kind}", where="document.kind")
    return found


def _in_project(job: Job, project: str) -> Job:
    """Jobs of a schedule are in its own project."""
    if "project" in job.metadata.model_fields_set and job.metadata.project != project:
        detail = f"the job says project {job.metadata.project!r}, its schedule is in {project!r}"
        raise PerdureError("PD-2022", detail, where="spec.job.metadata.project")
    return job.model_copy(update={"metadata": job.metadata.model_copy(update={"project": project})})
