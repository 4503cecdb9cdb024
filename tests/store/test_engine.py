"""Transactions: what a reader may not do, who waits for whom, and what is tried again."""

import sqlite3
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from definitions.errors import PerdureError
from store import engine as engines
from store.engine import is_transient, open_engine, reading, session, transaction
from store.tables import ArtifactRow, JobRow, ScheduleRow
from tests.store.builders import HERE, NOW, add_job


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mysql://host/db", "mysql is not a database that can be used"),
        ("sqlite://", "must be a file"),
        ("sqlite:///:memory:", "must be a file"),
        ("sqlite:////no/such/folder/x.db", "does not exist"),
        ("secret-password@nonsense", "cannot be read"),
    ],
)
def test_an_address_that_cannot_hold_the_state_is_refused(url: str, words: str) -> None:
    with pytest.raises(PerdureError, match=words) as refused:
        open_engine(url)
    assert refused.value.code.code == "PD-3701"
    assert "secret-password" not in str(refused.value)


def test_an_sqlite_file_and_its_companions_are_private(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'control.db'}")
    with session(engine) as active:
        active.execute(text("CREATE TABLE t (x)"))
        files = sorted(tmp_path.iterdir())
        assert [file.name for file in files] == ["control.db", "control.db-shm", "control.db-wal"]
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    engine.dispose()


@pytest.mark.parametrize(("durable", "level"), [(True, 2), (False, 1)])
def test_sqlite_is_opened_as_promised(tmp_path: Path, durable: bool, level: int) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'x.db'}", durable=durable)
    with reading(engine) as active:
        asked = {
            name: active.scalar(text(f"PRAGMA {name}")) for name in ("journal_mode", "foreign_keys", "synchronous")
        }
    assert asked == {"journal_mode": "wal", "foreign_keys": 1, "synchronous": level}
    engine.dispose()


def test_a_reader_cannot_write_and_a_writer_after_it_can(engine: Engine) -> None:
    with pytest.raises(DBAPIError, match=r"read.?only"), reading(engine) as active:
        active.execute(text("DELETE FROM jobs"))
    assert add_job(engine).name == "digits"
    with reading(engine) as active:
        assert active.scalar(select(JobRow.name)) == "digits"


def test_an_error_rolls_everything_back(engine: Engine) -> None:
    def work(active: Session) -> None:
        active.add(_schedule("nightly"))
        active.flush()
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        transaction(engine, work)
    with reading(engine) as active:
        assert active.scalars(select(ScheduleRow)).all() == []


def test_fifty_writers_of_one_row_lose_no_update(engine: Engine) -> None:
    with session(engine) as active:
        active.add(_schedule("counter"))

    def grow(active: Session) -> None:
        row = active.scalars(select(ScheduleRow).with_for_update()).one()
        row.generation += 1

    with ThreadPoolExecutor(50) as pool:
        list(pool.map(lambda _: transaction(engine, grow), range(50)))
    with reading(engine) as active:
        assert active.scalars(select(ScheduleRow.generation)).one() == 51


def test_readers_do_not_wait_for_a_writer(engine: Engine) -> None:
    with session(engine) as writer:
        writer.add(_schedule("hidden"))
        writer.flush()
        with reading(engine) as active:
            assert active.scalars(select(ScheduleRow)).all() == []


def test_the_loser_of_a_deadlock_is_run_again(postgres_engine: Engine) -> None:
    """Two transactions lock two rows in opposite order: the database ends one, `transaction` repeats it."""
    with session(postgres_engine) as active:
        active.add_all([_schedule("a"), _schedule("b")])
    both_hold_one = threading.Barrier(2)
    runs: list[str] = []

    def lock(first: str, second: str) -> None:
        def work(active: Session) -> None:
            runs.append(first)
            _grow(active, first)
            if len(runs) <= 2:
                both_hold_one.wait(10)
            _grow(active, second)

        transaction(postgres_engine, work)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lock, "ab", "ba"))
    assert len(runs) == 3
    with reading(postgres_engine) as active:
        assert active.scalars(select(ScheduleRow.generation)).all() == [3, 3]


def test_a_file_that_somebody_changes_at_this_moment_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite says at once that it is busy, whatever patience it was told to have."""
    other = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(time, "sleep", lambda _seconds: other.rollback())
    engine = open_engine(f"sqlite:///{tmp_path / 'x.db'}")
    with reading(engine) as active:
        assert active.scalar(text("PRAGMA journal_mode")) == "wal"
    other.close()
    engine.dispose()


def test_who_opens_a_file_once_more_keeps_what_it_has_of_it(tmp_path: Path) -> None:
    """A process that closes any descriptor of a file loses its locks on it; another would then take it for the last
    that has it open, and remove the log that this one still writes to."""
    url = f"sqlite:///{tmp_path / 'x.db'}"
    look = f"import sqlite3; print(sqlite3.connect({str(tmp_path / 'x.db')!r}).execute('SELECT x FROM t').fetchall())"
    first = open_engine(url)
    with session(first) as active:
        active.execute(text("CREATE TABLE t (x)"))
    second = open_engine(url)
    for number in (1, 2):
        with session(first) as active:
            active.execute(text(f"INSERT INTO t VALUES ({number})"))
        seen = subprocess.run([sys.executable, "-c", look], check=True, capture_output=True, text=True).stdout
        assert seen.strip() == str([(other,) for other in range(1, number + 1)])
    first.dispose()
    second.dispose()


def test_a_busy_file_is_waited_for_and_then_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "BUSY_MILLISECONDS", 1)
    first, second = (open_engine(f"sqlite:///{tmp_path / 'x.db'}") for _ in range(2))
    holder = first.connect()
    holder.execute(text("SELECT 1"))  # a write transaction: BEGIN IMMEDIATE
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            holder.rollback()

    assert transaction(second, lambda active: active.scalar(text("SELECT 7")), pause=pause) == 7
    assert len(pauses) == 2
    holder.close()
    first.dispose()
    second.dispose()


def test_what_stays_busy_ends_in_the_databases_own_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "BUSY_MILLISECONDS", 1)
    first, second = (open_engine(f"sqlite:///{tmp_path / 'x.db'}") for _ in range(2))
    with session(first) as holder:
        holder.execute(text("SELECT 1"))
        with pytest.raises(DBAPIError) as gave_up:
            transaction(second, lambda active: active.execute(text("SELECT 1")), tries=3, pause=lambda _: None)
    assert is_transient(gave_up.value)
    first.dispose()
    second.dispose()


def test_a_broken_rule_is_never_tried_again(engine: Engine) -> None:
    runs: list[int] = []

    def work(active: Session) -> None:
        runs.append(1)
        active.execute(text("INSERT INTO schedules (tenant) VALUES ('half a row')"))

    with pytest.raises(DBAPIError):
        transaction(engine, work)
    assert len(runs) == 1


def test_times_come_back_aware_in_utc_to_the_microsecond(engine: Engine) -> None:
    there = timezone(timedelta(hours=5, minutes=45))
    when = datetime(1969, 7, 20, 20, 17, 40, 123457, tzinfo=there)
    with session(engine) as active:
        active.add(_schedule("x", created_at=when))
    with reading(engine) as active:
        found = active.scalars(select(ScheduleRow.created_at)).one()
    assert found == when
    assert found.tzinfo is UTC


def test_a_time_without_a_zone_is_refused(engine: Engine) -> None:
    with pytest.raises(Exception, match="has no time zone"), session(engine) as active:
        active.add(_schedule("x", created_at=datetime(2026, 1, 1)))  # noqa: DTZ001


def test_text_and_numbers_that_no_database_takes_are_replaced(engine: Engine) -> None:
    dirty = {"a\0": "b\0c", "lone": "x\ud800y", "loss": float("nan"), "most": [float("inf"), (1, float("-inf"))]}
    with session(engine) as active:
        active.add(_schedule("nul\0", document=dirty))
    with reading(engine) as active:
        row = active.scalars(select(ScheduleRow)).one()
    assert row.name == "nul\N{REPLACEMENT CHARACTER}"
    assert row.document == {
        "a\N{REPLACEMENT CHARACTER}": "b\N{REPLACEMENT CHARACTER}c",
        "lone": "x\N{REPLACEMENT CHARACTER}y",
        "loss": "NaN",
        "most": ["Infinity", [1, "-Infinity"]],
    }


def test_documents_keep_the_order_of_their_keys(engine: Engine) -> None:
    written = {"zeta": 1, "a": {"y": 1.0, "x": "é"}, "B": None}
    with session(engine) as active:
        active.add(_schedule("x", document=written))
    with reading(engine) as active:
        found = active.scalars(select(ScheduleRow.document)).one()
    assert list(found) == ["zeta", "a", "B"]
    assert found == written


def test_lists_are_in_the_same_order_on_both_databases(engine: Engine) -> None:
    names = ["B", "a", "a-b", "a.b", "ab", "ä"]
    with session(engine) as active:
        active.add_all([_schedule(name) for name in reversed(names)])
    with reading(engine) as active:
        assert list(active.scalars(select(ScheduleRow.name).order_by(ScheduleRow.name))) == names


def test_a_child_cannot_belong_to_another_tenant_than_its_job(engine: Engine) -> None:
    job = add_job(engine)
    stolen = dict(path="p", attempt=1, bytes=1, sha256="", object_key="", created_at=NOW)
    with pytest.raises(DBAPIError, match=r"(?i)foreign key"), session(engine) as active:
        active.add(ArtifactRow(tenant="rival", project=job.project, job=job.id, **stolen))


def _schedule(name: str, **changes: object) -> ScheduleRow:
    values = dict(document={}, paused=False, generation=1, created_at=NOW) | changes
    return ScheduleRow(tenant=HERE[0], project=HERE[1], name=name, **values)


def _grow(active: Session, name: str) -> None:
    row = active.scalars(select(ScheduleRow).where(ScheduleRow.name == name).with_for_update()).one()
    row.generation += 1
    active.flush()
