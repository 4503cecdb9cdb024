"""One run of a schedule. It lasts as long as the job that it submits, so that the engine's own overlap policy is about
jobs: what it skips, buffers or cancels is this workflow."""

from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.common import SearchAttributeKey
from temporalio.exceptions import is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from activities.schedules import ScheduleActivities, ScheduledJob, Submitted, Tick, TickAt
    from definitions.wire import Wire
    from workflows import options

NOMINAL = SearchAttributeKey.for_datetime("TemporalScheduledStartTime")
FIRST_PAUSE = timedelta(seconds=1)
LONGEST_PAUSE = timedelta(minutes=1)
GROWTH = 1.2


class TickInput(Wire):
    """What a run starts from: the tick; or, continued, the job that it follows and how long it pauses between looks."""

    tick: Tick
    following: ScheduledJob | None = None
    pause: timedelta = FIRST_PAUSE


@workflow.defn
class ScheduleTickWorkflow:
    """Submits the job of the time that it stands for, and ends when the job has ended."""

    @workflow.init
    def __init__(self, start: TickInput) -> None:
        self._tick = start.tick
        self._job = start.following
        self._pause = start.pause

    @workflow.run
    async def run(self, start: TickInput) -> str:
        if self._job is None:
            submitted = await self._submit()
            for other in submitted.others:
                await self._end(other)
            self._job = submitted.job
            if self._job is None:
                return submitted.note
        job = self._job
        workflow.set_current_details(f"submitted job {job.job}; waiting for its end")
        try:
            return await self._until_over(job)
        except BaseException as error:
            if not is_cancelled_exception(error):
                raise
            # The engine cancels this run so that the next one can have its place: it is over when the job is.
            await self._end(job)
            await self._until_over(job)
            raise

    async def _submit(self) -> Submitted:
        nominal = workflow.info().typed_search_attributes.get(NOMINAL) or workflow.info().start_time
        at = TickAt(tick=self._tick, nominal=_whole_second(nominal))
        settings = _settings(f"submit the job of {nominal:%Y-%m-%d %H:%M:%S}")
        return await workflow.execute_activity_method(ScheduleActivities.submit_run, at, **settings)

    async def _until_over(self, job: ScheduledJob) -> str:
        while True:
            settings = _settings(f"look at job {job.job}")
            phase = await workflow.execute_activity_method(ScheduleActivities.check_run, job, **settings)
            if phase is None or phase.is_final:
                return f"job {job.job}: {phase.value if phase else 'deleted'}"
            await workflow.sleep(self._pause, summary=f"job {job.job} is {phase.value}")
            self._pause = min(self._pause * GROWTH, LONGEST_PAUSE)
            if workflow.info().is_continue_as_new_suggested() and workflow.cancellation_reason() is None:
                workflow.continue_as_new(TickInput(tick=self._tick, following=job, pause=self._pause))

    async def _end(self, job: ScheduledJob) -> None:
        settings = _settings(f"end job {job.job}")
        await workflow.execute_activity_method(ScheduleActivities.end_run, job, **settings)


def _settings(summary: str) -> workflow.ActivityConfig:
    settings = options.record()
    settings["summary"] = summary
    return settings


def _whole_second(time: datetime) -> datetime:
    """Schedules fire on whole seconds."""
    return time.replace(microsecond=0)
