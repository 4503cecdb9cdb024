"""Strays are told of once, again when they go, and what the janitor cannot do now it does later."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta

import pytest

from activities.adapters.kubernetes.janitor import Stray
from activities.ports import PortError
from workers.stray_sweeper import StraySweeper

FOUND = Stray(kind="Pod", name="x-keep-1", uid="u", why="its attempt was collected", since=datetime.now(UTC))


def test_each_stray_is_told_of_once_and_once_more_when_it_goes(caplog: pytest.LogCaptureFixture) -> None:
    sweeper = StraySweeper(lambda: ())
    with caplog.at_level(logging.WARNING):
        for found in ((FOUND,), (FOUND,), (FOUND.model_copy(update={"deleted": True}),), ()):
            sweeper.tell(found)
    assert [record.getMessage() for record in caplog.records] == [
        "found stray Pod x-keep-1: its attempt was collected",
        "removed stray Pod x-keep-1: its attempt was collected",
    ]


async def test_a_cluster_that_is_away_is_looked_at_again() -> None:
    stop = asyncio.Event()
    looks = 0

    def sweep() -> tuple[Stray, ...]:
        nonlocal looks
        looks += 1
        if looks == 1:
            raise PortError("away")
        loop.call_soon_threadsafe(stop.set)
        return ()

    loop = asyncio.get_running_loop()
    await asyncio.wait_for(StraySweeper(sweep, timedelta(milliseconds=10)).run(stop), 10)
    assert looks == 2
