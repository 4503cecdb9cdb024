"""Templates, schedules and snapshots: versions, names, races, and what cleanup may take."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, update

from store import jobs, schedules, snapshots, system, templates
from store.engine import reading, session, transaction
from store.errors import NameTaken, SnapshotMissing
from store.tables import JobRow, ScheduleRow, SnapshotRow, TemplateRow
from tests.store.builders import HERE, NOW, OTHERS, add_job, new_job

SHA = "9f86d081" + "0" * 56
DAY = timedelta(days=1)


def _put(engine: Engine, document: dict[str, Any], name: str = "tune", where: tuple[str, str] = HERE) -> TemplateRow:
    digest = str(sorted(document.items()))
    return transaction(engine, lambda active: templates.put(active, *where, name, document, digest, NOW))


def _schedule(engine: Engine, name: str = "nightly", where: tuple[str, str] = HERE, **more: Any) -> ScheduleRow:
    return transaction(
        engine, lambda active: schedules.create(active, *where, name, {"cron": "0 2 * * *"}, NOW, **more)
    )


def _snapshot(engine: Engine, where: tuple[str, str] = HERE, sha256: str = SHA) -> None:
    with session(engine) as active:
        snapshots.record(active, *where, sha256, bytes=10, files=2, object_key="k", git={"commit": "c"}, now=NOW)


def test_another_document_is_another_version_and_the_same_one_is_not(engine: Engine) -> None:
    assert [_put(engine, {"a": value}).version for value in (1, 1, 2, 2, 1)] == [1, 1, 2, 2, 3]
    with reading(engine) as active:
        assert templates.versions(active, *HERE, "tune") == [1, 2, 3]
        newest, first = templates.get(active, *HERE, "tune"), templates.get(active, *HERE, "tune", 1)
        assert newest is not None
        assert first is not None
        assert (newest.version, first.document) == (3, {"a": 1})
        assert templates.get(active, *HERE, "tune", 4) is None


def test_templates_are_listed_by_name_with_their_newest_version(engine: Engine) -> None:
    for name, value in (("b", 1), ("a", 1), ("b", 2), ("c", 1)):
        _put(engine, {"x": value}, name)
    _put(engine, {"x": 9}, "d", OTHERS[0])
    with reading(engine) as active:
        first = templates.page(active, *HERE, limit=2)
        rest = templates.page(active, *HERE, limit=2, after=first.next)
    assert [(row.name, row.version) for row in first.items + rest.items] == [("a", 1), ("b", 2), ("c", 1)]
    assert rest.next is None


def test_a_deleted_templates_versions_never_mean_something_else(engine: Engine) -> None:
    _put(engine, {"a": 1})
    with session(engine) as active:
        assert templates.delete(active, *HERE, "tune", NOW)
        assert not templates.delete(active, *HERE, "tune", NOW)
        assert templates.get(active, *HERE, "tune") is None
        assert templates.page(active, *HERE, limit=9).items == []
    assert _put(engine, {"a": 1}).version == 2


def test_twenty_writers_of_one_template_make_a_version_each(engine: Engine) -> None:
    with ThreadPoolExecutor(20) as pool:
        rows = list(pool.map(lambda number: _put(engine, {"a": number}), range(20)))
    assert sorted(row.version for row in rows) == list(range(1, 21))


@pytest.mark.parametrize("where", OTHERS)
def test_others_templates_and_schedules_are_out_of_reach(engine: Engine, where: tuple[str, str]) -> None:
    _put(engine, {"a": 1})
    _schedule(engine)
    with session(engine) as active:
        assert templates.get(active, *where, "tune") is None
        assert templates.versions(active, *where, "tune") == []
        assert templates.page(active, *where, limit=9).items == []
        assert not templates.delete(active, *where, "tune", NOW)
        assert schedules.get(active, *where, "nightly") is None
        assert schedules.page(active, *where, limit=9).items == []
        assert not schedules.set_paused(active, *where, "nightly", True)
        assert not schedules.delete(active, *where, "nightly", NOW)
    assert _put(engine, {"b": 1}, where=where).version == 1
    assert _schedule(engine, where=where).generation == 1


def test_a_schedule_is_created_paused_resumed_and_deleted(engine: Engine) -> None:
    made = _schedule(engine, paused=True)
    assert (made.paused, made.generation) == (True, 1)
    with session(engine) as active:
        assert schedules.set_paused(active, *HERE, "nightly", False)
        assert schedules.delete(active, *HERE, "nightly", NOW)
        assert not schedules.delete(active, *HERE, "nightly", NOW)
        assert not schedules.set_paused(active, *HERE, "nightly", True)
    again = _schedule(engine)
    assert (again.paused, again.generation, again.deleted_at) == (False, 4, None)


def test_of_twenty_creators_of_a_schedule_one_wins_also_after_a_deletion(engine: Engine) -> None:
    for _ in range(2):
        gate = threading.Barrier(20)

        def create(_number: int, gate: threading.Barrier = gate) -> str:
            gate.wait(30)
            try:
                _schedule(engine)
            except NameTaken:
                return "refused"
            return "created"

        with ThreadPoolExecutor(20) as pool:
            assert Counter(pool.map(create, range(20))) == {"created": 1, "refused": 19}
        with session(engine) as active:
            assert schedules.delete(active, *HERE, "nightly", NOW)


def test_schedules_are_listed_by_name(engine: Engine) -> None:
    for name in ("b", "c", "a"):
        _schedule(engine, name)
    with reading(engine) as active:
        first = schedules.page(active, *HERE, limit=2)
        rest = schedules.page(active, *HERE, limit=2, after=first.next)
    assert [row.name for row in first.items + rest.items] == ["a", "b", "c"]


def test_a_job_with_an_unknown_snapshot_is_refused_and_not_inserted(engine: Engine) -> None:
    _snapshot(engine, OTHERS[0])
    _snapshot(engine, OTHERS[1])
    with pytest.raises(SnapshotMissing, match="9f86d081") as refused:
        add_job(engine, snapshot=SHA)
    assert refused.value.code.code == "PD-3705"
    _snapshot(engine)
    assert add_job(engine, snapshot=SHA).snapshot == SHA


def test_a_snapshot_is_recorded_once_and_touched_when_used(engine: Engine) -> None:
    with session(engine) as active:
        assert not snapshots.touch(active, *HERE, SHA, NOW)
    for day in range(2):
        with session(engine) as active:
            snapshots.record(active, *HERE, SHA, bytes=10 + day, files=2, object_key="k", git=None, now=NOW + day * DAY)
    with reading(engine) as active:
        row = snapshots.get(active, *HERE, SHA)
        assert row is not None
        assert (row.bytes, row.created_at, row.last_used_at) == (10, NOW, NOW + DAY)


@pytest.mark.parametrize(
    ("named", "phase_deleted", "touched", "goes"),
    [
        (False, False, False, True),
        (False, False, True, False),
        (True, False, False, False),
        (True, True, False, True),
    ],
    ids=["unused", "just touched", "a job names it", "its job is deleted"],
)
def test_only_an_unused_snapshot_goes(
    engine: Engine, named: bool, phase_deleted: bool, touched: bool, goes: bool
) -> None:
    _snapshot(engine)
    _snapshot(engine, OTHERS[0])
    with session(engine) as active:
        if named:
            row = jobs.insert(active, new_job(snapshot=SHA))
            if phase_deleted:
                active.execute(update(JobRow).where(JobRow.id == row.id).values(deleted_at=NOW))
        if touched:
            snapshots.touch(active, *HERE, SHA, NOW + 5 * DAY)
    with session(engine) as active:
        found = {(row.tenant, row.project) for row in system.unused_snapshots(active, NOW + DAY, 10)}
        assert found == {OTHERS[0], *([HERE] if goes else [])}
        assert (snapshots.lock_unused(active, *HERE, SHA, NOW + DAY) is not None) == goes


@pytest.mark.parametrize("deleted", [False, True])
def test_a_snapshot_of_a_schedule_stays_for_its_next_run(engine: Engine, deleted: bool) -> None:
    _snapshot(engine)
    job = {"spec": {"workdir": {"mode": "snapshot", "snapshot": SHA}}}
    with session(engine) as active:
        schedules.create(active, *HERE, "monthly", {"document": {"spec": {"job": job}}, "owner": "ada"}, NOW)
        if deleted:
            schedules.delete(active, *HERE, "monthly", NOW)
    with session(engine) as active:
        assert (snapshots.lock_unused(active, *HERE, SHA, NOW + DAY) is not None) == deleted
        assert len(system.unused_snapshots(active, NOW + DAY, 10)) == deleted


def test_a_snapshot_that_is_being_removed_cannot_be_used_meanwhile(engine: Engine) -> None:
    """The submit waits for the removal, and is refused; or comes first, and the removal finds the snapshot in use."""
    _snapshot(engine)
    submitting = threading.Event()

    def submit() -> str:
        submitting.set()
        try:
            return transaction(engine, lambda active: jobs.insert(active, new_job(snapshot=SHA)).name)
        except SnapshotMissing:
            return "refused"

    with ThreadPoolExecutor(1) as pool:
        with session(engine) as active:
            assert snapshots.lock_unused(active, *HERE, SHA, NOW + DAY) is not None
            outcome = pool.submit(submit)
            assert submitting.wait(10)
            snapshots.forget(active, *HERE, SHA)
        assert outcome.result(30) == "refused"


def test_a_submit_that_comes_first_protects_its_snapshot(engine: Engine) -> None:
    _snapshot(engine)
    removing = threading.Event()

    def remove() -> SnapshotRow | None:
        removing.set()
        with session(engine) as active:
            return snapshots.lock_unused(active, *HERE, SHA, NOW + DAY)

    with ThreadPoolExecutor(1) as pool:
        with session(engine) as active:
            jobs.insert(active, new_job(snapshot=SHA, created_at=NOW + 2 * DAY))
            outcome = pool.submit(remove)
            assert removing.wait(10)
        assert outcome.result(30) is None
