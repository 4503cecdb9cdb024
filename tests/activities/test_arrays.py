"""Arrays in the database: each index has one job, whatever comes twice and whoever else writes meanwhile."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, func, select

from activities.adapters.arrays import SqlArrays
from activities.ports import PortError
from definitions.array_state import ArrayState, Granted
from definitions.cluster import LOCAL_CLUSTER
from definitions.errors import PerdureError
from definitions.facts import JobEnded
from definitions.job import Job
from definitions.job_document import document_of
from definitions.places import Ticket
from definitions.protocol import ARRAY_COUNT, ARRAY_INDEX, ARRAY_JOB, ARRAY_LAST
from definitions.states import FailureClass, Phase
from definitions.submission import JobSubmission
from policies.array_children import child_id, index_of
from policies.array_moves import move
from policies.arrays import begin, initial_array
from policies.job_plan import JobIds
from store import array_names, arrays, events, followers, jobs, outbox, pool_reads
from store.engine import reading, session
from store.tables_jobs import EventRow, JobRow
from tests.store.builders import HERE, NOW, OTHERS, PROJECT, TENANT, add_job, document, event
from tests.support.database import migrated
from workers.starter import array_input, job_input

LATER = NOW + timedelta(minutes=5)
ARRAY = {"first": 10, "last": 25, "step": 5, "limit": 2}


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with migrated(database_url) as opened:
        yield opened


@pytest.fixture
def port(engine: Engine) -> SqlArrays:
    return SqlArrays(engine, now=lambda: NOW)


def add_array(engine: Engine, name: str = "sweep", *, ticket: Ticket | None = None, **spec: Any) -> ArrayState:
    """An accepted array that has begun, as it is recorded."""
    given = document(name, array=ARRAY, ttlAfterFinished="1h", **spec)
    given["metadata"]["labels"] = {"team": "vision"}
    submission = JobSubmission(ticket=ticket, cwd="/home/ada")
    row = add_job(engine, name, spec=given, submission=submission.model_dump(mode="json"))
    job = Job.model_validate(given)
    ids = JobIds(tenant=row.tenant, project=row.project, job=row.id, owner=row.owner, seed=row.seed)
    return begin(initial_array(job, ids, submission, timedelta(minutes=2)), NOW)


def of_array(engine: Engine, state: ArrayState) -> dict[int, JobRow]:
    with reading(engine) as active:
        mine = select(JobRow).where(JobRow.parent == state.job).order_by(JobRow.array_index)
        return {row.array_index or 0: row for row in active.scalars(mine)}


def end(engine: Engine, row: JobRow, phase: Phase = Phase.SUCCEEDED) -> None:
    with session(engine) as active:
        stored = active.get_one(JobRow, row.id)
        stored.phase, stored.live_name, stored.ended_at = phase, None, NOW
        stored.failure = FailureClass.USER_ERROR if phase is Phase.FAILED else None
        active.flush()
        followers.tell(active, stored)


def test_a_job_of_an_array_is_as_any_other_and_knows_its_place(engine: Engine, port: SqlArrays) -> None:
    state = add_array(engine, ticket=Ticket(queue="research", priority=5), timeout="1h", suspend=True)
    granted = Granted(extended=timedelta(minutes=30), priority=40)
    assert port.make(state.model_copy(update={"granted": granted}), 1, 2) == ()
    made = of_array(engine, state)
    assert list(made) == [15, 20]
    row = made[20]
    assert (row.name, row.live_name, row.phase, row.owner) == ("sweep-20", "sweep-20", Phase.PENDING, "ada")
    assert (row.id, row.parent, row.labels) == (child_id(state.job, 20), state.job, {"team": "vision"})
    job = Job.model_validate(row.spec)
    assert (job.metadata.name, job.spec.array, job.spec.suspend) == ("sweep-20", None, False)
    assert (job.spec.ttl_after_finished, job.spec.timeout) == (None, timedelta(minutes=90))
    assert array_input(row, timedelta(minutes=2)) is None
    begins = job_input(row).state
    assert begins.ticket is not None
    assert begins.ticket.priority == 40
    told = {ARRAY_INDEX: "20", ARRAY_LAST: "25", ARRAY_COUNT: "4", ARRAY_JOB: state.job}
    assert begins.launch.env.items() >= told.items()
    assert made[15].seed != row.seed
    with reading(engine) as active:
        assert [line.kind for line in events.after(active, *HERE, row.id, 0, 9)] == ["accepted"]
        assert followers.of(active, *HERE, row.id) == [state.job]


def test_a_batch_that_comes_twice_is_made_once(engine: Engine, port: SqlArrays) -> None:
    state = add_array(engine)
    port.make(state, 0, 2)
    first = of_array(engine, state)
    end(engine, first[10], Phase.FAILED)
    [told] = port.make(state, 0, 3)
    assert (index_of(state.job, told), told.phase, told.failure) == (10, Phase.FAILED, FailureClass.USER_ERROR)
    again = of_array(engine, state)
    assert [row.id for row in again.values()][:2] == [row.id for row in first.values()]
    assert again[10].phase is Phase.FAILED
    with reading(engine) as active:
        assert active.scalar(select(func.count()).select_from(EventRow)) == 3


def test_batches_that_come_at_once_are_made_once(engine: Engine) -> None:
    state = add_array(engine)
    faults: list[BaseException] = []

    def work() -> None:
        try:
            SqlArrays(engine, now=lambda: NOW).make(state, 0, 4)
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert list(of_array(engine, state)) == [10, 15, 20, 25]
    with reading(engine) as active:
        assert active.scalar(select(func.count()).select_from(EventRow)) == 4


@pytest.mark.parametrize("gone", ["ended", "deleted"])
def test_an_array_that_is_over_makes_no_job_however_late_the_batch_comes(
    engine: Engine, port: SqlArrays, gone: str
) -> None:
    state = add_array(engine)
    port.make(state, 0, 1)
    over = move(state, Phase.CANCELLED, "cancelled by ada", NOW, ended_at=NOW)
    assert port.record(over) is Phase.CANCELLED
    if gone == "deleted":
        with session(engine) as active:
            assert jobs.delete(active, *HERE, state.job, NOW, event(9, "deleted"))
    port.make(state, 0, 4)
    assert list(of_array(engine, state)) == [10]


def test_a_batch_and_the_end_of_the_array_take_turns(engine: Engine, port: SqlArrays) -> None:
    state = add_array(engine)
    over = move(state, Phase.CANCELLED, "cancelled by ada", NOW, ended_at=NOW)
    threads = [
        threading.Thread(target=lambda: port.make(state, 0, 4)),
        threading.Thread(target=lambda: port.record(over)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    before = list(of_array(engine, state))
    assert before in ([], [10, 15, 20, 25])
    port.make(state, 0, 4)
    assert list(of_array(engine, state)) == before


def test_a_job_that_cannot_be_accepted_is_there_failed_and_says_why(engine: Engine, port: SqlArrays) -> None:
    state = add_array(engine)
    add_job(engine, "sweep-15")
    [refused] = port.make(state, 0, 3)
    assert (index_of(state.job, refused), refused.failure) == (15, FailureClass.DEPENDENCY)
    assert port.make(state, 0, 3) == (refused,)
    made = of_array(engine, state)
    assert [row.phase for row in made.values()] == [Phase.PENDING, Phase.FAILED, Phase.PENDING]
    assert "[PD-2201]" in made[15].reason


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"workdir": {"mode": "snapshot", "snapshot": "0f" * 32}}, "[PD-3705]"),
        ({"cluster": "north-1", "image": "a:1"}, "[PD-2101]"),
    ],
    ids=["snapshot", "cluster"],
)
def test_what_all_jobs_need_and_is_gone_fails_each_of_them(
    engine: Engine, port: SqlArrays, spec: dict[str, Any], says: str
) -> None:
    state = add_array(engine, **spec)
    assert len(port.make(state, 0, 4)) == 4
    assert all(says in row.reason for row in of_array(engine, state).values())


def test_the_end_of_a_job_is_left_as_word_to_its_array(engine: Engine, port: SqlArrays) -> None:
    state = add_array(engine)
    port.make(state, 0, 1)
    end(engine, of_array(engine, state)[10])
    with reading(engine) as active:
        [word] = outbox.waiting(active, followers.TOPIC, 9)
    assert word.target == f"job/{TENANT}/{state.job}"
    assert index_of(state.job, JobEnded.model_validate(word.body)) == 10


def test_a_state_is_recorded_with_its_events_and_an_older_one_changes_nothing(engine: Engine, port: SqlArrays) -> None:
    state = add_array(engine)
    over = move(state, Phase.FAILED, "1 of 4 failed: 10", NOW, ended_at=NOW, failure=FailureClass.HANG)
    for one in (over, state, over):
        assert port.record(one) is Phase.FAILED
    with reading(engine) as active:
        row = jobs.get(active, *HERE, state.job)
        assert row is not None
        assert (row.reason, row.failure, row.live_name, row.ended_at) == (over.reason, over.failure, None, NOW)
        assert (row.started_at, row.generation) == (NOW, 2)
        assert [line.reason for line in events.after(active, *HERE, row.id, 0, 9)] == [state.reason, over.reason]


def test_an_array_holds_no_place_of_its_own(engine: Engine, port: SqlArrays) -> None:
    state = add_array(engine)
    port.record(state)
    with reading(engine) as active:
        assert jobs.get(active, *HERE, state.job).phase is Phase.RUNNING  # type: ignore[union-attr]
        assert pool_reads.strays(active, LOCAL_CLUSTER) == []


def test_an_array_without_a_row_is_refused_for_good(port: SqlArrays, engine: Engine) -> None:
    state = add_array(engine).model_copy(update={"project": "elsewhere"})
    for call in (lambda: port.make(state, 0, 1), lambda: port.record(state)):
        with pytest.raises(PortError) as refused:
            call()
        assert (refused.value.code, refused.value.permanent) == ("PD-3703", True)


def test_counts_failed_indexes_and_pages_are_of_the_tenants_own_array(engine: Engine, port: SqlArrays) -> None:
    state = add_array(engine)
    port.make(state, 0, 4)
    made = of_array(engine, state)
    end(engine, made[25], Phase.FAILED)
    end(engine, made[15], Phase.FAILED)
    end(engine, made[10])
    with reading(engine) as active:
        counted = arrays.counts(active, *HERE, [state.job, "0" * 26])
        assert counted == {state.job: {Phase.SUCCEEDED: 1, Phase.PENDING: 1, Phase.FAILED: 2}}
        assert arrays.failed(active, *HERE, state.job, 1) == [15]
        first = arrays.page(active, *HERE, state.job, limit=3)
        rest = arrays.page(active, *HERE, state.job, limit=3, after=first.next)
        assert [row.array_index for row in [*first.items, *rest.items]] == [10, 15, 20, 25]
        bad = arrays.page(active, *HERE, state.job, (Phase.FAILED,), limit=9)
        assert [row.array_index for row in bad.items] == [15, 25]
        for where in OTHERS:
            assert arrays.counts(active, *where, [state.job]) == {}
            assert arrays.failed(active, *where, state.job, 9) == []
            assert arrays.page(active, *where, state.job, limit=9).items == []


def test_ended_jobs_are_deleted_with_their_array_a_part_at_a_time(engine: Engine, port: SqlArrays) -> None:
    state = add_array(engine)
    port.make(state, 0, 4)
    made = of_array(engine, state)
    for index in (10, 15, 20):
        end(engine, made[index])
    gone = event(9, "deleted")
    with session(engine) as active:
        assert arrays.delete_some(active, *OTHERS[0], state.job, NOW, gone, 9) == 0
        assert arrays.delete_some(active, *HERE, state.job, NOW, gone, 2) == 2
        assert arrays.delete_some(active, *HERE, state.job, NOW, gone, 2) == 1
        assert arrays.delete_some(active, *HERE, state.job, NOW, gone, 2) == 0
    assert [index for index, row in of_array(engine, state).items() if row.deleted_at is None] == [25]


@pytest.mark.parametrize(
    ("live", "name", "array", "code"),
    [
        ("sweep-7", "sweep", {"last": 9}, "PD-2201"),
        ("sweep-7", "sweep", {"last": 9, "step": 2}, None),
        ("sweep-07", "sweep", {"last": 9}, None),
        ("sweep-10", "sweep", {"last": 9}, None),
        ("sweeps", "sweep", {"last": 9}, None),
        ("other", "a" * 61, {"last": 9}, None),
        ("other", "a" * 61, {"last": 10}, "PD-2200"),
    ],
)
def test_an_array_whose_jobs_names_are_too_long_or_held_is_refused(
    engine: Engine, live: str, name: str, array: dict[str, int], code: str | None
) -> None:
    add_job(engine, live)
    add_job(engine, "sweep-7", where=OTHERS[0])
    job = Job.model_validate(document(name, array=array))
    assert code_of(engine, job) == code


def test_no_job_takes_a_name_that_a_live_array_is_still_to_use(engine: Engine, port: SqlArrays) -> None:
    state = add_array(engine)
    port.make(state, 0, 1)
    end(engine, of_array(engine, state)[10])
    plain = {name: code_of(engine, Job.model_validate(document(name))) for name in ("sweep-10", "sweep-11", "sweep-15")}
    assert plain == {"sweep-10": None, "sweep-11": None, "sweep-15": "PD-2202"}
    port.record(move(state, Phase.CANCELLED, "cancelled", NOW, ended_at=NOW))
    assert code_of(engine, Job.model_validate(document("sweep-15"))) is None


def code_of(engine: Engine, job: Job) -> str | None:
    assert document_of(job)["metadata"]["project"] == PROJECT
    with reading(engine) as active:
        try:
            array_names.check_names(active, *HERE, job)
        except PerdureError as refused:
            return refused.code.code
    return None
