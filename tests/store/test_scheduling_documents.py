"""Documents of the scheduler: kept with who changed them, told to every pool, and changed by one at a time."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from definitions.places import Ticket
from definitions.states import Phase
from store import pools
from store import scheduling_documents as documents
from store.engine import reading, session, transaction
from store.errors import BadCursor
from store.tables import JobRow
from tests.store.builders import HERE, NOW, OTHERS, add_job

LATER = NOW + timedelta(hours=1)


def queue(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "perdure/v1", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def put(engine: Engine, name: str, actor: str = "ada", **spec: Any) -> None:
    with session(engine) as active:
        documents.put(active, "Queue", name, queue(name, **spec), actor, NOW)


@pytest.fixture
def pool(engine: Engine) -> str:
    transaction(engine, lambda active: pools.take(active, "north"))
    return "north"


def told(engine: Engine) -> list[str]:
    """What the pool was told since the last time it was asked."""
    with reading(engine) as active:
        return [change.kind for change in pools.changes(active, "north")]


def test_another_document_is_a_new_generation_and_the_same_one_is_none(engine: Engine) -> None:
    put(engine, "research")
    for spec, generation in (({}, 1), ({"weight": 2.0}, 2)):
        with session(engine) as active:
            row = documents.put(active, "Queue", "research", queue("research", **spec), "grace", LATER)
            assert (row.generation, row.created_by, row.created_at) == (generation, "ada", NOW)
    assert (row.updated_by, row.updated_at, row.document["spec"]) == ("grace", LATER, {"weight": 2.0})


def test_every_pool_is_told_of_what_changed_and_of_nothing_else(engine: Engine, pool: str) -> None:
    put(engine, "research")
    put(engine, "research")
    assert told(engine) == ["documents"]
    with session(engine) as active:
        assert not documents.remove(active, "Queue", "other")
    assert told(engine) == ["documents"]
    with session(engine) as active:
        assert documents.remove(active, "Queue", "research")
    assert told(engine) == ["documents", "documents"]
    with reading(engine) as active:
        assert documents.get(active, "Queue", "research") is None


def test_documents_are_read_by_kind_and_name_and_paged_within_a_kind(engine: Engine) -> None:
    for name in ("b", "a", "c"):
        put(engine, name)
    flavor = {"kind": "ResourceFlavor", "metadata": {"name": "h100"}, "spec": {"gpuType": "H100"}}
    with session(engine) as active:
        documents.put(active, "ResourceFlavor", "h100", flavor, "ada", NOW)
    with reading(engine) as active:
        assert documents.every(active) == [queue("a"), queue("b"), queue("c"), flavor]
        first = documents.page(active, "Queue", limit=2)
        rest = documents.page(active, "Queue", limit=2, after=first.next)
        with pytest.raises(BadCursor):
            documents.page(active, "Queue", limit=2, after="nonsense")
    assert [[row.name for row in page.items] for page in (first, rest)] == [["a", "b"], ["c"]]


def test_a_change_that_was_checked_against_all_others_is_stored_before_any_other_is_checked(engine: Engine) -> None:
    """Eight add a queue each, and each only while there are fewer than three."""
    gate = threading.Barrier(8)

    def add(number: int) -> bool:
        gate.wait()

        def work(active: Session) -> bool:
            documents.lock(active)
            if len(documents.every(active)) >= 3:
                return False
            documents.put(active, "Queue", f"q{number}", queue(f"q{number}"), "ada", NOW)
            return True

        return transaction(engine, work)

    with ThreadPoolExecutor(8) as threads:
        assert sorted(threads.map(add, range(8))) == [False] * 5 + [True] * 3


def test_what_is_held_is_not_changed_before_the_holder_is_through(postgres_engine: Engine) -> None:
    put(postgres_engine, "research")
    order: list[str] = []
    removing = threading.Event()

    def remove() -> None:
        removing.set()
        with session(postgres_engine) as active:
            documents.lock(active)
            order.append("removed")

    with ThreadPoolExecutor(1) as threads:
        with session(postgres_engine) as one, session(postgres_engine) as other:
            documents.hold(one)
            documents.hold(other)  # any number at once
            waiting = threads.submit(remove)
            removing.wait()
            assert documents.get(one, "Queue", "research") is not None
            order.append("accepted")
        waiting.result()
    assert order == ["accepted", "removed"]


def test_jobs_with_a_ticket_are_counted_over_all_tenants_until_they_end(engine: Engine) -> None:
    ticket = Ticket(queue="research", priority_class="urgent").model_dump()
    rows = [add_job(engine, where=where, submission={"ticket": ticket}) for where in (HERE, *OTHERS)]
    add_job(engine, "elsewhere", submission={"ticket": Ticket(queue="other").model_dump()})
    add_job(engine, "without", submission={"ticket": None})
    add_job(engine, "older")
    with session(engine) as active:
        ended = active.get_one(JobRow, rows[0].id)
        ended.phase, ended.ended_at, ended.live_name = Phase.SUCCEEDED, NOW, None
    with reading(engine) as active:
        assert documents.jobs_with(active, queue="research") == 2
        assert documents.jobs_with(active, priority_class="urgent") == 2
        assert documents.jobs_with(active, queue="other", priority_class="urgent") == 0
        assert documents.jobs_with(active, queue="nobody") == 0
