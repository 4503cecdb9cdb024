"""Jobs as people see them: names, lists, filters, pages, deletion, and two tenants in all of it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, update

from definitions.cluster import LOCAL_CLUSTER
from definitions.errors import PerdureError
from definitions.states import FailureClass, Phase
from policies.selectors import matches, parse_selector
from store import events, figures, jobs, system
from store.engine import reading, session, transaction
from store.errors import BadCursor, NameTaken
from store.jobs import JobFilter
from store.tables_jobs import JobRow
from tests.store.builders import HERE, NOW, OTHERS, add_job, event, new_job


def test_an_inserted_job_is_whole_and_waits_for_its_start(engine: Engine) -> None:
    spec = {"kind": "Job", "spec": {"command": ["a", "b"]}}
    with session(engine) as active:
        row = jobs.insert(active, new_job(labels={"team": "x"}, spec=spec, ranks=4), [event(1, "submitted")])
    assert (row.phase, row.reason, row.generation, row.event_count) == (Phase.PENDING, "submitted", 1, 0)
    with reading(engine) as active:
        assert [job.id for job in system.unacknowledged_starts(active, 10)] == [row.id]
        found = jobs.get(active, *HERE, row.id)
        assert found is not None
        assert (found.spec, found.labels, found.ranks, found.created_at) == (spec, {"team": "x"}, 4, NOW)
        assert [line.kind for line in events.after(active, *HERE, row.id, 0, 10)] == ["submitted"]


def test_a_live_name_is_refused_saying_who_holds_it(engine: Engine) -> None:
    holder = add_job(engine)
    with pytest.raises(NameTaken, match="has not ended") as refused:
        add_job(engine)
    assert refused.value.holder == holder.id
    assert "perdure jobs cancel digits" in str(refused.value)


@pytest.mark.parametrize("where", OTHERS)
def test_the_same_name_is_free_elsewhere(engine: Engine, where: tuple[str, str]) -> None:
    assert add_job(engine).name == add_job(engine, where=where).name


def test_of_fifty_racers_for_a_name_exactly_one_gets_it(engine: Engine) -> None:
    gate = threading.Barrier(50)

    def race(_number: int) -> str:
        gate.wait(30)
        try:
            return transaction(engine, lambda active: jobs.insert(active, new_job()).id)
        except NameTaken:
            return "refused"

    with ThreadPoolExecutor(50) as pool:
        outcomes = list(pool.map(race, range(50)))
    assert outcomes.count("refused") == 49
    with reading(engine) as active:
        assert [row.id for row in jobs.page(active, *HERE, JobFilter(), limit=100).items] == [
            outcome for outcome in outcomes if outcome != "refused"
        ]


def test_an_ended_jobs_name_is_free_and_means_the_newest(engine: Engine) -> None:
    first = add_job(engine)
    _set(engine, first.id, phase=Phase.FAILED, live_name=None)
    second = add_job(engine, created_at=NOW + timedelta(seconds=1))
    with reading(engine) as active:
        assert _id(jobs.get(active, *HERE, "digits")) == second.id
        assert _id(jobs.get(active, *HERE, first.id)) == first.id
        assert _id(jobs.get_live(active, *HERE, "digits")) == second.id


def test_a_name_spelled_like_an_id_is_found_too(engine: Engine) -> None:
    odd = "0" * 26
    row = add_job(engine, odd)
    with reading(engine) as active:
        assert _id(jobs.get(active, *HERE, odd)) == row.id


@pytest.mark.parametrize("where", OTHERS)
def test_no_read_or_write_reaches_a_job_of_others(engine: Engine, where: tuple[str, str]) -> None:
    row = add_job(engine, template="t")
    _set(engine, row.id, phase=Phase.FAILED)
    with session(engine) as active:
        assert jobs.get(active, *where, row.id) is None
        assert jobs.get(active, *where, row.name) is None
        assert jobs.get_live(active, *where, row.name) is None
        assert jobs.page(active, *where, JobFilter(), limit=10).items == []
        assert jobs.count_by_template(active, *where) == {}
        assert not jobs.update_progress(active, *where, row.id, {"step": 1})
        assert not jobs.delete(active, *where, row.id, NOW, event())
    with reading(engine) as active:
        mine = jobs.get(active, *HERE, row.id)
        assert mine is not None
        assert (mine.progress, mine.deleted_at, mine.generation) == (None, None, 1)


def test_progress_changes_what_is_shown_and_not_the_generation(engine: Engine) -> None:
    row = add_job(engine)
    with session(engine) as active:
        assert jobs.update_progress(active, *HERE, row.id, {"step": 120, "metrics": {"loss": float("nan")}})
    with reading(engine) as active:
        found = jobs.get(active, *HERE, row.id)
        assert found is not None
        assert (found.progress, found.generation) == ({"step": 120, "metrics": {"loss": "NaN"}}, 1)


def test_only_a_final_job_is_deleted_and_only_once(engine: Engine) -> None:
    row = add_job(engine)
    with session(engine) as active:
        assert not jobs.delete(active, *HERE, row.id, NOW, event())
    _set(engine, row.id, phase=Phase.CANCELLED)
    with session(engine) as active:
        assert jobs.delete(active, *HERE, row.id, NOW, event(7, "deleted"))
        assert not jobs.delete(active, *HERE, row.id, NOW + timedelta(days=1), event(8, "deleted"))
    with reading(engine) as active:
        assert jobs.get(active, *HERE, row.id) is None
        assert jobs.get(active, *HERE, row.name) is None
        assert jobs.page(active, *HERE, JobFilter(), limit=10).items == []
        assert [job.deleted_at for job in system.deleted_jobs(active, LOCAL_CLUSTER, 10)] == [NOW]
        assert [line.kind for line in events.tail(active, *HERE, row.id, 10)] == ["deleted"]
    assert add_job(engine).name == row.name


FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, {"a-1", "a-2", "b-1"}),
    ({"phases": (Phase.FAILED,)}, {"a-1"}),
    ({"phases": (Phase.FAILED, Phase.PENDING)}, {"a-1", "a-2", "b-1"}),
    ({"owner": "ben"}, {"b-1"}),
    ({"since": NOW + timedelta(minutes=1)}, {"a-2", "b-1"}),
    ({"template": "tune"}, {"a-2"}),
    ({"name_prefix": "a-"}, {"a-1", "a-2"}),
    ({"name_prefix": "A-"}, set()),
    ({"name_prefix": "a_"}, set()),
    ({"name_prefix": "%"}, set()),
    ({"selector": parse_selector("team=x,!draft")}, {"a-1"}),
    ({"selector": parse_selector("example.org/stage=dev")}, {"b-1"}),
    ({"selector": parse_selector("team!=y"), "name_prefix": "b"}, {"b-1"}),
]


@pytest.mark.parametrize(("wanted", "names"), FILTERS)
def test_a_list_shows_what_every_filter_wants(engine: Engine, wanted: dict[str, Any], names: set[str]) -> None:
    first = add_job(engine, "a-1", labels={"team": "x"})
    add_job(engine, "a-2", labels={"team": "x", "draft": ""}, template="tune", created_at=NOW + timedelta(minutes=1))
    later = NOW + timedelta(minutes=2)
    add_job(engine, "b-1", owner="ben", labels={"example.org/stage": "dev"}, created_at=later)
    for where in OTHERS:
        add_job(engine, "a-9", where, labels={"team": "x"}, owner="ben", template="tune", created_at=later)
    _set(engine, first.id, phase=Phase.FAILED)
    with reading(engine) as active:
        assert {row.name for row in jobs.page(active, *HERE, JobFilter(**wanted), limit=10).items} == names


KEYS = st.sampled_from(["team", "a.b", "x/y", "Q_1", "example.org/a-b.c"])
VALUES = st.sampled_from(["", "x", "X", "1.0", "a_b"])
CONDITIONS = st.one_of(
    st.builds("{}={}".format, KEYS, VALUES),
    st.builds("{}!={}".format, KEYS, VALUES),
    KEYS,
    st.builds("!{}".format, KEYS),
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    labelled=st.lists(st.dictionaries(KEYS, VALUES, max_size=3), min_size=1, max_size=6),
    conditions=st.lists(CONDITIONS, max_size=3),
)
def test_the_database_selects_what_the_policy_selects(
    engine: Engine, labelled: list[dict[str, str]], conditions: list[str]
) -> None:
    selector = parse_selector(",".join(conditions))
    with session(engine) as active:
        for number, labels in enumerate(labelled):
            jobs.insert(active, new_job(f"job-{number}", labels=labels))
        found = jobs.page(active, *HERE, JobFilter(selector=selector), limit=100).items
        assert {row.name for row in found} == {
            f"job-{number}" for number, labels in enumerate(labelled) if matches(selector, labels)
        }
        active.rollback()


def test_pages_show_every_job_once_newest_first_also_when_times_are_equal(engine: Engine) -> None:
    for number in range(7):
        add_job(engine, f"job-{number}", created_at=NOW + timedelta(seconds=number // 3))
    seen: list[str] = []
    after: str | None = None
    with reading(engine) as active:
        while True:
            page = jobs.page(active, *HERE, JobFilter(), limit=2, after=after)
            seen += [row.id for row in page.items]
            if (after := page.next) is None:
                break
        everything = jobs.page(active, *HERE, JobFilter(), limit=100)
    assert seen == [row.id for row in everything.items]
    assert [row.created_at for row in everything.items] == sorted(
        (row.created_at for row in everything.items), reverse=True
    )
    assert len(set(seen)) == 7
    assert everything.next is None


def test_jobs_that_come_meanwhile_move_no_page(engine: Engine) -> None:
    for number in range(4):
        add_job(engine, f"job-{number}", created_at=NOW + timedelta(seconds=number))
    with reading(engine) as active:
        first = jobs.page(active, *HERE, JobFilter(), limit=2)
    add_job(engine, "new", created_at=NOW + timedelta(seconds=9))
    with reading(engine) as active:
        second = jobs.page(active, *HERE, JobFilter(), limit=2, after=first.next)
    assert [row.name for row in first.items + second.items] == ["job-3", "job-2", "job-1", "job-0"]


@pytest.mark.parametrize("cursor", ["", "x", "!!!", "W10", "WzEsMl0", "WyJhIiwiYiJd", "é", "bnVsbA", "W" * 5000])
def test_a_cursor_that_no_list_gave_is_refused(engine: Engine, cursor: str) -> None:
    with pytest.raises(BadCursor) as refused, reading(engine) as active:
        jobs.page(active, *HERE, JobFilter(), limit=2, after=cursor)
    assert isinstance(refused.value, PerdureError)
    assert refused.value.code.code == "PD-3702"


def test_jobs_are_counted_per_template_and_per_phase(engine: Engine) -> None:
    one = add_job(engine, "a", template="tune")
    add_job(engine, "b", template="tune")
    add_job(engine, "c", template="eval")
    add_job(engine, "d", OTHERS[0])
    _set(engine, one.id, phase=Phase.FAILED, failure=FailureClass.HANG)
    with reading(engine) as active:
        assert jobs.count_by_template(active, *HERE) == {"tune": 2, "eval": 1}
        mine, theirs = (figures.jobs_by_phase(active, tenant) for tenant in (HERE[0], OTHERS[0][0]))
    assert {(count.phase, count.failure): count.count for count in mine} == {
        (Phase.FAILED, FailureClass.HANG): 1,
        (Phase.PENDING, None): 2,
    }
    assert [(count.phase, count.count) for count in theirs] == [(Phase.PENDING, 1)]


def test_a_start_is_acknowledged_once(engine: Engine) -> None:
    first, second = add_job(engine, "a"), add_job(engine, "b", OTHERS[0], created_at=NOW + timedelta(seconds=1))
    with reading(engine) as active:
        assert [row.id for row in system.unacknowledged_starts(active, 10)] == [first.id, second.id]
        assert [row.id for row in system.unacknowledged_starts(active, 1)] == [first.id]
    with session(engine) as active:
        assert system.acknowledge_start(active, first.id, NOW)
        assert not system.acknowledge_start(active, first.id, NOW + timedelta(days=1))
        assert system.acknowledge_starts(active, [first.id, second.id], NOW) == 1
    with reading(engine) as active:
        assert system.unacknowledged_starts(active, 10) == []
        found = jobs.get(active, *HERE, first.id)
        assert found is not None
        assert found.start_acknowledged_at == NOW


def test_active_jobs_are_those_that_have_not_ended(engine: Engine) -> None:
    rows = sorted((add_job(engine, name) for name in "abc"), key=lambda row: row.id)
    _set(engine, rows[0].id, phase=Phase.FAILED, ended_at=NOW)
    with reading(engine) as active:
        assert [row.id for row in system.active_jobs(active, LOCAL_CLUSTER, 10)] == [rows[1].id, rows[2].id]
        assert [row.id for row in system.active_jobs(active, LOCAL_CLUSTER, 10, after=rows[1].id)] == [rows[2].id]


def _set(engine: Engine, job: str, **values: Any) -> None:
    with session(engine) as active:
        active.execute(update(JobRow).where(JobRow.id == job).values(**values))


def _id(row: JobRow | None) -> str | None:
    return row.id if row else None
