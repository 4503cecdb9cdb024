"""Logs of several ranks and attempts as one stream."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.api.test_history import entries, pages
from tests.api.world import World
from tests.support.api_fakes import Clock


def write(world: World, job: str, attempt: int, rank: int, *lines: tuple[int, str]) -> None:
    """Lines with their second after the beginning of the world."""
    kept = world.logs.lines.setdefault((job, attempt, rank), [])
    kept += [(begin() + timedelta(seconds=second), text) for second, text in lines]


def begin() -> datetime:
    return Clock().at


def texts(lines: list[Any]) -> list[str]:
    return [f"{line['rank']}:{line['text']}" for line in lines]


@pytest.fixture
async def job(sqlite_world: World) -> str:
    """Two ranks that take turns."""
    made: str = (await sqlite_world.submit(nodes=2))["id"]
    sqlite_world.attempt(made)
    write(sqlite_world, made, 1, 0, *((second, f"a{second}") for second in range(0, 10, 2)))
    write(sqlite_world, made, 1, 1, *((second, f"b{second}") for second in range(1, 10, 2)))
    return made


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
async def test_ranks_are_merged_by_time_whatever_the_size_of_the_page(
    sqlite_world: World, job: str, limit: int
) -> None:
    sqlite_world.attempt(job, ended=True)
    sqlite_world.end(job)
    lines = await pages(sqlite_world, f"/v1/jobs/{job}/logs", limit)
    assert texts(lines) == [f"{second % 2}:{'ab'[second % 2]}{second}" for second in range(10)]


@pytest.mark.parametrize("fits", [1, 2, 3])
@pytest.mark.parametrize(("query", "first"), [("", 0), ("&tail=2", 6), ("&tail=0", 10)])
async def test_answers_that_hold_little_neither_mix_up_ranks_nor_lose_a_line(
    sqlite_world: World, job: str, query: str, first: int, fits: int
) -> None:
    sqlite_world.logs.fits = fits
    found: list[str] = []
    place = ""

    async def read_on() -> None:
        nonlocal place
        for _ in range(12):
            page = await sqlite_world.get(f"/v1/jobs/{job}/logs?limit=100{query}{place}")
            found.extend(texts(page["items"]))
            place = f"&cursor={page['next']}"

    await read_on()
    write(sqlite_world, job, 1, 0, (10, "a10"), (11, "a11"), (12, "a12"))
    write(sqlite_world, job, 1, 1, (13, "b13"))
    await read_on()
    earlier = [f"{second % 2}:{'ab'[second % 2]}{second}" for second in range(first, 10)]
    assert found == [*earlier, "0:a10", "0:a11", "0:a12", "1:b13"]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("rank=1", ["1:b1", "1:b3", "1:b5", "1:b7", "1:b9"]),
        ("tail=1", ["0:a8", "1:b9"]),
        ("tail=0", []),
        ("since=2026-11-29T12:00:07Z", ["1:b7", "0:a8", "1:b9"]),
        ("attempt=1&rank=0&tail=2", ["0:a6", "0:a8"]),
    ],
)
async def test_a_reader_chooses_what_to_see(sqlite_world: World, job: str, query: str, wanted: list[str]) -> None:
    page = await sqlite_world.get(f"/v1/jobs/{job}/logs?{query}")
    assert texts(page["items"]) == wanted
    assert page["ended"] is False


async def test_an_attempt_that_has_not_been_is_refused_unless_it_may_still_come(sqlite_world: World, job: str) -> None:
    refused = await sqlite_world.expect(422, "GET", f"/v1/jobs/{job}/logs?attempt=9")
    assert (refused["code"], refused["where"]) == ("PD-2022", "query.attempt")
    assert "has had 1 attempt, and no number 9" in refused["detail"]
    sqlite_world.end(job)
    await sqlite_world.expect(422, "GET", f"/v1/jobs/{job}/logs/stream?attempt=9")


@pytest.mark.parametrize("query", ["tail=0", "tail=2", "since=2026-11-29T12:00:09Z", "tail=1&limit=1"])
async def test_a_cursor_shows_what_is_written_later_and_nothing_twice(
    sqlite_world: World, job: str, query: str
) -> None:
    page = await sqlite_world.get(f"/v1/jobs/{job}/logs?{query}")
    seen = texts(page["items"])
    write(sqlite_world, job, 1, 0, (20, "a20"))
    write(sqlite_world, job, 1, 1, (21, "b21"))
    for _ in range(5):
        page = await sqlite_world.get(f"/v1/jobs/{job}/logs?{query}&cursor={page['next']}")
        seen += texts(page["items"])
    assert seen[-2:] == ["0:a20", "1:b21"]
    assert len(seen) == len(set(seen))


async def test_a_rank_that_is_silent_at_first_is_read_from_its_beginning(sqlite_world: World) -> None:
    made = (await sqlite_world.submit())["id"]
    none_yet = await sqlite_world.get(f"/v1/jobs/{made}/logs?tail=2")
    assert (none_yet["items"], none_yet["ended"]) == ([], False)
    sqlite_world.attempt(made)
    page = await sqlite_world.get(f"/v1/jobs/{made}/logs?tail=2")
    write(sqlite_world, made, 1, 0, *((second, f"a{second}") for second in range(5)))
    page = await sqlite_world.get(f"/v1/jobs/{made}/logs?tail=2&cursor={page['next']}")
    assert texts(page["items"]) == [f"0:a{second}" for second in range(5)]


async def test_a_follower_goes_on_into_the_next_attempt_and_hears_the_end(sqlite_world: World, job: str) -> None:
    world = sqlite_world

    def second_attempt() -> None:
        world.attempt(job, 1, ended=True)
        world.attempt(job, 2)
        write(world, job, 2, 0, (30, "again"))

    def the_end() -> None:
        write(world, job, 2, 1, (31, "done"))
        world.attempt(job, 2, ended=True)
        world.end(job)

    world.clock.then[2], world.clock.then[4] = second_attempt, the_end
    told = entries((await world.ask("GET", f"/v1/jobs/{job}/logs/stream?tail=1")).text)
    lines = [(data["attempt"], data["text"]) for event, _, data in told if event == "log"]
    assert lines == [(1, "a8"), (1, "b9"), (2, "again"), (2, "done")]
    assert told[-1][0] == "end"
    again = await world.ask("GET", f"/v1/jobs/{job}/logs/stream?tail=1", headers={"Last-Event-ID": told[1][1] or ""})
    rest = [(data["attempt"], data["text"]) for event, _, data in entries(again.text) if event == "log"]
    assert rest == [(2, "again"), (2, "done")]


async def test_one_attempt_ends_when_it_has_ended(sqlite_world: World, job: str) -> None:
    sqlite_world.attempt(job, 1, ended=True)
    sqlite_world.attempt(job, 2)
    page = await sqlite_world.get(f"/v1/jobs/{job}/logs?attempt=1")
    assert (len(page["items"]), page["ended"], page["next"]) == (10, True, None)


async def test_times_are_left_out_on_request_and_a_rank_must_exist(sqlite_world: World, job: str) -> None:
    page = await sqlite_world.get(f"/v1/jobs/{job}/logs?timestamps=false&limit=1")
    assert page["items"][0]["at"] is None
    problem = await sqlite_world.expect(422, "GET", f"/v1/jobs/{job}/logs?rank=2")
    assert problem["where"] == "query.rank"


async def test_a_clock_that_is_set_back_keeps_the_order_of_a_rank(sqlite_world: World) -> None:
    made = (await sqlite_world.submit())["id"]
    sqlite_world.attempt(made)
    write(sqlite_world, made, 1, 0, (10, "first"), (5, "second"), (11, "third"))
    page = await sqlite_world.get(f"/v1/jobs/{made}/logs")
    assert texts(page["items"]) == ["0:first", "0:second", "0:third"]
