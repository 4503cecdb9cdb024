"""What belongs to a job: reading attempts, events, checkpoints and artifacts, page by page and tenant by tenant."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from definitions.attempt import ArtifactRecord, CheckpointRecord
from definitions.facts import AttemptSummary
from store import artifacts, attempts, checkpoints, events
from store.engine import reading, session, transaction
from store.errors import BadCursor
from store.paging import Page
from store.tables_jobs import JobRow
from tests.store.builders import HERE, NOW, OTHERS, add_job, event

READERS: dict[str, Callable[..., Page[Any]]] = {
    "attempts": attempts.page,
    "events": events.page,
    "checkpoints": checkpoints.page,
    "artifacts": artifacts.page,
}


@pytest.fixture
def job(engine: Engine) -> JobRow:
    """A job with five of everything."""
    row = add_job(engine)
    with session(engine) as active:
        events.append(active, *HERE, row.id, [event(number) for number in range(1, 6)])
        for number in range(1, 6):
            attempts.record(active, row, AttemptSummary(number=number, token=f"{number:032x}"), number)
        checkpoints.record(active, row, [_checkpoint(step) for step in (50, 10, 40, 20, 30)], NOW)
        for attempt in (1, 2):
            artifacts.record(active, row, attempt, [_artifact(name) for name in ("b", "a/x", "a")[: 4 - attempt]], NOW)
    return row


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("limit", [1, 2, 4, 5, 100])
def test_pages_show_everything_once_in_order(engine: Engine, job: JobRow, kind: str, limit: int) -> None:
    seen: list[Any] = []
    after: str | None = None
    with reading(engine) as active:
        for _ in range(10):
            page = READERS[kind](active, *HERE, job.id, limit=limit, after=after)
            seen += page.items
            if (after := page.next) is None:
                break
    key: dict[str, Callable[[Any], Any]] = {
        "attempts": lambda row: row.number,
        "events": lambda row: row.seq,
        "checkpoints": lambda row: row.step,
        "artifacts": lambda row: (row.path, row.attempt),
    }
    assert len(seen) == 5
    assert [key[kind](row) for row in seen] == sorted({key[kind](row) for row in seen})


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("cursor", ["WyJhIiwidiJd", "WzEsMiwzXQ", "WzEuNV0", "e30", "nonsense!"])
def test_cursors_of_other_lists_are_refused(engine: Engine, job: JobRow, kind: str, cursor: str) -> None:
    with pytest.raises(BadCursor), reading(engine) as active:
        READERS[kind](active, *HERE, job.id, limit=1, after=cursor)


@pytest.mark.parametrize("where", OTHERS)
def test_nothing_of_a_job_is_shown_to_others(engine: Engine, job: JobRow, where: tuple[str, str]) -> None:
    with reading(engine) as active:
        for read in READERS.values():
            assert read(active, *where, job.id, limit=10).items == []
        assert events.after(active, *where, job.id, 0, 10) == []
        assert events.tail(active, *where, job.id, 10) == []
        assert attempts.get(active, *where, job.id, 1) is None
        assert attempts.newest(active, *where, job.id) is None
        assert checkpoints.find(active, *where, job.id) is None
        assert artifacts.get(active, *where, job.id, "a") is None


def test_events_are_read_after_a_number_or_from_the_end(engine: Engine, job: JobRow) -> None:
    with reading(engine) as active:
        first = events.after(active, *HERE, job.id, 0, 2)
        rest = events.after(active, *HERE, job.id, first[-1].seq, 10)
        tail = events.tail(active, *HERE, job.id, 2)
    assert [line.key for line in first + rest] == [f"{number:06d}" for number in range(1, 6)]
    assert [line.key for line in tail] == ["000004", "000005"]


def test_an_event_is_added_once(engine: Engine, job: JobRow) -> None:
    with session(engine) as active:
        assert events.append(active, *HERE, job.id, [event(5, reason="other words"), event(6)]) == 1
        assert [line.reason for line in events.tail(active, *HERE, job.id, 2)] == ["it went on"] * 2


def test_a_reader_that_follows_misses_no_event_of_many_writers(engine: Engine) -> None:
    """Numbers are given at insert and seen at commit; without turns a reader could pass by one not yet committed."""
    row = add_job(engine)
    writers_done = threading.Event()
    seen: list[str] = []

    def follow() -> None:
        last = 0
        while True:
            done = writers_done.is_set()
            with reading(engine) as active:
                lines = events.after(active, *HERE, row.id, last, 100)
            seen.extend(line.key for line in lines)
            last = lines[-1].seq if lines else last
            if done and not lines:
                return

    def write(number: int) -> None:
        transaction(engine, lambda active: events.append(active, *HERE, row.id, [event(number), event(number + 500)]))

    with ThreadPoolExecutor(9) as pool:
        reader = pool.submit(follow)
        list(pool.map(write, range(60)))
        writers_done.set()
        reader.result(30)
    assert len(seen) == len(set(seen)) == 120


def test_the_checkpoint_to_start_from_is_complete_and_the_newest_or_the_one_asked_for(
    engine: Engine, job: JobRow
) -> None:
    with session(engine) as active:
        broken = _checkpoint(60).model_copy(update={"complete": False})
        checkpoints.record(active, job, [broken, _checkpoint(30, "b", saved=NOW + timedelta(hours=1))], NOW)
    with reading(engine) as active:
        newest, asked = (checkpoints.find(active, *HERE, job.id, step) for step in (None, 30))
        assert newest is not None
        assert asked is not None
        assert (newest.step, asked.token[0]) == (50, "b")
        assert checkpoints.find(active, *HERE, job.id, 60) is None
        assert checkpoints.find(active, *HERE, job.id, 31) is None


def test_a_checkpoint_that_is_there_no_more_is_settled_as_deleted(engine: Engine, job: JobRow) -> None:
    later = NOW + timedelta(hours=1)
    with session(engine) as active:
        checkpoints.settle(active, job, [_checkpoint(20, "c")], later)
        checkpoints.settle(active, job, [_checkpoint(10, "c")], NOW)  # late: what was seen since stands
    with reading(engine) as active:
        assert [row.step for row in checkpoints.page(active, *HERE, job.id, limit=9).items] == [10, 20]


def test_an_artifact_is_that_of_the_last_attempt_that_left_it_until_it_is_deleted(engine: Engine, job: JobRow) -> None:
    with session(engine) as active:
        newest = artifacts.get(active, *HERE, job.id, "b")
        assert newest is not None
        assert newest.attempt == 2
        for _ in range(2):
            artifacts.mark_deleted(active, newest, NOW)
        artifacts.record(active, job, 2, [_artifact("b")], NOW + timedelta(days=1))
        active.expire_all()
        older = artifacts.get(active, *HERE, job.id, "b")
        assert older is not None
        assert older.attempt == 1
        assert artifacts.get(active, *HERE, job.id, "b", attempt=2) is None
        assert newest.deleted_at == NOW


def _checkpoint(step: int, letter: str = "a", saved: Any = NOW) -> CheckpointRecord:
    token = letter * 32
    folder = f"checkpoints/step-{step:010d}.{token}"
    return CheckpointRecord(step=step, token=token, attempt=1, folder=folder, complete=True, saved_at=saved)


def _artifact(path: str) -> ArtifactRecord:
    return ArtifactRecord(path=path, bytes=1, sha256="0" * 64, object_key=f"k/{path}")
