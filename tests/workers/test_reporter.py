"""News of attempts reach their workflows, each once, the newest instead of what still waited."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any, cast

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.ports import Runtime
from definitions.attempt import AttemptObservation, RankState
from definitions.facts import Observed
from tests.support.jobs import NOW, rank, ref
from tests.support.polling import eventually_async
from workers.reporter import Reporter

RUNNING = rank(state=RankState.RUNNING, exit_code=None, ended_at=None, started_at=NOW)


class Changes:
    """A runtime that sees what a test says."""

    def __init__(self, *seen: AttemptObservation) -> None:
        self._seen = seen

    def changes(self, stop: threading.Event) -> Iterator[AttemptObservation]:
        yield from self._seen
        stop.wait()


class Engine:
    """A client of an engine that refuses the first signals, and of which nothing but signals is asked."""

    def __init__(self, refusals: int = 0, status: RPCStatusCode = RPCStatusCode.UNAVAILABLE) -> None:
        self.refusals = refusals
        self.status = status
        self.tries = 0
        self.told: list[AttemptObservation] = []
        self.open = asyncio.Event()
        self.open.set()

    def get_workflow_handle_for(self, _: Any, workflow_id: str) -> "Engine":
        assert workflow_id == "job/default/job-1"
        return self

    async def signal(self, _: Any, news: Observed) -> None:
        self.tries += 1
        await self.open.wait()
        if self.tries <= self.refusals:
            raise RPCError("no", self.status, b"")
        self.told.append(news.observation)


def seen(**news: Any) -> AttemptObservation:
    return AttemptObservation(ref=ref(), at=NOW, **news)


async def report(engine: Engine, *observations: AttemptObservation, until: Any) -> None:
    reporter = Reporter(cast(Runtime, Changes(*observations)), cast(Client, engine))
    stop = asyncio.Event()
    running = asyncio.ensure_future(reporter.run(stop))
    try:
        await eventually_async(until)
    finally:
        stop.set()
        await running


async def test_a_gangs_ranks_stay_here_and_its_news_go() -> None:
    engine = Engine()
    await report(engine, seen(ranks=(RUNNING,)), until=lambda: engine.told)
    (told,) = engine.told
    assert (told.ranks, told.running, told.running_since) == ((), True, NOW)


async def test_what_the_engine_refused_is_told_again() -> None:
    engine = Engine(refusals=2)
    await report(engine, seen(ended=True), until=lambda: engine.told)
    assert engine.tries == 3


async def test_a_job_whose_workflow_is_over_is_told_once() -> None:
    engine = Engine(refusals=1, status=RPCStatusCode.NOT_FOUND)
    await report(engine, seen(ended=True), until=lambda: engine.tries)
    assert (engine.tries, engine.told) == (1, [])


async def test_of_news_that_come_faster_than_they_are_told_the_newest_is() -> None:
    engine = Engine()
    engine.open.clear()
    news = [seen(note="a"), seen(note="b"), seen(ranks=(RUNNING,)), seen(ended=True), seen(ended=True)]

    def told_all() -> bool:
        if engine.tries:
            asyncio.get_running_loop().call_later(0.05, engine.open.set)
        return bool(engine.told) and engine.told[-1].ended

    await report(engine, *news, until=told_all)
    assert len(engine.told) <= 2  # whatever had come when the first was told, and the newest
    assert engine.told[-1].ended
