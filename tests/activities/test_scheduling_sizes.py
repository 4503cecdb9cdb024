"""Jobs of several sizes in a pool: they start as large as they can, grow when nobody waits, and give way by parts."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import Engine

from definitions.decision_record import DecisionRecord
from definitions.places import Displaced
from definitions.states import Phase
from store import decisions
from store.engine import reading
from tests.activities.test_scheduling_world import built, picture
from tests.support.database import migrated
from tests.support.pool_rig import GPU, POOL, Rig, kind, simulated

MINUTE, HOUR = 60, 3600
WIDE = {"minNodes": 1, "maxNodes": 4}


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with migrated(database_url) as opened:
        yield opened


@pytest.fixture
def rig(engine: Engine) -> Rig:
    return Rig(
        engine,
        kind("ResourceFlavor", "h100", gpuType="H100"),
        kind("Queue", "research", quotas={"gpus": {"limit": 32}}),
        kind("PriorityClass", "urgent", value=10),
        simulated(4),
    )


def size(rig: Rig, job: str) -> int:
    return len(rig.seen(job).pods or ())


def word(rig: Rig, job: str) -> Displaced:
    fact = [each.fact for each in rig.jobs.told if each.target.endswith(job)][-1]
    assert isinstance(fact, Displaced)
    return fact


def goes_on(rig: Rig, job: str) -> None:
    """It saves, stops, and is told of its next places."""
    for phase in (Phase.SUSPENDING, Phase.COLLECTING, Phase.QUEUED):
        rig.move(job, phase)
    rig.decide()
    rig.runs(job)


def at_two(rig: Rig) -> tuple[str, str]:
    """A job that asked for four nodes and runs on two, since another one has two."""
    other = rig.wait("other", nodes=2)
    rig.decide()
    rig.runs(other)
    wide = rig.wait("wide", nodes=4, elastic=WIDE)
    assert rig.decide().placed == 1
    rig.runs(wide)
    assert (size(rig, wide), rig.seen(wide).reason) == (2, "has 2 of its 4 places on 2 simulated nodes")
    return wide, other


def consistent(rig: Rig) -> None:
    kept, anew = rig.activities._kept[POOL].world, built(rig).world
    assert picture(kept, rig.now) == picture(anew, rig.now)


def test_a_job_that_started_small_grows_when_others_have_gone_and_it_has_been_left_alone_for_a_while(rig: Rig) -> None:
    wide, other = at_two(rig)
    rig.move(other, Phase.SUCCEEDED)
    decided = rig.after(MINUTE)
    assert (decided.told, decided.wake_after) == (0, 29 * MINUTE)
    decided = rig.after(29 * MINUTE)
    assert decided.told == 1
    fact = word(rig, wide)
    assert (fact.resizes, fact.attempt, fact.reason) == (True, 1, "grows from 2 to 4 nodes")
    assert (size(rig, wide), rig.used()["research"]["gpu"]) == (2, 32 * GPU)
    consistent(rig)
    with reading(rig.engine) as session:
        row = decisions.get(session, POOL, decided.decision)
        assert row is not None
        [grown] = DecisionRecord.model_validate(row.document).grown
    assert (grown.job, grown.before, grown.after) == (wide, 2, 4)
    rig.after(1)
    consistent(rig)
    goes_on(rig, wide)
    assert (size(rig, wide), rig.seen(wide).attempt, rig.used()["research"]["gpu"]) == (4, 2, 32 * GPU)
    consistent(rig)
    assert rig.after(HOUR).told == 0


def test_what_a_growing_job_will_have_is_given_to_nobody_else(rig: Rig) -> None:
    wide, other = at_two(rig)
    rig.move(other, Phase.SUCCEEDED)
    rig.after(HOUR)
    late = rig.wait("late", nodes=1)
    assert rig.decide().placed == 0
    rig.activities = rig.another()  # which knows only what is written
    assert rig.after(1).placed == 0
    goes_on(rig, wide)
    assert (size(rig, wide), rig.seen(late).state) == (4, "waiting")


def test_nobody_grows_while_somebody_waits_who_could_use_the_nodes(rig: Rig) -> None:
    wide, other = at_two(rig)
    waits = rig.wait("waits", nodes=4)
    rig.move(other, Phase.SUCCEEDED)
    assert rig.after(HOUR).told == 0
    assert (size(rig, wide), rig.seen(waits).state) == (2, "waiting")


def test_a_job_gives_up_what_it_has_above_its_smallest_size_for_one_of_a_higher_class(rig: Rig) -> None:
    wide = rig.wait("wide", nodes=4, elastic=WIDE)
    rig.decide()
    rig.runs(wide)
    urgent = rig.wait("urgent", nodes=2, of="urgent")
    assert rig.after(MINUTE).told == 1
    fact = word(rig, wide)
    assert fact.resizes
    assert fact.reason.startswith(f"shrinks from 4 to 2 nodes: job {urgent} gets its places")
    consistent(rig)
    assert rig.seen(urgent).cause == "evicting"
    with reading(rig.engine) as session:
        row = decisions.get(session, POOL, 2)
        assert row is not None
        [gone] = DecisionRecord.model_validate(row.document).told
    assert (gone.victim, gone.beneficiary, gone.keeps) == (wide, urgent, 2)
    goes_on(rig, wide)
    assert (size(rig, wide), rig.seen(wide).attempt) == (2, 2)
    assert (rig.seen(urgent).state, size(rig, urgent)) == ("placed", 2)
    assert rig.used()["research"]["gpu"] == 32 * GPU
    consistent(rig)


def test_a_size_that_could_not_be_committed_is_forgotten(rig: Rig) -> None:
    """The job ends between the decision and its commit: nothing is kept of what it was to get."""
    wide, other = at_two(rig)
    rig.move(other, Phase.SUCCEEDED)
    rig.now += timedelta(hours=1)
    pools = rig.activities._pools
    commit = pools.commit

    def late(*arguments: object) -> object:
        rig.move(wide, Phase.SUCCEEDED)
        pools.commit = commit  # type: ignore[method-assign]
        return commit(*arguments)  # type: ignore[arg-type]

    pools.commit = late  # type: ignore[method-assign,assignment]
    assert rig.decide().wake_after == 0.1
    assert (rig.gang(wide), rig.used()) == (None, {})
    rig.after(1)
    consistent(rig)
    assert rig.activities._kept[POOL].world.world.running == {}


@pytest.mark.parametrize("end", [Phase.SUCCEEDED, Phase.CANCELLED, Phase.SUSPENDED, Phase.BACKING_OFF])
def test_a_job_that_ends_on_the_way_leaves_all_of_both_sizes(rig: Rig, end: Phase) -> None:
    wide, other = at_two(rig)
    rig.move(other, Phase.SUCCEEDED)
    rig.after(HOUR)
    rig.move(wide, Phase.COLLECTING)
    rig.move(wide, end)
    late = rig.wait("late", nodes=4)
    assert rig.after(1).placed == 1
    assert size(rig, late) == 4
    consistent(rig)
