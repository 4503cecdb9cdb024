"""Schedules in the engine: one of its schedules per row, each firing a `ScheduleTickWorkflow`."""

from collections.abc import Callable, Iterable

from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleCalendarSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleRange,
    ScheduleSpec,
    ScheduleState,
    ScheduleUpdate,
    ScheduleUpdateInput,
)
from temporalio.common import SearchAttributePair, TypedSearchAttributes
from temporalio.service import RPCError, RPCStatusCode

from activities.schedules import Tick
from definitions import schedule as documents
from definitions.schedule import Overlap
from definitions.search_attributes import PROJECT, TENANT
from policies.next_runs import Times, times_of
from workflows.schedule_tick import ScheduleTickWorkflow, TickInput

OVERLAP = {
    Overlap.SKIP: ScheduleOverlapPolicy.SKIP,
    Overlap.BUFFER_ONE: ScheduleOverlapPolicy.BUFFER_ONE,
    Overlap.BUFFER_ALL: ScheduleOverlapPolicy.BUFFER_ALL,
    Overlap.CANCEL_OTHER: ScheduleOverlapPolicy.CANCEL_OTHER,
    Overlap.TERMINATE_OTHER: ScheduleOverlapPolicy.TERMINATE_OTHER,
    Overlap.ALLOW_ALL: ScheduleOverlapPolicy.ALLOW_ALL,
}


class TemporalSchedules:
    """Brings the engine's schedules to what rows say. Every call is safe to repeat."""

    def __init__(self, client: Client, task_queue: str) -> None:
        self._client = client
        self._queue = task_queue

    async def apply(self, tick: Tick, wanted: documents.Schedule, *, paused: bool) -> None:
        """Create the schedule, or bring the one that is there to this form. Raises RPCError."""
        schedule = engine_schedule(tick, wanted, paused=paused, task_queue=self._queue)
        attributes = _attributes(tick)
        try:
            await self._client.create_schedule(schedule_id(tick), schedule, search_attributes=attributes)
        except ScheduleAlreadyRunningError:
            await self._client.get_schedule_handle(schedule_id(tick)).update(_to(schedule))

    async def delete(self, tick: Tick) -> None:
        """Remove the schedule. What it started goes on. Raises RPCError other than that there is none."""
        try:
            await self._client.get_schedule_handle(schedule_id(tick)).delete()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise


def schedule_id(tick: Tick) -> str:
    return f"schedule/{tick.tenant}/{tick.project}/{tick.schedule}"


def engine_schedule(tick: Tick, wanted: documents.Schedule, *, paused: bool, task_queue: str) -> Schedule:
    """The engine's form of a schedule document. Times are given as calendars: cron text could be read differently."""
    spec = wanted.spec
    return Schedule(
        action=ScheduleActionStartWorkflow(
            ScheduleTickWorkflow.run,
            TickInput(tick=tick),
            id=f"schedule-run/{tick.tenant}/{tick.project}/{tick.schedule}",
            task_queue=task_queue,
            typed_search_attributes=_attributes(tick),
            static_summary=f"run of schedule {tick.schedule}",
        ),
        spec=ScheduleSpec(
            calendars=[_calendar(times) for times in times_of(spec)],
            time_zone_name=spec.time_zone,
            jitter=spec.jitter or None,
            start_at=spec.start_at,
            end_at=spec.end_at,
        ),
        policy=SchedulePolicy(
            overlap=OVERLAP[spec.overlap], catchup_window=spec.catch_up_window, pause_on_failure=False
        ),
        state=ScheduleState(paused=paused, note="as its row says"),
    )


def ranges(values: Iterable[int]) -> list[ScheduleRange]:
    """Numbers in as few ranges as their steps allow, in order."""
    found: list[ScheduleRange] = []
    for value in sorted(values):
        last = found[-1] if found else None
        if last is not None and last.start == last.end and value > last.end:
            found[-1] = ScheduleRange(last.start, value, value - last.start)
        elif last is not None and last.step > 0 and value - last.end == last.step:
            found[-1] = ScheduleRange(last.start, value, last.step)
        else:
            found.append(ScheduleRange(value, value))
    return [entry for item in found for entry in _split(item)]


def _split(entry: ScheduleRange) -> list[ScheduleRange]:
    """Two numbers far apart read better as two numbers."""
    if entry.step > 1 and entry.end == entry.start + entry.step:
        return [ScheduleRange(entry.start, entry.start), ScheduleRange(entry.end, entry.end)]
    return [entry]


def _calendar(times: Times) -> ScheduleCalendarSpec:
    return ScheduleCalendarSpec(
        second=ranges(times.second),
        minute=ranges(times.minute),
        hour=ranges(times.hour),
        day_of_month=ranges(times.day_of_month),
        month=ranges(times.month),
        day_of_week=ranges(times.day_of_week),
        year=ranges(times.year) if times.year is not None else [],
    )


def _attributes(tick: Tick) -> TypedSearchAttributes:
    return TypedSearchAttributes([SearchAttributePair(TENANT, tick.tenant), SearchAttributePair(PROJECT, tick.project)])


def _to(schedule: Schedule) -> Callable[[ScheduleUpdateInput], ScheduleUpdate]:
    """The engine may ask for the change several times, so it is the same each time."""

    def update(_: ScheduleUpdateInput) -> ScheduleUpdate:
        return ScheduleUpdate(schedule=schedule)

    return update
