"""Opening the database, and the two kinds of transaction: `session` writes, `reading` cannot.

SQLite: a write transaction takes the write lock when it begins (BEGIN IMMEDIATE). One that began as a reader and wants
to write later could neither wait nor go on; this way writers queue, and readers never wait (WAL).
"""

import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.orm import Session

from definitions.errors import PerdureError

T = TypeVar("T")

BUSY_MILLISECONDS = 30_000
POOL = {"pool_size": 10, "max_overflow": 30, "pool_timeout": 30}
READ_ONLY, TURN = "perdure_read_only", "perdure_turn"
SQLITE_BUSY, SQLITE_LOCKED = 5, 6
TRANSIENT_STATES = ("40001", "40P01", "55P03")  # serialization failure, deadlock, lock not available
LONGEST_PAUSE = 1.0
_CREATING = threading.Lock()


def open_engine(url: str, *, durable: bool = True) -> Engine:
    """An engine for `sqlite:///file` or `postgresql://...`; nothing is created in it (store/migrate.py does).

    durable=False lets SQLite lose the last moments in a power cut, never when a process dies (synchronous=NORMAL).
    A new SQLite file is private to its owner. Raises PerdureError PD-3701 for an address of another kind.
    """
    address = _address(url)
    if address.get_backend_name() == "sqlite":
        return _open_sqlite(address, durable)
    return create_engine(address, pool_pre_ping=True, hide_parameters=True, **POOL)


@contextmanager
def session(engine: Engine) -> Iterator[Session]:
    """One write transaction: commits on leaving, rolls back on an error. Rows stay readable afterwards.

    Never open one inside another on SQLite: the inner one would wait for the outer one.
    """
    with _turn(engine), Session(engine, expire_on_commit=False) as active, active.begin():
        yield active


@contextmanager
def reading(engine: Engine) -> Iterator[Session]:
    """One read transaction. A write in it is refused by the database."""
    options: dict[str, Any] = {READ_ONLY: True}
    if engine.dialect.name == "postgresql":
        options["postgresql_readonly"] = True
    with Session(engine.execution_options(**options), expire_on_commit=False) as active, active.begin():
        yield active


def transaction(
    engine: Engine, work: Callable[[Session], T], *, tries: int = 6, pause: Callable[[float], None] = time.sleep
) -> T:
    """Run `work` in a write transaction; again from the start when the database gave way to another one.

    `work` must have no effect outside its session, since it may run several times. Errors other than a lost race
    (a refusal, a lost connection whose commit may have happened) are never retried here.
    """
    for attempt in range(1, tries):
        try:
            with session(engine) as active:
                return work(active)
        except DBAPIError as error:
            if not is_transient(error):
                raise
            pause(random.uniform(0, min(LONGEST_PAUSE, 0.01 * 2**attempt)))
    with session(engine) as active:
        return work(active)


def is_transient(error: DBAPIError) -> bool:
    """Whether the database only gave way to another transaction: nothing was written, and a repeat may succeed."""
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in (SQLITE_BUSY, SQLITE_LOCKED)
    return getattr(error.orig, "sqlstate", None) in TRANSIENT_STATES


@contextmanager
def _turn(engine: Engine) -> Iterator[None]:
    """Let this process's writers to an SQLite file queue here: a lock wakes the next one at once.

    SQLite itself makes them sleep and look again, which costs two thirds of the throughput when forty write at a time.
    Writers of other processes are waited for in BEGIN IMMEDIATE.
    """
    turn: threading.RLock | None = engine.get_execution_options().get(TURN)
    taken = turn is not None and turn.acquire(timeout=BUSY_MILLISECONDS / 1000)
    try:
        yield
    finally:
        if turn is not None and taken:
            turn.release()


def _address(url: str) -> URL:
    try:
        address = make_url(url)
    except ArgumentError:
        raise PerdureError("PD-3701", "the database address cannot be read") from None  # it may hold a password
    kind = address.get_backend_name()
    if kind in ("postgresql", "postgres"):
        return address.set(drivername="postgresql+psycopg")
    if kind != "sqlite":
        raise PerdureError("PD-3701", f"{kind} is not a database that can be used")
    if not address.database or address.database.startswith((":memory:", "file:")):
        raise PerdureError("PD-3701", "an SQLite database must be a file: all processes share it")
    return address.set(drivername="sqlite+pysqlite")


def _open_sqlite(address: URL, durable: bool) -> Engine:
    file = Path(address.database or "")
    if not file.parent.is_dir():
        raise PerdureError("PD-3701", f"the folder of {file} does not exist")
    _make_private(file)
    turn = {TURN: threading.RLock()}
    threads = {"check_same_thread": False}
    engine = create_engine(address, connect_args=threads, execution_options=turn, hide_parameters=True, **POOL)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the driver begins no transaction by itself; `begin` below does
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
        _write_ahead(connection)
        connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        read_only = connection.get_execution_options().get(READ_ONLY, False)
        connection.exec_driver_sql(f"PRAGMA query_only = {'ON' if read_only else 'OFF'}")
        connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")

    return engine


def _make_private(file: Path) -> None:
    """Make the file where it is missing, for its owner alone; its -wal and -shm files will have the same mode.

    A file that is there is not opened: to close it would drop the locks that this process holds on it.
    """
    with _CREATING, suppress(FileExistsError):
        if not file.exists():
            os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Where several set this at once SQLite does not wait for the others, but says that it is busy."""
    patience = time.monotonic() + BUSY_MILLISECONDS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != SQLITE_BUSY or time.monotonic() > patience:
                raise
        time.sleep(random.uniform(0, LONGEST_PAUSE / 50))
