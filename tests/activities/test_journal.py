"""The journal in the database: what entries come to, in whatever order and however often they arrive."""

import random
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, select, text

from activities.adapters.journal import SqlJournal
from activities.ports import JournalEntry, PortError
from definitions.attempt import (
    ArtifactRecord,
    AttemptObservation,
    AttemptRef,
    CheckpointRecord,
    Collected,
    RankEvidence,
    RankState,
)
from definitions.facts import AttemptSummary
from definitions.ids import new_id
from definitions.job_state import JobState
from definitions.states import FailureClass, Phase
from store import artifacts, attempts, checkpoints, events, jobs
from store.base import Base
from store.engine import reading
from store.tables import ArtifactRow, AttemptRow, CheckpointRow, EventRow, JobRow
from tests.store.builders import HERE, NOW, add_job, event, state_of
from tests.support.database import migrated

FOLDERS = tuple(f"checkpoints/step-{step:010d}.{'a' * 32}" for step in (10, 20, 30))
Deleted = tuple[str, ...]


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with migrated(database_url) as opened:
        yield opened


@pytest.fixture
def journal(engine: Engine) -> SqlJournal:
    return SqlJournal(engine, now=lambda: NOW)


def test_an_entry_is_seen_whole(engine: Engine, journal: SqlJournal) -> None:
    row = add_job(engine)
    ended = AttemptSummary(
        number=1, token="a" * 32, failure=FailureClass.HANG, reason="quiet", reached_step=25, last_lines=("no\0", "end")
    )
    later = {"wake_at": NOW + timedelta(minutes=1), "resume_step": 20}
    state = state_of(row, Phase.BACKING_OFF, 3, timeout=timedelta(hours=1), attempt_started_at=NOW, **later)
    entry = JournalEntry(
        state=state, events=(event(1), event(2), event(3)), attempt=ended, collected=_collected(row, 5, FOLDERS[:2])
    )
    journal.write(entry)
    with reading(engine) as active:
        job = jobs.get(active, *HERE, row.id)
        assert job is not None
        assert (job.phase, job.reason, job.attempt, job.checkpoint_step) == (Phase.BACKING_OFF, state.reason, 1, 20)
        assert (job.wake_at, job.deadline) == (NOW + timedelta(minutes=1), NOW + timedelta(hours=1))
        assert (job.event_count, job.generation, job.live_name) == (3, 2, "digits")
        attempt = attempts.newest(active, *HERE, row.id)
        assert attempt is not None
        assert (attempt.failure, attempt.reached_step, attempt.ranks[0]["state"]) == (FailureClass.HANG, 25, "lost")
        assert attempt.last_lines == ["no\N{REPLACEMENT CHARACTER}", "end"]
        assert [line.key for line in events.after(active, *HERE, row.id, 0, 10)] == ["000001", "000002", "000003"]
        assert [found.step for found in checkpoints.page(active, *HERE, row.id, limit=9).items] == [10, 20]
        assert [found.path for found in artifacts.page(active, *HERE, row.id, limit=9).items] == ["model.npz"]


def test_a_final_state_frees_the_name_and_stays(engine: Engine, journal: SqlJournal) -> None:
    row = add_job(engine)
    journal.write(JournalEntry(state=state_of(row, Phase.SUCCEEDED, 4, exit_code=0)))
    journal.write(JournalEntry(state=state_of(row, Phase.RUNNING, 4)))
    with reading(engine) as active:
        job = jobs.get(active, *HERE, row.id)
        assert job is not None
        assert (job.phase, job.live_name, job.exit_code) == (Phase.SUCCEEDED, None, 0)
        assert job.ended_at == NOW + timedelta(minutes=4)
    assert add_job(engine).name == row.name


def test_a_repeat_changes_nothing_not_even_the_generation(engine: Engine, journal: SqlJournal) -> None:
    row = add_job(engine)
    entry = JournalEntry(state=state_of(row), events=(event(1),), collected=_collected(row, 1, FOLDERS))
    journal.write(entry)
    before = _rows(engine, row.id), _generation(engine, row.id)
    journal.write(entry)
    assert (_rows(engine, row.id), _generation(engine, row.id)) == before


def test_an_older_state_overwrites_nothing_but_its_events_are_kept(engine: Engine, journal: SqlJournal) -> None:
    row = add_job(engine)
    journal.write(JournalEntry(state=state_of(row, Phase.COLLECTING, 3), events=(event(3),)))
    journal.write(JournalEntry(state=state_of(row, Phase.RUNNING, 2), events=(event(2),)))
    with reading(engine) as active:
        job = jobs.get(active, *HERE, row.id)
        assert job is not None
        assert (job.phase, job.event_count) == (Phase.COLLECTING, 3)
        assert {line.key for line in events.after(active, *HERE, row.id, 0, 10)} == {"000002", "000003"}


def test_a_deleted_checkpoint_stays_deleted_also_when_it_is_recorded_late(engine: Engine, journal: SqlJournal) -> None:
    row = add_job(engine)
    journal.checkpoints_deleted(_ref(row, 1), (FOLDERS[0], "elsewhere"))
    journal.write(JournalEntry(state=state_of(row), collected=_collected(row, 1, FOLDERS[:2])))
    journal.checkpoints_deleted(_ref(row, 1), (FOLDERS[0],))
    with reading(engine) as active:
        assert [found.folder for found in checkpoints.page(active, *HERE, row.id, limit=9).items] == [FOLDERS[1]]
        gone = active.get_one(CheckpointRow, (row.id, FOLDERS[0]))
        assert (gone.step, gone.token, gone.bytes, gone.deleted_at) == (10, "a" * 32, 4096, NOW)


def test_the_newest_judgement_of_a_checkpoint_stands(engine: Engine, journal: SqlJournal) -> None:
    row = add_job(engine)
    for at, broken in ((5, FOLDERS[:1]), (4, ())):
        journal.write(JournalEntry(state=state_of(row), collected=_collected(row, at, FOLDERS[:1], broken)))
    with reading(engine) as active:
        assert checkpoints.find(active, *HERE, row.id) is None
        (found,) = checkpoints.page(active, *HERE, row.id, limit=9).items
        assert (found.complete, found.problem) == (False, "rank 0: weights.npz is missing")


@pytest.mark.parametrize("where", [("rival", "vision"), ("acme", "speech")])
def test_a_job_of_others_or_of_nobody_is_refused_for_good(
    engine: Engine, journal: SqlJournal, where: tuple[str, str]
) -> None:
    row = add_job(engine)
    state = state_of(row).model_copy(update={"tenant": where[0], "project": where[1]})
    ref = _ref(row, 1).model_copy(update={"tenant": where[0], "project": where[1]})
    with pytest.raises(PortError, match="has no row") as refused:
        journal.write(JournalEntry(state=state, events=(event(),)))
    assert (refused.value.permanent, refused.value.code) == (True, "PD-3703")
    with pytest.raises(PortError, match="has no row"):
        journal.checkpoints_deleted(ref, FOLDERS)
    assert _rows(engine, row.id)["events"] == []


def test_a_database_that_fails_is_worth_another_try_and_tells_no_values(engine: Engine, journal: SqlJournal) -> None:
    row = add_job(engine)
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE events"))
    with pytest.raises(PortError) as failed:
        journal.write(JournalEntry(state=state_of(row, reason="my-secret-reason"), events=(event(reason="private"),)))
    assert (failed.value.permanent, failed.value.code) == (False, "PD-3706")
    assert "private" not in str(failed.value)
    with reading(engine) as active:
        job = jobs.get(active, *HERE, row.id)
        assert job is not None
        assert job.phase is Phase.PENDING  # nothing of the entry is there


SUBSETS = st.lists(st.sampled_from(FOLDERS), unique=True).map(tuple)


@st.composite
def _lives(draw: st.DrawFn) -> list[tuple[int, dict[str, Any]]]:
    """A job's life as a list of steps: what each entry or deletion holds, in the order in which it was decided."""
    steps = []
    attempt = 1
    for count in range(1, draw(st.integers(2, 6))):
        attempt += draw(st.integers(0, 1))
        collected, broken, deleted = draw(st.none() | SUBSETS), draw(SUBSETS), draw(SUBSETS)
        steps.append((count, dict(attempt=attempt, collected=collected, broken=broken, deleted=deleted)))
    return steps


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(life=_lives(), final=st.booleans(), seed=st.integers(0, 2**16))
def test_any_order_with_repeats_comes_to_the_same_rows(
    engine: Engine, journal: SqlJournal, life: list[tuple[int, dict[str, Any]]], final: bool, seed: int
) -> None:
    in_order, shuffled = (add_job(engine, f"job-{new_id()}", spec={}) for _ in range(2))
    for row, order in ((in_order, None), (shuffled, random.Random(seed))):
        works = [work for count, step in life for work in _works(row, count, step, final and count == len(life))]
        if order is not None:
            works += order.choices(works, k=len(works))
            order.shuffle(works)
        for work in works:
            if isinstance(work, JournalEntry):
                journal.write(work)
            else:
                journal.checkpoints_deleted(_ref(row, 1), work)
    assert _rows(engine, in_order.id) == _rows(engine, shuffled.id)


def _works(row: JobRow, count: int, step: dict[str, Any], final: bool) -> list[JournalEntry | Deleted]:
    number = step["attempt"]
    state: JobState = state_of(row, Phase.FAILED if final else Phase.RUNNING, count, attempt=number, reason=f"n{count}")
    summary = AttemptSummary(number=number, token=f"{number:032x}", reason=f"n{count}", reached_step=count)
    collected = None
    if step["collected"] is not None:
        collected = _collected(row, count, step["collected"], step["broken"], number)
    entry = JournalEntry(state=state, events=(event(count, reason=f"n{count}"),), attempt=summary, collected=collected)
    return [entry, step["deleted"]]


def _collected(
    row: JobRow, at: int, folders: tuple[str, ...], broken: tuple[str, ...] = (), number: int = 1
) -> Collected:
    rank = RankEvidence(rank=0, node="n1", state=RankState.LOST, detail=f"seen at {at}")
    seen = AttemptObservation(ref=_ref(row, number), at=NOW + timedelta(seconds=at), ranks=(rank,), ended=True)
    records = tuple(
        CheckpointRecord(
            step=int(folder.split("-")[1].split(".")[0]),
            token="a" * 32,
            attempt=number,
            folder=folder,
            complete=folder not in broken,
            problem="rank 0: weights.npz is missing" if folder in broken else "",
            bytes=4096,
        )
        for folder in folders
    )
    kept = ArtifactRecord(path="model.npz", bytes=at, sha256=f"{at:064x}", object_key="k")
    return Collected(observation=seen, checkpoints=records, artifacts=1, artifact_files=(kept,))


def _ref(row: JobRow, number: int) -> AttemptRef:
    return AttemptRef(tenant=row.tenant, project=row.project, job=row.id, number=number, token=f"{number:032x}")


def _generation(engine: Engine, job: str) -> int:
    with reading(engine) as active:
        return active.get_one(JobRow, job).generation


def _rows(engine: Engine, job: str) -> dict[str, list[dict[str, Any]]]:
    """Everything of a job, but for what names it, how it was numbered, and how many writes it took."""
    left_out = {"id", "job", "name", "live_name", "seq", "generation"}

    def plain(row: Base) -> dict[str, Any]:
        return {name: getattr(row, name) for name in row.__mapper__.columns.keys() if name not in left_out}  # noqa: SIM118

    tables: list[tuple[type[Any], Any, Any]] = [
        (JobRow, JobRow.id, JobRow.id),
        (AttemptRow, AttemptRow.job, AttemptRow.number),
        (EventRow, EventRow.job, EventRow.key),
        (CheckpointRow, CheckpointRow.job, CheckpointRow.folder),
        (ArtifactRow, ArtifactRow.job, ArtifactRow.attempt),
    ]
    with reading(engine) as active:
        return {
            table.__tablename__: [plain(row) for row in active.scalars(select(table).where(key == job).order_by(order))]
            for table, key, order in tables
        }
