"""What the journal tells the scheduler: a gang's row is there exactly while its job waits or may run, whatever comes
twice, late or in between."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, func, select

from activities.adapters.journal import SqlJournal
from activities.job import entry
from definitions.attempt import RankState, StoppedBy
from definitions.facts import Launched, TimerFired, Verb
from definitions.job_state import JobState
from definitions.places import PlacedPod, Ticket
from definitions.states import Phase
from policies.lifecycle import begin
from store import gangs, pools, queue_use
from store.engine import reading, transaction
from store.tables_jobs import JobRow
from store.tables_scheduling import GangRow, PoolChangeRow
from store.verdicts import Given, Verdict
from tests.store.builders import NOW, add_job, document, state_of
from tests.support.database import migrated
from tests.support.jobs import after, asked, displaced, due, ended, places, rank

PATH = ("research", "all")
LOST = rank(0, state=RankState.LOST, exit_code=None, node_lost=True)
STOPPED = rank(0, exit_code=None, signal=15, stopped_by=StoppedBy.REQUEST)
LATER = NOW + timedelta(hours=1)


class World:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.journal = SqlJournal(engine)
        spec = document(resources={"cpus": 2}, queue="research", timeout="1h")
        self.row = add_job(engine, spec=spec)
        fresh = state_of(self.row).model_copy(
            update={"phase": Phase.PENDING, "attempt": 0, "ref": None, "started_at": None, "event_count": 0}
        )
        ticket = Ticket(queue="research", priority=10, priority_class="batch")
        self.fresh = fresh.model_copy(update={"ticket": ticket, "timeout": timedelta(hours=1)})

    def write(self, state: JobState) -> JobState:
        self.journal.write(entry(state))
        return state

    def gang(self) -> GangRow | None:
        with reading(self.engine) as active:
            return active.get(GangRow, self.row.id)

    def used(self) -> dict[str, dict[str, int]]:
        with reading(self.engine) as active:
            return queue_use.used(active)

    def news(self) -> int:
        with reading(self.engine) as active:
            return active.scalar(select(func.count()).select_from(PoolChangeRow)) or 0

    def give(self, state: JobState) -> JobState:
        """Decide as the scheduler does, and let the job hear of it."""
        gang = self.gang()
        assert gang is not None
        pods = (PlacedPod(node="n1"),)
        given = Given(gang.job, gang.version, gang.attempt, pods, {"cpu": 2000}, "there is room")
        verdict = Verdict(digest="d", given=(given,), paths={"research": PATH}, limits={})

        def decide(session: Any) -> None:
            token = pools.take(session, "local")
            at = pools.get(session, "local")
            assert at is not None
            done = pools.commit(session, "local", token, at.decision, verdict, NOW)
            assert done.given == {gang.job}

        transaction(self.engine, decide)
        heard = after(state, places(state, "n1", asked_at=gang.asked_at))
        assert heard.phase is Phase.STARTING
        return after(self.write(heard), Launched(attempt=heard.attempt, at=NOW))


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    with migrated(database_url) as opened:
        yield World(opened)


def test_a_job_that_waits_asks_for_what_its_document_says(world: World) -> None:
    world.write(begin(world.fresh, NOW).state)
    gang = world.gang()
    assert gang is not None
    assert (gang.pool, gang.queue, gang.state, gang.attempt) == ("local", "research", "waiting", 1)
    assert (gang.priority, gang.priority_class, gang.asked_at) == (10, "batch", NOW)
    assert gang.limit_seconds == 3600 + 30  # and the time that a stop takes
    assert json.loads(gang.shape)["roles"][0]["cpu"] == 2000
    assert world.news() == 1


def test_a_job_without_a_ticket_asks_for_nothing(world: World) -> None:
    world.write(begin(world.fresh.model_copy(update={"ticket": None}), NOW).state)
    assert world.gang() is None
    assert world.news() == 0


def test_a_repeat_and_an_older_state_change_nothing_of_the_places(world: World) -> None:
    waits = world.write(begin(world.fresh, NOW).state)
    running = world.write(world.give(waits))
    before = world.gang(), world.news(), world.used()
    for state in (waits, running, waits):
        world.write(state)
    gang = world.gang()
    assert gang is not None
    assert before[0] is not None
    assert (gang.state, gang.version, gang.pods) == (
        "placed",
        before[0].version,
        [PlacedPod(node="n1").model_dump(mode="json")],
    )
    assert (world.news(), world.used()) == before[1:]
    assert world.used() == {"research": {"cpu": 2000}, "all": {"cpu": 2000}}


# What happens to a running job -> whether it waits afterwards.
ENDS: dict[str, tuple[Any, bool]] = {
    "displaced": (lambda state: ended(after(state, displaced(state)), STOPPED), True),
    "suspended": (lambda state: ended(after(state, asked(Verb.SUSPEND)), STOPPED), False),
    "cancelled": (lambda state: ended(after(state, asked(Verb.CANCEL)), STOPPED), False),
    "lost a node": (lambda state: ended(state, LOST), False),
    "done": (lambda state: ended(state, rank(0)), False),
}


@pytest.mark.parametrize("how", ENDS)
def test_places_are_given_back_with_the_record_of_the_collected_attempt_and_not_before(world: World, how: str) -> None:
    play, waits = ENDS[how]
    running = world.write(world.give(world.write(begin(world.fresh, NOW).state)))
    stopping = after(running, displaced(running)) if how == "displaced" else running
    world.write(stopping)
    assert world.used()["all"] == {"cpu": 2000}
    world.write(play(running))
    assert world.used() == {}
    gang = world.gang()
    if not waits:
        assert gang is None
        return
    assert gang is not None
    assert (gang.state, gang.attempt, gang.pods, gang.amounts) == ("waiting", 2, None, None)


def test_a_retried_attempt_asks_again_and_names_the_node_that_failed_it(world: World) -> None:
    running = world.write(world.give(world.write(begin(world.fresh, NOW).state)))
    failed = world.write(ended(running, LOST))
    world.write(after(failed, TimerFired(), at=due(failed)))
    gang = world.gang()
    assert gang is not None
    assert (gang.state, gang.attempt, gang.asked_at) == ("waiting", 2, due(failed))
    assert json.loads(gang.shape)["roles"][0]["where"]["avoid"] == ["node-0"]


def test_a_pinned_job_asks_for_its_nodes_alone(world: World) -> None:
    pinned = world.fresh.model_copy(update={"pin": True})
    running = world.write(world.give(world.write(begin(pinned, NOW).state)))
    failed = world.write(ended(running, LOST.model_copy(update={"started_at": NOW})))
    world.write(after(failed, TimerFired(), at=due(failed)))
    gang = world.gang()
    assert gang is not None
    assert json.loads(gang.shape)["roles"][0]["where"] == {"nodes": ["node-0"]}


def test_a_new_priority_and_more_time_reach_the_scheduler(world: World) -> None:
    waits = world.write(begin(world.fresh, NOW).state)
    more = asked(Verb.EXTEND, "r2", extend_by=timedelta(hours=1))
    world.write(after(waits, asked(Verb.REPRIORITISE, priority=90), more))
    gang = world.gang()
    assert gang is not None
    assert (gang.priority, gang.limit_seconds, gang.state) == (90, 7200 + 30, "waiting")
    assert gang.asked_at == NOW  # it keeps its turn among equals


def test_places_decided_while_the_job_was_suspended_are_not_held_and_not_taken_up(world: World) -> None:
    """The decision falls between the person's word and its record; the job waits again before it hears of it."""
    waits = world.write(begin(world.fresh, NOW).state)
    late = places(waits, "n1")
    world.give(waits)  # committed, and on its way
    world.write(waits)
    suspended = world.write(after(waits, asked(Verb.SUSPEND)))
    assert (world.gang(), world.used()) == (None, {})
    again = world.write(after(suspended, asked(Verb.RESUME, "r2"), at=LATER))
    assert after(again, late, at=LATER) == again
    gang = world.gang()
    assert gang is not None
    assert (gang.state, gang.asked_at) == ("waiting", LATER)
    with reading(world.engine) as active:
        assert active.get_one(JobRow, world.row.id).phase is Phase.QUEUED


def test_gangs_of_a_pool_are_found_by_it(world: World) -> None:
    world.write(begin(world.fresh, NOW).state)
    with reading(world.engine) as active:
        assert [gang.job for gang in gangs.rows(active, "local")] == [world.row.id]
        assert gangs.rows(active, "north") == []
