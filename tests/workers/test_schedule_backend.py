"""Schedules on a real engine: it fires when we say that it will, and a run is one job."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, select
from temporalio.client import Client, ScheduleRange, ScheduleState
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker

from activities.adapters.schedule_runs import SqlScheduleRuns
from activities.schedules import ScheduleActivities, ScheduledJob, Tick, TickAt
from definitions.places import Ticket
from definitions.schedule import Schedule
from definitions.schedule_record import StoredSchedule
from definitions.states import Phase
from definitions.submission import JobSubmission
from policies.next_runs import next_runs
from store import followers, schedules, scheduling_documents
from store.engine import reading, session
from store.tables import JobRow
from tests.policies.test_next_runs import schedule
from tests.store.builders import add_job
from tests.support.database import migrated
from tests.support.polling import eventually_async
from workers.schedule_backend import TemporalSchedules, engine_schedule, ranges, schedule_id
from workers.schedule_sync import ScheduleSync
from workers.workflow_runner import workflow_runner
from workflows.schedule_tick import ScheduleTickWorkflow

RUNS = 8


@dataclass
class FakeEnder:
    """Ends jobs at once: the row says so."""

    engine: Engine
    ended: list[str] = field(default_factory=list)

    async def end(self, job: ScheduledJob, reason: str) -> None:
        self.ended.append(job.job)
        finish(self.engine, job.job, Phase.CANCELLED)


def finish(engine: Engine, job: str, phase: Phase = Phase.SUCCEEDED) -> None:
    with session(engine) as active:
        row = active.get_one(JobRow, job)
        row.phase, row.live_name, row.ended_at = phase, None, datetime.now(UTC)


def rows(engine: Engine) -> list[JobRow]:
    with reading(engine) as active:
        return list(active.scalars(select(JobRow).order_by(JobRow.id)))


@pytest.fixture
def engine(sqlite_url: str) -> Iterator[Engine]:
    with migrated(sqlite_url, durable=False) as opened:
        yield opened


@pytest.fixture
def tick() -> Tick:
    return Tick(tenant="acme", project="default", schedule=f"nightly-{uuid.uuid4().hex[:8]}")


def store(engine: Engine, tick: Tick, document: Schedule, *, paused: bool = False) -> None:
    named = document.model_copy(update={"metadata": document.metadata.model_copy(update={"name": tick.schedule})})
    stored = StoredSchedule(
        document=named.model_dump(mode="json", by_alias=True, exclude_none=True),
        owner="ada",
        submission=JobSubmission(base_env={"PATH": "/bin"}),
    )
    with session(engine) as active:
        body, now = stored.model_dump(mode="json"), datetime.now(UTC)
        schedules.create(active, tick.tenant, tick.project, tick.schedule, body, now, paused=paused)


@asynccontextmanager
async def control_plane(client: Client, engine: Engine, ender: FakeEnder) -> AsyncIterator[ScheduleSync]:
    """A worker of the tick's queue and the loop that tells the engine of rows."""
    queue = f"control-{uuid.uuid4().hex[:8]}"
    own = ScheduleActivities(SqlScheduleRuns(engine), ender)
    with ThreadPoolExecutor(4) as threads:
        async with Worker(
            client,
            task_queue=queue,
            workflows=[ScheduleTickWorkflow],
            activities=[own.submit_run, own.check_run, own.end_run],
            activity_executor=threads,
            workflow_runner=workflow_runner(),
            max_cached_workflows=0,  # every task replays: the cheapest test of determinism there is
        ):
            yield ScheduleSync(engine, TemporalSchedules(client, queue))


@pytest.mark.parametrize(
    "spec",
    [
        {"cron": ["30 3 * * *"]},
        {"cron": ["*/7 5-9 * * mon-fri"], "timeZone": "America/New_York"},
        {"cron": ["0 0 29 2 *", "15 12 1 */3 *"]},
        {"cron": ["0 0 * * 7"], "timeZone": "Asia/Kathmandu"},
        {"calendars": [{"second": "5,10,40", "minute": "*/15", "hour": "9-17", "dayOfWeek": "2-4"}]},
        {"calendars": [{"hour": "6", "year": "2030-2033", "month": "jan-mar", "dayOfMonth": "1"}]},
        # Around the days on which clocks are changed.
        {"cron": ["*/20 * * * *"], "timeZone": "Europe/Berlin", "startAt": "2030-03-30T23:00:00Z"},
        {"cron": ["30 2 * * *"], "timeZone": "Europe/Berlin", "startAt": "2030-03-29T00:00:00Z"},
        {"cron": ["30 2 * * *"], "timeZone": "Europe/Berlin", "startAt": "2030-10-25T00:00:00Z"},
        {"cron": ["15 1,2,3 * * *"], "timeZone": "America/New_York", "startAt": "2030-11-02T00:00:00Z"},
        {"cron": ["30 2 * * *"], "timeZone": "Australia/Lord_Howe", "startAt": "2030-04-05T00:00:00Z"},
    ],
)
async def test_the_times_that_are_shown_are_the_engines(
    temporal_client: Client, tick: Tick, spec: dict[str, Any]
) -> None:
    wanted = schedule(**spec)
    theirs = await engines_times(temporal_client, tick, wanted)
    assert len(theirs) >= RUNS
    assert next_runs(wanted.spec, datetime.now(UTC), len(theirs)) == theirs


async def test_only_in_the_hour_that_comes_twice_does_the_engine_leave_out_what_is_shown(
    temporal_client: Client, tick: Tick
) -> None:
    wanted = schedule(cron=["*/20 * * * *"], timeZone="Europe/Berlin", startAt="2030-10-26T23:30:00Z")
    back = datetime(2030, 10, 27, 0, 0, tzinfo=UTC)
    theirs = await engines_times(temporal_client, tick, wanted)
    shown = next_runs(wanted.spec, datetime.now(UTC), 20)
    outside = [time for time in theirs if not back <= time < back + timedelta(hours=3)]
    assert outside == [time for time in shown if not back <= time < back + timedelta(hours=3)][: len(outside)]


async def engines_times(client: Client, tick: Tick, wanted: Schedule) -> tuple[datetime, ...]:
    """The next times as the engine itself tells them."""
    asked = engine_schedule(tick, wanted, paused=True, task_queue="nobody")
    handle = await client.create_schedule(schedule_id(tick), asked)
    try:
        return tuple((await handle.describe()).info.next_action_times)
    finally:
        await handle.delete()


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (range(60), [(0, 59, 1)]),
        ([0], [(0, 0, 1)]),
        ([0, 20, 40], [(0, 40, 20)]),
        ([1, 5], [(1, 1, 1), (5, 5, 1)]),
        ([1, 2], [(1, 2, 1)]),
        ([1, 2, 3, 10, 20, 30], [(1, 3, 1), (10, 30, 10)]),
    ],
)
def test_numbers_become_few_ranges(values: Any, wanted: list[tuple[int, int, int]]) -> None:
    found = ranges(values)
    assert [(entry.start, entry.end, max(entry.step, 1)) for entry in found] == wanted
    assert all(isinstance(entry, ScheduleRange) for entry in found)


def soon(seconds: int = 2, every: int = 1, times: int = 1, **spec: Any) -> Schedule:
    """Fires `times` times, `every` seconds apart, beginning in a few seconds."""
    begin = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds)
    chosen = [begin + timedelta(seconds=every * number) for number in range(times)]
    calendars = [
        {
            "second": str(at.second),
            "minute": str(at.minute),
            "hour": str(at.hour),
            "dayOfMonth": str(at.day),
            "month": str(at.month),
            "year": str(at.year),
        }
        for at in chosen
    ]
    return schedule(calendars=calendars, **spec)


async def test_a_schedule_submits_its_job_and_the_run_lasts_as_long_as_the_job(
    temporal_client: Client, engine: Engine, tick: Tick
) -> None:
    store(engine, tick, soon())
    async with control_plane(temporal_client, engine, FakeEnder(engine)) as sync:
        assert await sync.sweep() == 1
        assert await sync.sweep() == 0
        [job] = await eventually_async(lambda: rows(engine), 30, "a job")
        assert (job.schedule, job.owner, job.phase) == (tick.schedule, "ada", Phase.PENDING)
        assert job.name.startswith("report-20")
        assert job.submission["base_env"] == {"PATH": "/bin"}
        handle = temporal_client.get_schedule_handle(schedule_id(tick))
        assert len((await handle.describe()).info.running_actions) == 1
        finish(engine, job.id)

        async def over() -> bool:
            return not (await handle.describe()).info.running_actions

        await eventually_async(over, 30, "the end of the run")
        await handle.delete()


async def test_a_run_that_is_in_the_way_is_skipped(temporal_client: Client, engine: Engine, tick: Tick) -> None:
    store(engine, tick, soon(times=3, every=1, overlap="skip"))
    async with control_plane(temporal_client, engine, FakeEnder(engine)) as sync:
        await sync.sweep()
        handle = temporal_client.get_schedule_handle(schedule_id(tick))

        async def skipped() -> bool:
            return (await handle.describe()).info.num_actions_skipped_overlap == 2

        await eventually_async(skipped, 30, "two skipped runs")
        assert len(rows(engine)) == 1
        finish(engine, rows(engine)[0].id)
        await handle.delete()


@pytest.mark.parametrize("overlap", ["cancelOther", "terminateOther"])
async def test_the_job_before_is_ended_when_the_next_one_takes_its_place(
    temporal_client: Client, engine: Engine, tick: Tick, overlap: str
) -> None:
    store(engine, tick, soon(times=2, every=2, overlap=overlap))
    ender = FakeEnder(engine)
    async with control_plane(temporal_client, engine, ender) as sync:
        await sync.sweep()
        await eventually_async(lambda: len(rows(engine)) == 2, 40, "two jobs")
        await eventually_async(lambda: rows(engine)[0].phase is Phase.CANCELLED, 20, "the first one cancelled")
        first, second = rows(engine)
        assert (ender.ended, second.phase) == ([first.id], Phase.PENDING)
        finish(engine, second.id)
        await temporal_client.get_schedule_handle(schedule_id(tick)).delete()


async def test_pause_resume_and_delete_reach_the_engine(temporal_client: Client, engine: Engine, tick: Tick) -> None:
    store(engine, tick, schedule(cron=["@yearly"]))
    async with control_plane(temporal_client, engine, FakeEnder(engine)) as sync:
        await sync.sweep()
        handle = temporal_client.get_schedule_handle(schedule_id(tick))
        for paused in (True, False):
            with session(engine) as active:
                schedules.set_paused(active, tick.tenant, tick.project, tick.schedule, paused)
            await sync.sweep()
            state: ScheduleState = (await handle.describe()).schedule.state
            assert state.paused is paused
        again = ScheduleSync(engine, TemporalSchedules(temporal_client, "control"))
        assert await again.sweep() == 1  # after a restart everything is told once more
        with session(engine) as active:
            schedules.delete(active, tick.tenant, tick.project, tick.schedule, datetime.now(UTC))
        await sync.sweep()
        await again.sweep()
        with pytest.raises(RPCError, match="not found"):
            await handle.describe()


async def test_the_loop_goes_on_while_the_engine_is_away(engine: Engine, tick: Tick) -> None:
    store(engine, tick, schedule(cron=["@daily"]))
    told: list[str] = []

    class Backend(TemporalSchedules):
        def __init__(self) -> None:
            self.away = 2

        async def apply(self, tick: Tick, wanted: Schedule, *, paused: bool) -> None:
            self.away -= 1
            if self.away >= 0:
                raise RuntimeError("Failed client connect")
            told.append(tick.schedule)

    stop = asyncio.Event()
    loop = asyncio.create_task(ScheduleSync(engine, Backend(), period=timedelta(milliseconds=10)).run(stop))
    await eventually_async(lambda: told, 10, "the schedule told")
    stop.set()
    await loop
    assert told == [tick.schedule]


async def test_a_schedule_that_the_engine_refuses_keeps_no_other_from_being_told(engine: Engine, caplog: Any) -> None:
    names = ("a-first", "b-second", "c-third")
    for name in names:
        store(engine, Tick(tenant="acme", project="default", schedule=name), schedule(cron=["@daily"]))
    told: list[str] = []

    class Backend(TemporalSchedules):
        def __init__(self) -> None:
            pass

        async def apply(self, tick: Tick, wanted: Schedule, *, paused: bool) -> None:
            if tick.schedule == "a-first":
                raise RPCError("no such zone", RPCStatusCode.INVALID_ARGUMENT, b"")
            if tick.schedule == "b-second":
                raise ValueError("not a calendar")
            told.append(tick.schedule)

    sync = ScheduleSync(engine, Backend())
    assert [await sync.sweep(), await sync.sweep()] == [3, 0]
    assert told == ["c-third"]
    assert [record.levelname for record in caplog.records if "does not fire" in record.message] == ["ERROR", "ERROR"]


def test_a_repeated_tick_is_the_same_row(engine: Engine, tick: Tick) -> None:
    store(engine, tick, schedule(cron=["@daily"]))
    runs = SqlScheduleRuns(engine)
    at = TickAt(tick=tick, nominal=datetime(2026, 11, 29, tzinfo=UTC))
    first, again = runs.submit(at), runs.submit(at)
    assert first == again
    assert first.job is not None
    assert len(rows(engine)) == 1
    finish(engine, first.job.job)
    assert runs.submit(at) == first  # also when the job has ended
    assert len(rows(engine)) == 1
    assert runs.phase(first.job) is Phase.SUCCEEDED


@pytest.mark.parametrize(("paused", "note"), [(True, "the schedule is paused"), (False, "the schedule is gone")])
def test_a_tick_of_a_schedule_that_is_paused_or_gone_submits_nothing(
    engine: Engine, tick: Tick, paused: bool, note: str
) -> None:
    """The row counts at once; the engine hears of it a moment later."""
    if paused:
        store(engine, tick, schedule(cron=["@daily"]), paused=True)
    done = SqlScheduleRuns(engine).submit(TickAt(tick=tick, nominal=datetime(2026, 11, 29, tzinfo=UTC)))
    assert (done.job, done.note) == (None, note)
    assert rows(engine) == []


def test_a_job_that_cannot_be_accepted_is_seen_as_failed_with_the_reason(engine: Engine, tick: Tick) -> None:
    job = {
        "apiVersion": "perdure/v1",
        "kind": "Job",
        "metadata": {"name": "report"},
        "spec": {"command": ["true"], "workdir": {"mode": "snapshot", "snapshot": "0f" * 32}},
    }
    store(engine, tick, schedule(cron=["@daily"], job=job))
    at = TickAt(tick=tick, nominal=datetime(2026, 11, 29, tzinfo=UTC))
    runs = SqlScheduleRuns(engine)
    assert runs.submit(at) == runs.submit(at)
    [row] = rows(engine)
    assert (row.phase, row.failure, row.live_name) == (Phase.FAILED, "dependency", None)
    assert "PD-3705" in row.reason
    assert row.start_acknowledged_at is not None


def test_a_run_waits_for_the_newest_job_of_a_name_and_is_seen_as_failed_without_one(engine: Engine, tick: Tick) -> None:
    job = {
        "apiVersion": "perdure/v1",
        "kind": "Job",
        "metadata": {"name": "report"},
        "spec": {"command": ["true"], "workdir": {"mode": "none"}, "after": [{"job": "load"}]},
    }
    store(engine, tick, schedule(cron=["@daily"], job=job))
    runs = SqlScheduleRuns(engine)
    runs.submit(TickAt(tick=tick, nominal=datetime(2026, 11, 28, tzinfo=UTC)))
    load = add_job(engine, "load", (tick.tenant, tick.project))
    at = TickAt(tick=tick, nominal=datetime(2026, 11, 29, tzinfo=UTC))
    assert runs.submit(at) == runs.submit(at)
    without, run, _ = rows(engine)
    assert (without.phase, without.failure, "[PD-2190]" in without.reason) == (Phase.FAILED, "dependency", True)
    (awaited,) = JobSubmission.model_validate(run.submission).after
    assert (run.phase, awaited.job, awaited.phase) == (Phase.PENDING, load.id, None)
    with reading(engine) as active:
        assert followers.of(active, tick.tenant, tick.project, load.id) == [run.id]


def test_a_run_waits_in_the_queue_that_there_is_when_it_is_due(engine: Engine, tick: Tick) -> None:
    """The schedule is older than the queue, and its next run waits all the same."""
    store(engine, tick, schedule(cron=["@daily"]))
    runs = SqlScheduleRuns(engine)
    runs.submit(TickAt(tick=tick, nominal=datetime(2026, 11, 29, tzinfo=UTC)))
    research = {
        "apiVersion": "perdure/v1",
        "kind": "Queue",
        "metadata": {"name": "research"},
        "spec": {"default": True},
    }
    with session(engine) as active:
        scheduling_documents.put(active, "Queue", "research", research, "ada", datetime.now(UTC))
    runs.submit(TickAt(tick=tick, nominal=datetime(2026, 11, 30, tzinfo=UTC)))
    tickets = [JobSubmission.model_validate(row.submission).ticket for row in rows(engine)]
    assert sorted(tickets, key=str) == sorted([None, Ticket(queue="research")], key=str)
