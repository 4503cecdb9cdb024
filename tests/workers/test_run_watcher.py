"""Watching run folders: what they say reaches the store, and no job's folder keeps the others from being looked at."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from activities.adapters.journal import SqlJournal
from activities.adapters.local import LocalRuntime
from activities.adapters.objects_folder import FolderObjects
from activities.ports import JournalEntry, PortError
from definitions.attempt import AttemptRef, CheckpointRecord
from store.engine import open_engine, reading, session
from store.tables_jobs import JobRow
from tests.activities.local.world import FixedSecrets
from tests.store.builders import add_job, state_of
from tests.support.polling import eventually_async
from workers import run_watcher
from workers.run_watcher import RunWatcher


class Runtime(LocalRuntime):
    """The real one, with one job whose checkpoints it cannot read."""

    broken = ""

    def checkpoints(self, ref: AttemptRef) -> list[CheckpointRecord]:
        if ref.job == self.broken:
            raise PortError("input/output error")
        return super().checkpoints(ref)


class World:
    def __init__(self, engine: Engine, home: Path) -> None:
        self.engine = engine
        self.runtime = Runtime(home, FixedSecrets(), FolderObjects(home / "objects"))
        self.journal = SqlJournal(engine)
        self.watcher = RunWatcher(engine, self.runtime, self.journal)
        self.home = home

    def running(self, name: str) -> tuple[JobRow, Path]:
        row = add_job(self.engine, name)
        self.journal.write(JournalEntry(state=state_of(row)))
        folder = self.home / "runs" / row.tenant / row.project / row.id / "run"
        folder.mkdir(parents=True)
        return row, folder

    def step(self, row: JobRow) -> Any:
        with reading(self.engine) as active:
            return (active.get_one(JobRow, row.id).progress or {}).get("step")


@pytest.fixture
def world(engine: Engine, tmp_path: Path) -> World:
    return World(engine, tmp_path / "home")


def report(folder: Path, step: int) -> None:
    line = {"step": step, "time": "2026-11-29T12:00:00Z", "attempt": 1, "rank": 0, "metrics": {}}
    with (folder / "progress.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


def save(folder: Path) -> None:
    (folder / "checkpoints" / f"step-{1:010d}.{'a' * 32}").mkdir(parents=True)


def test_the_newest_step_of_a_running_job_is_stored(world: World) -> None:
    row, folder = world.running("digits")
    for step in (1, 2):
        report(folder, step)
        world.watcher.sweep()
        assert world.step(row) == step


def test_each_cluster_has_a_watcher_of_its_own(world: World) -> None:
    (here, folder), (there, other) = world.running("here"), world.running("there")
    with session(world.engine) as active:
        active.get_one(JobRow, there.id).cluster = "north"
    for path in (folder, other):
        report(path, 3)
    world.watcher.sweep()
    assert (world.step(here), world.step(there)) == (3, None)
    RunWatcher(world.engine, world.runtime, world.journal, cluster="north").sweep()
    assert world.step(there) == 3


def test_a_job_that_cannot_be_looked_at_keeps_no_other_from_it_and_is_told_of_once(world: World, caplog: Any) -> None:
    first, broken = world.running("first")
    second, odd = world.running("second")
    third, fine = world.running("third")
    world.runtime.broken = first.id
    for folder in (broken, odd):
        save(folder)
    with session(world.engine) as active:
        active.get_one(JobRow, second.id).spec = {"kind": "Something"}
    report(fine, 7)
    for _ in range(3):
        world.watcher.sweep()
    assert world.step(third) == 7
    assert "Something" not in caplog.text
    told = [getattr(record, "job", "") for record in caplog.records]
    assert (told.count(first.id), told.count(second.id)) == (1, 1)


async def test_the_loop_outlives_a_database_that_is_away(tmp_path: Path, caplog: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(run_watcher, "PERIOD", 0.01)
    engine = open_engine(f"sqlite:///{tmp_path / 'later.db'}")
    world = World(engine, tmp_path / "home")
    stop = asyncio.Event()
    loop = asyncio.create_task(world.watcher.run(stop))
    await eventually_async(lambda: "could not be watched" in caplog.text or loop.done())
    assert not loop.done()
    stop.set()
    await loop
    engine.dispose()
