"""What a run of a schedule has done: submit its job, look how it is, and have it ended."""

from datetime import datetime
from typing import Protocol

from temporalio import activity

from activities.effects import effect
from activities.job import port_errors
from definitions.states import Phase
from definitions.wire import Wire


class Tick(Wire):
    """Which schedule fired. Input of the workflow that the engine starts at each time."""

    tenant: str
    project: str
    schedule: str


class TickAt(Wire):
    """A tick and the time that it stands for, which is not the time at which it came."""

    tick: Tick
    nominal: datetime


class ScheduledJob(Wire):
    """A job that a schedule submitted."""

    tenant: str
    project: str
    job: str


class Submitted(Wire):
    """What became of a run. No `job`: it was not to run, and `note` says why. `others`: jobs that are to end now."""

    job: ScheduledJob | None = None
    note: str = ""
    others: tuple[ScheduledJob, ...] = ()


class ScheduleRuns(Protocol):
    """The store as runs of schedules see it. Raises PortError."""

    def submit(self, at: TickAt) -> Submitted:
        """Insert the job of this time. Safe to repeat: its id derives from schedule and time."""

    def phase(self, job: ScheduledJob) -> Phase | None:
        """Where the job is; None when it was deleted."""


class JobEnder(Protocol):
    async def end(self, job: ScheduledJob, reason: str) -> None:
        """Ask a job to end. Safe to repeat, also for one that has ended. Raises PortError while it cannot be asked."""


class ScheduleActivities:
    """Served beside the store: on the control queue."""

    def __init__(self, runs: ScheduleRuns, ender: JobEnder) -> None:
        self._runs = runs
        self._ender = ender

    @activity.defn
    def submit_run(self, at: TickAt) -> Submitted:
        """Insert the job of this time. Safe to repeat: the same schedule and time are the same row."""
        with port_errors(), effect("submit-run"):
            return self._runs.submit(at)

    @activity.defn
    def check_run(self, job: ScheduledJob) -> Phase | None:
        """Where a job is. Safe to repeat: it only looks."""
        with port_errors(), effect("check-run"):
            return self._runs.phase(job)

    @activity.defn
    async def end_run(self, job: ScheduledJob) -> None:
        """Ask a job to end. Safe to repeat: the request's id derives from the job."""
        with port_errors(), effect("end-run"):
            await self._ender.end(job, "the next run of its schedule takes its place")
