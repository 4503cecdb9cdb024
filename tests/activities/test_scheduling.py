"""Decisions for a pool, on real databases: what they do to gangs, what jobs hear of it, and what comes in between."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from activities.adapters.pools import SqlPools
from activities.scheduling_facts import Turn
from definitions.places import Placed
from definitions.states import Phase
from store import decisions
from store.engine import reading
from store.verdicts import Committed, Verdict
from tests.store.scheduling import given, verdict
from tests.support.database import migrated
from tests.support.pool_rig import GPU, POOL, USUAL, Rig, kind


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with migrated(database_url) as opened:
        yield opened


@pytest.fixture
def rig(engine: Engine) -> Rig:
    """Four simulated nodes of 8 GPUs, and queue `research` below `all`."""
    return Rig(engine)


def test_a_gang_that_fits_gets_its_places_and_hears_of_them(rig: Rig) -> None:
    job = rig.wait("digits", nodes=2)
    decided = rig.decide()
    row = rig.seen(job)
    assert (decided.placed, decided.waiting, decided.wake_after) == (1, 0, None)
    assert (row.state, [pod["node"] for pod in row.pods or ()]) == ("placed", ["lab-0000", "lab-0001"])
    assert row.amounts is not None
    assert row.amounts["path"] == ["research", "all"]
    assert rig.used()["all"]["gpu/H100"] == 16 * GPU
    [message] = rig.jobs.told
    assert isinstance(message.fact, Placed)
    assert message.fact.attempt == 1
    assert all(pod.simulated for pod in message.fact.placement.pods)


def test_a_gang_that_does_not_fit_reads_why_and_when(rig: Rig) -> None:
    first, second = rig.wait("first", nodes=3, timeout="1h"), rig.wait("second", nodes=2)
    rig.decide()
    row = rig.seen(second)
    assert rig.seen(first).state == "placed"
    assert (row.state, row.position, row.cause) == ("waiting", 1, "no-room")
    assert row.reason == (
        "needs 16 GPUs, and 8 of 32 are free on nodes that it may be on; "
        "it starts at 2026-11-29 13:00:30 UTC at the latest"
    )
    assert (row.firm, row.start_at) == (True, rig.now + timedelta(hours=1, seconds=30))
    assert row.refusal is not None
    assert (row.refusal["needed"], row.refusal["free"], len(row.refusal["planned"])) == (16 * GPU, 8 * GPU, 2)


def test_what_is_given_back_starts_the_next_one(rig: Rig) -> None:
    first, second = rig.wait("first", nodes=4), rig.wait("second")
    rig.decide()
    rig.runs(first)
    assert rig.decide().placed == 0
    rig.move(first, Phase.SUCCEEDED)
    assert rig.after(5).placed == 1
    assert rig.told() == [f"placed {first}", f"placed {second}"]
    assert rig.used()["research"]["gpu"] == 8 * GPU


def test_a_quiet_pool_decides_nothing_and_writes_nothing(rig: Rig) -> None:
    rig.wait("digits", nodes=5)
    first = rig.decide()
    assert rig.changes() == 0
    assert [rig.after(60).decision for _ in range(3)] == [first.decision] * 3


def test_a_decision_can_be_read_later(rig: Rig) -> None:
    job, other = rig.wait("digits"), rig.wait("large", nodes=9)
    number = rig.decide().decision
    with reading(rig.engine) as session:
        row = decisions.get(session, POOL, number)
    assert row is not None
    document = row.document
    assert len(row.digest) == 32
    assert [(said["job"], said["queue"]) for said in document["placed"]] == [(job, "research")]
    assert [(said["job"], said["cause"]) for said in document["refused"]] == [(other, "fits-nowhere")]
    assert document["causes"] == {"fits-nowhere": 1}
    assert document["counts"] == {"nodes": 4, "running": 1, "waiting": 1, "promised": 0}


def test_more_important_work_displaces_and_gets_the_places_when_they_are_free(rig: Rig) -> None:
    rig.apply(kind("PriorityClass", "urgent", value=1000))
    low = rig.wait("low", nodes=4)
    rig.decide()
    rig.runs(low)
    high = rig.wait("high", nodes=4, of="urgent")
    assert rig.after(30).told == 1
    assert (rig.seen(low).state, rig.seen(low).leaves_for, rig.seen(high).cause) == ("leaving", high, "evicting")
    assert rig.told()[-1] == f"displaced {low}"
    worth = "it has priority 0 of class urgent, above priority 0 of no class"
    assert rig.seen(low).reason == f"job {high} gets its places: {worth}"
    rig.activities = rig.another()  # a new process knows as much
    assert rig.after(5).placed == 0
    rig.move(low, Phase.SUSPENDING)
    rig.move(low, Phase.QUEUED)
    assert rig.after(5).placed == 1
    assert (rig.seen(high).state, rig.seen(low).state) == ("placed", "waiting")


class Dies(Exception):
    """The process that decides is gone."""


class Interrupted(SqlPools):
    """Does something at a commit: dies before or after it, or lets the world go on first."""

    def __init__(self, rig: Rig, *, before: Any = None, after: Any = None) -> None:
        super().__init__(rig.engine, None, lambda: rig.now)
        self._before, self._after = before, after

    def commit(self, turn: Turn, verdict: Verdict, now: Any) -> Committed:
        for act in [self._before] if self._before else []:
            self._before = None
            act()
        done = super().commit(turn, verdict, now)
        for act in [self._after] if self._after else []:
            self._after = None
            act()
        return done


def interrupted(rig: Rig, **acts: Any) -> None:
    rig.activities._pools = Interrupted(rig, **acts)


def die() -> None:
    raise Dies


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_process_that_dies_at_its_commit_leaves_nothing_undone(when: str, rig: Rig) -> None:
    job = rig.wait("digits")
    interrupted(rig, **{when: die})
    with pytest.raises(Dies):
        rig.decide()
    assert rig.jobs.told == []
    assert rig.seen(job).state == ("waiting" if when == "before" else "placed")
    rig.activities = rig.another()
    rig.after(1)
    assert rig.told() == [f"placed {job}"]
    assert rig.used()["all"]["gpu"] == 8 * GPU


def test_a_job_that_could_not_be_told_is_told_with_the_next_decision(rig: Rig) -> None:
    job = rig.wait("digits")
    rig.jobs.away = True
    with pytest.raises(Exception, match="the engine is away"):
        rig.decide()
    rig.jobs.away = False
    assert rig.after(1).placed == 0
    assert rig.told() == [f"placed {job}"]
    rig.after(1)
    assert rig.told() == [f"placed {job}"]


def test_of_two_schedulers_at_once_the_older_one_writes_nothing(rig: Rig) -> None:
    job, other = rig.wait("digits"), rig.another()
    interrupted(rig, before=lambda: other.decide(POOL))
    with pytest.raises(Exception, match="overtaken"):
        rig.decide()
    assert rig.told() == [f"placed {job}"]
    assert rig.used()["all"]["gpu"] == 8 * GPU
    later = rig.wait("later")
    assert rig.after(1).placed == 1
    assert sorted(rig.states()) == sorted([job, later])


def test_schedulers_that_take_turns_know_what_the_other_one_did(rig: Rig) -> None:
    """Also of a round that removed changes and decided nothing."""
    schedulers = [rig.another(), rig.another()]
    first = rig.wait("first", nodes=4)
    schedulers[0].decide(POOL)
    schedulers[1].decide(POOL)
    rig.move(first, Phase.STARTING)
    rig.move(first, Phase.FAILED)
    schedulers[0].decide(POOL)
    second = rig.wait("second", nodes=4)
    assert schedulers[1].decide(POOL).placed == 1
    assert rig.states() == {second: "placed"}


def test_a_job_that_is_cancelled_while_it_is_decided_for_gets_nothing(rig: Rig) -> None:
    job = rig.wait("digits", nodes=4)
    interrupted(rig, before=lambda: rig.move(job, Phase.CANCELLED))
    decided = rig.decide()
    assert (decided.placed, decided.wake_after) == (0, 0.1)
    assert rig.told() == []
    assert rig.used() == {}
    other = rig.wait("other", nodes=4)
    assert rig.after(1).placed == 1
    assert rig.states() == {other: "placed"}


def test_a_victim_that_ends_by_itself_while_it_is_chosen_is_not_told(rig: Rig) -> None:
    rig.apply(kind("PriorityClass", "urgent", value=1000))
    low = rig.wait("low", nodes=4)
    rig.decide()
    rig.runs(low)
    high = rig.wait("high", nodes=4, of="urgent")
    interrupted(rig, before=lambda: rig.move(low, Phase.SUCCEEDED))
    rig.after(30)
    assert rig.after(1).placed == 1
    assert rig.told() == [f"placed {low}", f"placed {high}"]


def test_news_that_come_during_a_round_are_kept_for_the_next(rig: Rig) -> None:
    late: list[str] = []
    rig.wait("early")
    interrupted(rig, before=lambda: late.append(rig.wait("late")))
    assert rig.decide().placed == 1
    assert rig.changes() == 1
    assert rig.after(1).placed == 1
    assert rig.told()[-1] == f"placed {late[0]}"


def test_a_limit_that_another_pool_reached_first_is_kept(rig: Rig) -> None:
    """It was free when the decision was made. The next one knows what the other pool uses."""
    rig.apply(kind("Queue", "research", parent="all", quotas={"gpus": {"limit": 8}}))
    here = rig.wait("here")
    there = rig.job("there", cluster="north")

    def elsewhere() -> None:
        rig.move(there.id, Phase.QUEUED)
        claim = verdict(
            given=(given(rig.seen(there.id), amounts={"gpu": 8 * GPU}),), paths={"research": ("research", "all")}
        )
        pools = SqlPools(rig.engine)
        assert pools.commit(pools.take("north"), claim, rig.now).given

    interrupted(rig, before=elsewhere)
    assert rig.decide().placed == 0
    assert rig.after(1).placed == 0
    assert rig.seen(here).reason == "needs 8 GPUs, and queue research has 0 left of 8 GPUs that it may use"
    rig.move(there.id, Phase.CANCELLED)
    assert rig.after(1).placed == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (kind("Queue", "research", parent="all", stop="hold"), "queue research, or one above it, is stopped"),
        (kind("Queue", "all", quotas={"cpus": {"limit": 0}}), "needs 1 processor, and queue all has 0 left of 0"),
        (kind("Queue", "all"), ""),
    ],
)
def test_documents_that_change_hold_from_the_next_decision_on(change: dict[str, Any], reason: str, rig: Rig) -> None:
    rig.decide()
    rig.apply(change)
    job = rig.wait("digits")
    assert rig.decide().placed == (0 if reason else 1)
    assert (rig.seen(job).reason or "").startswith(reason)


def test_a_gang_of_a_queue_that_is_gone_waits_and_says_so(rig: Rig) -> None:
    job = rig.wait("digits")
    rig.remove("Queue", "research")
    assert rig.decide().placed == 0
    assert (rig.seen(job).reason or "").startswith("queue research is not there any more")
    rig.apply(USUAL[2])
    assert rig.after(1).placed == 1


def test_a_fault_between_documents_stops_decisions_until_it_is_mended(rig: Rig) -> None:
    job = rig.wait("digits")
    rig.remove("Queue", "all")
    with pytest.raises(Exception, match="documents cannot be used"):
        rig.decide()
    rig.apply(USUAL[1])
    assert rig.decide().placed == 1
    assert rig.told() == [f"placed {job}"]
