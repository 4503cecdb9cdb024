"""Where the lines of a job's log are asked for: here, at its cluster's worker, or in the object store."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from api.ports import ClusterSilent, EngineAway
from definitions.attempt import AttemptRef
from definitions.cluster_calls import Answer, LiveLine, LogsAsk
from definitions.errors import PerdureError
from definitions.facts import AttemptSummary
from store import attempts
from store.engine import open_engine, session
from store.migrate import upgrade
from store.tables import JobRow
from tests.store.builders import HERE, NOW, add_job
from tests.support.api_fakes import FakeClusters, FakeLogs
from workers.routed_logs import RoutedLogs

TOKEN = "a" * 32


@pytest.fixture
def engine(sqlite_url: str) -> Iterator[Engine]:
    upgrade(sqlite_url)
    opened = open_engine(sqlite_url)
    yield opened
    opened.dispose()


class World:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.kept, self.clusters = FakeLogs(), FakeClusters()
        self.logs: RoutedLogs | None = None
        self.clusters.answers["logs"] = Answer(lines=(LiveLine(at=NOW, text="live", cursor="1"),))

    def job(self, cluster: str, *, ended: bool = False) -> AttemptRef:
        row = add_job(self.engine, cluster=cluster)
        summary = AttemptSummary(number=1, token=TOKEN, started_at=NOW, ended_at=NOW if ended else None)
        with session(self.engine) as active:
            attempts.record(active, active.get_one(JobRow, row.id), summary, 1)
        self.kept.lines[(row.id, 1, 0)] = [(NOW, "kept")]
        return AttemptRef(tenant=HERE[0], project=HERE[1], job=row.id, number=1, token=TOKEN)

    async def read(self, ref: AttemptRef, **asked: Any) -> list[str]:
        if self.logs is None:
            self.logs = RoutedLogs(self.engine, self.kept, self.clusters, asyncio.get_running_loop())
        reader = self.logs
        return [line.text for line in await asyncio.to_thread(lambda: reader.read(ref, 0, **asked))]


async def test_lines_are_asked_of_a_worker_while_a_job_runs_on_its_cluster_and_only_then(engine: Engine) -> None:
    for cluster, ended, text in (("local", False, "kept"), ("north", False, "live"), ("north", True, "kept")):
        with session(engine) as active:
            active.query(JobRow).update({"live_name": None})
        world = World(engine)
        assert await world.read(world.job(cluster, ended=ended)) == [text]


async def test_what_is_wanted_reaches_the_worker(engine: Engine) -> None:
    world = World(engine)
    since = NOW - timedelta(hours=1)
    await world.read(world.job("north"), cursor="c", limit=7, tail=3, since=since)
    (call,) = world.clusters.asked
    assert isinstance(call.ask, LogsAsk)
    assert (call.cluster, call.ask.cursor, call.ask.limit, call.ask.tail, call.ask.since) == ("north", "c", 7, 3, since)


async def test_a_rank_that_had_nothing_new_is_left_alone_for_a_moment(engine: Engine) -> None:
    world = World(engine)
    world.clusters.answers["logs"] = Answer()
    ref = world.job("north")
    for _ in range(5):
        assert await world.read(ref, cursor="1") == []
    assert len(world.clusters.asked) == 1
    await world.read(ref, cursor="2")
    assert len(world.clusters.asked) == 2


@pytest.mark.parametrize(("failure", "code"), [(ClusterSilent(), "PD-2103"), (EngineAway(), "PD-2040")])
async def test_a_worker_that_cannot_be_asked_is_named(engine: Engine, failure: Exception, code: str) -> None:
    world = World(engine)
    world.clusters.fails = failure
    with pytest.raises(PerdureError) as refused:
        await world.read(world.job("north"))
    assert refused.value.code.code == code
