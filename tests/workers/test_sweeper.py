"""Sweeping with real folders and a real database: what goes, what stays, and what a fault half way leaves."""

import asyncio
import io
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select, text

from activities.adapters.journal import SqlJournal
from activities.adapters.local.layout import Layout
from activities.adapters.local.runtime import LocalRuntime
from activities.adapters.objects_folder import FolderObjects
from activities.adapters.secrets import SqlSecrets
from activities.ports import JournalEntry, PortError
from definitions.attempt import ArtifactRecord, AttemptRef, CheckpointRecord
from definitions.object_keys import artifact_key, log_prefix, snapshot_key
from definitions.states import Phase
from policies.cleanup import CleanupRules
from store import artifacts, checkpoints, clusters, decisions, events, idempotency, jobs, outbox, snapshots
from store.engine import reading, session
from store.idempotency import Request
from store.sealing import Keys
from store.tables import DecisionRow, IdempotencyRow, JobRow, OutboxRow, SnapshotRow
from tests.arch.source import ROOT
from tests.store.builders import HERE, NOW, OTHERS, add_job, document, event, state_of
from tests.store.scheduling import POOL, count, place, waiting_job
from tests.support.database import migrated
from tests.support.polling import eventually_async
from workers.purger import Purger
from workers.row_walk import RowWalk
from workers.sweeper import Sweeper

DAY = timedelta(days=1)
SHA = "9f86d081" + "0" * 56


class Objects(FolderObjects):
    """The real folder store, with a will of its own about some keys: refuse, or do it and fail nevertheless."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.refused: set[str] = set()
        self.done_but_failed: set[str] = set()

    def delete(self, key: str) -> bool:
        if key in self.refused:
            raise PortError("the store is away")
        answer = super().delete(key)
        if key in self.done_but_failed:
            self.done_but_failed.discard(key)
            raise PortError("the answer was lost")
        return answer


@dataclass
class World:
    engine: Engine
    home: Path
    objects_root: Path
    now: datetime = NOW
    objects: Objects = field(init=False)
    runtime: LocalRuntime = field(init=False)
    sweeper: Sweeper = field(init=False)

    def __post_init__(self) -> None:
        self.objects = Objects(self.objects_root)
        self.runtime = LocalRuntime(self.home, SqlSecrets(self.engine, Keys([b"k" * 32])), self.objects)
        rules = CleanupRules(snapshots=7 * DAY, requests=DAY, decisions=3 * DAY, messages=5 * DAY)
        period = timedelta(milliseconds=20)
        self.sweeper = Sweeper(
            self.engine, self.runtime, self.objects, rules=rules, period=period, now=lambda: self.now
        )

    def finished(self, name: str = "digits", where: tuple[str, str] = HERE, **spec: Any) -> JobRow:
        """A job that ended at NOW + 1 minute and left a run folder, a log, an artifact and a checkpoint."""
        row = add_job(self.engine, name, where, spec=document(name, **spec))
        (self._run(row) / "checkpoints").mkdir(parents=True)
        key = artifact_key(*where, row.id, 1, "model.npz")
        for object_key in (key, f"{log_prefix(*where, row.id, 1, 0)}000001.log"):
            self.objects.put(object_key, io.BytesIO(b"bytes"))
        with session(self.engine) as active:
            kept = ArtifactRecord(path="model.npz", bytes=5, sha256="0" * 64, object_key=key)
            artifacts.record(active, row, 1, [kept], NOW)
            saved = CheckpointRecord(step=1, token="a" * 32, attempt=1, folder="checkpoints/x", complete=True)
            checkpoints.record(active, row, [saved], NOW)
        SqlJournal(self.engine).write(JournalEntry(state=state_of(row, Phase.SUCCEEDED, 1)))
        return row

    def sweep(self, after: timedelta = timedelta(0)) -> int:
        self.now = NOW + after
        return self.sweeper.sweep()

    def left(self, row: JobRow) -> set[str]:
        """Which remains of a job are there."""
        keys = [info.key for info in self.objects.list(f"{row.tenant}/{row.project}/jobs/{row.id}/")]
        return {key.split("/")[4] for key in keys} | ({"run"} if self._run(row).exists() else set())

    def row(self, row: JobRow) -> JobRow:
        with reading(self.engine) as active:
            return active.get_one(JobRow, row.id)

    def delete(self, row: JobRow) -> None:
        with session(self.engine) as active:
            assert jobs.delete(active, row.tenant, row.project, row.id, NOW, event(9, "deleted"))

    def _run(self, row: JobRow) -> Path:
        return self.home / "runs" / row.tenant / row.project / row.id / "run"


@pytest.fixture
def world(database_url: str, tmp_path: Path) -> Iterator[World]:
    with migrated(database_url) as engine:
        yield World(engine, tmp_path / "home", tmp_path / "objects")


def test_a_job_goes_when_its_ttl_is_over_and_leaves_a_trace(world: World) -> None:
    row = world.finished(ttlAfterFinished="7d")
    assert world.sweep(7 * DAY) == 1  # only the plan: it ended a minute later
    assert world.left(row) == {"artifacts", "logs", "run"}
    assert world.sweep(7 * DAY + timedelta(minutes=1)) == 2  # deleted and purged
    assert world.left(row) == set()
    gone = world.row(row)
    assert gone.deleted_at == gone.purged_at == world.now
    with reading(world.engine) as active:
        assert jobs.get(active, *HERE, row.id) is None
        assert artifacts.page(active, *HERE, row.id, limit=9).items == []
        assert checkpoints.page(active, *HERE, row.id, limit=9).items == []
        (last,) = events.tail(active, *HERE, row.id, 1)
    assert (last.kind, last.actor) == ("deleted", "perdure")
    assert "ttlAfterFinished of 7 days" in last.reason
    assert world.sweep(30 * DAY) == 0


def test_without_a_ttl_a_job_stays(world: World) -> None:
    row = world.finished()
    assert world.sweep(3650 * DAY) == 1
    assert world.sweep(3650 * DAY) == 0
    assert world.left(row) == {"artifacts", "logs", "run"}


def test_a_running_job_is_never_planned(world: World) -> None:
    row = add_job(world.engine, spec=document(ttlAfterFinished="1s"))
    SqlJournal(world.engine).write(JournalEntry(state=state_of(row)))
    assert world.sweep(3650 * DAY) == 0
    assert world.row(row).deleted_at is None


def test_artifacts_go_before_their_job_when_they_are_kept_for_less(world: World) -> None:
    row = world.finished(artifacts={"keepFor": "2d"})
    other = world.finished("other")
    assert world.sweep(2 * DAY) == 2
    assert world.sweep(3 * DAY) == 1
    assert (world.left(row), world.left(other)) == ({"logs", "run"}, {"artifacts", "logs", "run"})
    assert world.sweep(3 * DAY) == 0
    assert world.row(row).deleted_at is None


def test_a_document_that_cannot_be_read_any_more_keeps_its_job(world: World, caplog: pytest.LogCaptureFixture) -> None:
    row = world.finished(noSuchField="1s", ttlAfterFinished="1s")
    assert world.sweep(3650 * DAY) == 1
    assert world.left(row) == {"artifacts", "logs", "run"}
    assert f"job {row.id} is kept" in caplog.text


def test_a_deleted_job_is_purged_and_its_neighbours_are_not(world: World) -> None:
    row, others = world.finished(), [world.finished(where=where) for where in OTHERS]
    twin = world.finished("twin")
    world.delete(row)
    world.sweep()
    assert world.left(row) == set()
    for other in (*others, twin):
        assert world.left(other) == {"artifacts", "logs", "run"}
        assert world.row(other).purged_at is None


@pytest.mark.parametrize("how", ["refused", "done_but_failed"])
def test_what_fails_is_passed_over_and_done_at_the_next_sweep(
    world: World, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    stuck, other = world.finished("a"), world.finished("b")
    world.delete(stuck)
    world.delete(other)
    getattr(world.objects, how).add(artifact_key(*HERE, stuck.id, 1, "model.npz"))
    world.sweep()
    assert (world.row(stuck).purged_at, world.row(other).purged_at) == (None, NOW)
    assert f"job {stuck.id} cannot be removed this time" in caplog.text
    world.objects.refused.clear()
    world.sweep(DAY)
    assert world.left(stuck) == set()
    assert world.row(stuck).purged_at == NOW + DAY


def test_a_job_whose_attempt_is_not_collected_is_not_purged(world: World) -> None:
    row = world.finished()
    world.delete(row)
    ref = AttemptRef(tenant=row.tenant, project=row.project, job=row.id, number=1, token="a" * 32)
    Layout(world.home).active_file(ref).touch()
    world.sweep()
    assert world.left(row) == {"artifacts", "logs", "run"}
    assert world.row(row).purged_at is None


def test_more_than_a_page_of_stuck_jobs_hides_no_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.sweeper.PAGE", 2)
    rows = sorted((world.finished(f"job-{number}") for number in range(5)), key=lambda row: row.id)
    for row in rows:
        world.delete(row)
    world.objects.refused |= {artifact_key(*HERE, row.id, 1, "model.npz") for row in rows[:4]}
    world.sweep()
    assert [world.row(row).purged_at is not None for row in rows] == [False] * 4 + [True]


def test_a_snapshot_that_no_job_names_goes_after_a_week(world: World) -> None:
    used = "1" * 64
    for sha256 in (SHA, used):
        _store_snapshot(world, sha256)
    add_job(world.engine, snapshot=used)
    world.sweep(6 * DAY)
    assert _snapshots(world) == {SHA, used}
    world.sweep(8 * DAY)
    assert _snapshots(world) == {used}
    assert world.sweep(9 * DAY) == 0


@pytest.mark.parametrize("how", ["refused", "done_but_failed"])
def test_a_snapshot_whose_object_did_not_go_for_sure_keeps_its_row(world: World, how: str) -> None:
    _store_snapshot(world, SHA)
    getattr(world.objects, how).add(snapshot_key(*HERE, SHA))
    world.sweep(8 * DAY)
    with reading(world.engine) as active:
        assert snapshots.get(active, *HERE, SHA) is not None
    world.objects.refused.clear()
    world.sweep(8 * DAY)
    assert _snapshots(world) == set()
    with reading(world.engine) as active:
        assert active.scalars(select(SnapshotRow)).all() == []


def test_answers_are_forgotten_after_a_day(world: World) -> None:
    with session(world.engine) as active:
        idempotency.reserve(active, Request(*("x",) * 6), NOW)
    assert world.sweep(DAY) == 0
    assert world.sweep(DAY + timedelta(seconds=1)) == 1
    with reading(world.engine) as active:
        assert active.scalars(select(IdempotencyRow)).all() == []


@pytest.mark.parametrize("at_once", [1, 2000])
def test_decisions_and_delivered_messages_are_forgotten_after_their_time(
    world: World, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.row_walk.FORGOTTEN", at_once)
    told, waiting = waiting_job(world.engine), waiting_job(world.engine, "other")
    place(world.engine, told)
    with session(world.engine) as active:
        (message,) = outbox.waiting(active, f"pool/{POOL}", 10)
        assert outbox.delivered(active, [message.key], NOW) == 1
    place(world.engine, waiting)
    assert world.sweep(3 * DAY) == 0
    assert world.sweep(3 * DAY + timedelta(seconds=1)) == 2
    assert count(world.engine, DecisionRow, OutboxRow) == [0, 2]
    assert world.sweep(5 * DAY + timedelta(seconds=1)) == 1
    with reading(world.engine) as active:
        assert [left.target for left in outbox.waiting(active, f"pool/{POOL}", 10)] == [f"job/acme/{waiting.id}"]


def test_a_sweeper_that_is_to_stop_forgets_no_further_rows(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.row_walk.FORGOTTEN", 1)
    for name in ("a", "b", "c"):
        place(world.engine, waiting_job(world.engine, name))
    rows = RowWalk(world.engine)
    stops = iter([False, False, True])
    rows.halted = lambda: next(stops)
    assert rows.forget(decisions.forget, NOW + DAY) == 2
    assert count(world.engine, DecisionRow) == [1]


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("deletion", [1, 2, 3, 4])
def test_a_sweeper_that_is_killed_amid_a_sweep_is_followed_by_one_that_finishes(
    world: World, database_url: str, side: str, deletion: int
) -> None:
    """Four deletions: a log and an artifact of the deleted job, an artifact past its time, a snapshot."""
    gone, kept = world.finished("gone"), world.finished("kept", artifacts={"keepFor": "1d"})
    world.delete(gone)
    _store_snapshot(world, SHA)
    program = [sys.executable, "-m", "tests.support.killed_sweeper", database_url, world.home, world.objects_root]
    died = subprocess.run([*map(str, program), side, str(deletion)], cwd=ROOT, check=False, timeout=60)
    assert died.returncode == -signal.SIGKILL
    world.sweep(8 * DAY)
    assert world.sweep(8 * DAY) == 0
    assert (world.left(gone), world.left(kept), _snapshots(world)) == (set(), {"logs", "run"}, set())
    assert world.row(gone).purged_at is not None
    with reading(world.engine) as active:
        assert active.scalars(select(SnapshotRow)).all() == []
        assert artifacts.page(active, *HERE, kept.id, limit=9).items == []


async def test_the_loop_outlives_a_database_that_fails_and_ends_when_told(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    row = world.finished(ttlAfterFinished="0s")
    world.now = NOW + DAY
    with world.engine.begin() as connection:
        connection.execute(text("ALTER TABLE snapshots RENAME TO hidden"))
    stop = asyncio.Event()
    loop = asyncio.create_task(world.sweeper.run(stop))
    await eventually_async(lambda: "nothing can be swept" in caplog.text, what="a failed sweep")
    with world.engine.begin() as connection:
        connection.execute(text("ALTER TABLE hidden RENAME TO snapshots"))
    await eventually_async(lambda: world.row(row).purged_at is not None, what="the job is purged")
    stop.set()
    await asyncio.wait_for(loop, 10)


async def test_a_sweep_under_way_ends_after_its_present_item(world: World) -> None:
    rows = [world.finished(f"job-{number}") for number in range(3)]
    for row in rows:
        world.delete(row)
    stop = asyncio.Event()
    forget = world.runtime.forget

    def stopping(ref: Any) -> None:
        forget(ref)
        stop.set()

    world.runtime.forget = stopping  # type: ignore[method-assign]
    await asyncio.wait_for(world.sweeper.run(stop), 10)
    assert sorted(world.row(row).purged_at is not None for row in rows) == [False, False, True]


def test_what_a_job_left_on_another_cluster_is_removed_by_that_clusters_worker_only(world: World) -> None:
    here, there = world.finished("here"), world.finished("there")
    with session(world.engine) as active:
        clusters.create(active, "north", {"kind": "Cluster"}, "ada", NOW)
        active.get_one(JobRow, there.id).cluster = "north"
    for row in (here, there):
        world.delete(row)
    world.sweeper.sweep()
    assert world.row(here).purged_at is not None
    assert world.row(there).purged_at is None
    assert world.left(there) == {"artifacts", "logs", "run"}
    Purger(world.engine, world.runtime, world.objects, "north").purge()
    assert world.row(there).purged_at is not None
    assert world.left(there) == set()


def test_objects_of_jobs_go_when_their_cluster_was_removed(world: World) -> None:
    row = world.finished()
    with session(world.engine) as active:
        active.get_one(JobRow, row.id).cluster = "gone"
    world.delete(row)
    world.sweeper.sweep()
    assert world.row(row).purged_at is not None
    assert world.left(row) == {"run"}  # nobody can look there any more


def _store_snapshot(world: World, sha256: str) -> None:
    world.objects.put(snapshot_key(*HERE, sha256), io.BytesIO(b"tar"))
    with session(world.engine) as active:
        key = snapshot_key(*HERE, sha256)
        snapshots.record(active, *HERE, sha256, bytes=3, files=1, object_key=key, now=NOW)


def _snapshots(world: World) -> set[str]:
    return {info.key.split("/")[3].split(".")[0] for info in world.objects.list(f"{HERE[0]}/{HERE[1]}/snapshots/")}


def test_jobs_of_a_deleted_array_go_with_it_and_before_it_is_forgotten(world: World) -> None:
    """One is still under way, which the array waits for: it is found by it when it has ended."""
    array = world.finished("sweep", ttlAfterFinished="7d")
    ended = world.finished("sweep-0")
    live = add_job(world.engine, "sweep-1", parent=array.id, array_index=1)
    other = world.finished("other", OTHERS[0])
    with session(world.engine) as active:
        active.get_one(JobRow, ended.id).parent = array.id
        active.get_one(JobRow, other.id).parent = array.id  # of another tenant: none of this array
    world.sweep(8 * DAY)
    assert [world.row(row).deleted_at is not None for row in (array, ended, live, other)] == [True, True, False, False]
    with reading(world.engine) as active:
        [told] = events.tail(active, *HERE, ended.id, 1)
    assert told.reason == "deleted with its array"
    assert world.row(array).purged_at is None
    SqlJournal(world.engine).write(JournalEntry(state=state_of(live, Phase.CANCELLED, 1)))
    world.sweep(9 * DAY)
    assert all(world.row(row).purged_at is not None for row in (array, ended, live))
    assert world.row(other).deleted_at is None
