"""Decisions for a pool with reservations, on a real database: before, in and after their windows."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from definitions.cluster import NodeView
from definitions.reservation_calls import WindowVerb
from definitions.states import Phase
from tests.support.database import migrated
from tests.support.pool_rig import FLAVOR, START
from tests.support.reserved_rig import BEGINS, NAME, ReservedRig, reservation

KEPT = ["lab-0000", "lab-0001"]
OTHERS = {"lab-0002", "lab-0003"}
ENDS = BEGINS + timedelta(hours=2)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with migrated(database_url) as opened:
        yield opened


def test_a_scheduler_that_starts_again_keeps_the_nodes_of_windows(engine: Engine) -> None:
    rig = ReservedRig(engine, reservation(lead={"time": "30m"}))
    decided = rig.decide()
    (row,) = rig.windows()
    assert (row.nodes, row.short, row.version, row.phase) == (KEPT, None, 2, "upcoming")
    assert decided.wake_after == 90 * 60
    busy = [rig.wait(f"busy{number}", queue="others") for number in range(3)]
    assert rig.decide().placed == 3
    assert {node for job in busy for node in rig.nodes_of(job)} & set(KEPT)
    rig.activities = rig.another()
    rig.decide()
    assert [(each.nodes, each.version) for each in rig.windows()] == [(KEPT, 2)]


@pytest.mark.parametrize(
    ("lead", "time", "timeout", "starts"),
    [
        ({}, START, "1h", 4),  # what ends in time runs there meanwhile
        ({}, START, "3h", 2),
        ({"lead": {"time": "30m"}}, START, "30h", 4),  # the lead time has not begun
        ({"lead": {"time": "30m"}}, BEGINS - 20 * MINUTE, "10m", 4),
        ({"lead": {"time": "30m"}}, BEGINS - 20 * MINUTE, "30m", 2),
        ({"lead": {"time": "30m", "mode": "drain"}}, BEGINS - 20 * MINUTE, "10m", 2),
        ({}, BEGINS, "10m", 2),
        ({}, ENDS, "30h", 4),
    ],
)
def test_what_starts_on_the_nodes_of_a_window(
    lead: dict[str, Any], time: Any, timeout: str, starts: int, sqlite_url: str
) -> None:
    with migrated(sqlite_url) as engine:
        assert started(engine, lead, time, timeout) == starts


def started(engine: Engine, lead: dict[str, Any], time: Any, timeout: str) -> int:
    rig = ReservedRig(engine, reservation(**lead))
    rig.decide()
    for number in range(4):
        rig.wait(f"j{number}", queue="others", timeout=timeout, gracePeriod="0s")
    return rig.at(time).placed


def test_its_jobs_start_when_it_begins_and_strangers_leave_within_its_grace(engine: Engine) -> None:
    rig = ReservedRig(engine, reservation(lead={"time": "30m"}, grace="7m"))
    strangers = [rig.wait(f"s{number}", queue="others") for number in range(4)]
    own = [rig.wait(f"own{number}", within=NAME) for number in range(2)]
    rig.decide()
    assert {rig.seen(job).cause for job in own} == {"reservation"}
    for job in strangers:
        rig.runs(job)
    rig.at(BEGINS)
    gone = [job for job in strangers if rig.seen(job).state == "leaving"]
    assert sorted(node for job in gone for node in rig.nodes_of(job)) == KEPT
    told = {(fact.reason, fact.for_good, fact.within) for fact in rig.displaced()}
    assert told == {("the reservation night has begun on its nodes", False, 7 * MINUTE)}
    for job in gone:
        rig.move(job, Phase.COLLECTING)
        rig.move(job, Phase.QUEUED)
    rig.at(BEGINS + MINUTE)
    assert sorted(node for job in own for node in rig.nodes_of(job)) == KEPT
    assert [rig.seen(job).state for job in gone] == ["waiting", "waiting"]


@pytest.mark.parametrize(
    ("at_end", "told", "for_good"), [("suspend", 1, False), ("cancel", 1, True), ("keep", 0, False)]
)
def test_what_becomes_of_its_jobs_at_its_end(at_end: str, told: int, for_good: bool, engine: Engine) -> None:
    rig = ReservedRig(engine, reservation(atEnd=at_end))
    rig.decide()
    own = rig.wait("own", within=NAME)
    rig.at(BEGINS)
    rig.runs(own)
    assert rig.at(ENDS - MINUTE).told == 0
    assert rig.at(ENDS).told == told
    assert [(fact.reason, fact.for_good) for fact in rig.displaced()] == [("the reservation night is over", for_good)][
        :told
    ]
    assert rig.windows()[0].phase == ("ended" if at_end == "keep" else "draining")
    rig.move(own, Phase.COLLECTING)
    rig.move(own, Phase.CANCELLED if for_good else Phase.QUEUED)
    rig.at(ENDS + MINUTE)
    row = rig.windows()[0]
    assert (row.phase, rig.life().ended_at) == ("ended", ENDS if at_end == "keep" else ENDS + MINUTE)


def test_a_job_whose_reservation_is_over_for_good_is_told_so(engine: Engine) -> None:
    rig = ReservedRig(engine, reservation())
    late = rig.wait("late", within=NAME)
    rig.decide()
    assert (rig.seen(late).cause, rig.seen(late).start_at) == ("reservation", BEGINS)
    for number in range(4):  # which leave no room at all
        rig.wait(f"busy{number}", queue="others")
    rig.at(ENDS)
    rig.at(ENDS + MINUTE)
    row = rig.seen(late)
    assert row.cause == "reservation-over"
    assert row.reason is not None
    assert row.reason.startswith("reservation night is over for good")


def test_a_reservation_that_may_be_longer_keeps_its_nodes_for_so_long(engine: Engine) -> None:
    rig = ReservedRig(engine, reservation(extension={"most": "1h"}))
    rig.decide()
    own = rig.wait("own", within=NAME)
    rig.at(BEGINS)
    rig.runs(own)
    longer = ENDS + timedelta(hours=1)
    answers = [rig.ask(WindowVerb.EXTEND, request="r1", until=longer) for _ in "ab"]
    assert [(answer.ends_at, answer.denied) for answer in answers] == [(longer, "")] * 2
    refused = rig.ask(WindowVerb.EXTEND, until=longer + MINUTE)
    assert (refused.ends_at, refused.denied) == (None, "it is as long as it can be")
    assert rig.at(ENDS).told == 0
    assert rig.at(longer).told == 1


def test_an_extension_ends_where_the_next_window_of_the_same_nodes_begins(engine: Engine) -> None:
    rig = ReservedRig(engine, reservation(extension={"most": "3h"}))
    next_one = {"capacity": {"nodeNames": KEPT}, "start": "2026-11-29T17:00"}
    rig.reserve(reservation("evening", **next_one))
    rig.decide()
    refused = rig.ask(WindowVerb.EXTEND, until=ENDS + timedelta(hours=2))
    assert (refused.denied, refused.fix) == ("the new end is 1h later than it can be", "ask for at most 1h more")
    assert rig.ask(WindowVerb.EXTEND, until=ENDS + timedelta(hours=1)).denied == ""


def test_a_window_extends_itself_while_its_jobs_run(engine: Engine) -> None:
    rig = ReservedRig(engine, reservation(extension={"most": "1h", "automatic": True}))
    rig.decide()
    own = rig.wait("own", within=NAME, timeout="150m", gracePeriod="0s")
    rig.at(BEGINS)
    rig.runs(own)
    rig.at(ENDS - MINUTE)
    assert rig.windows()[0].ends_at == ENDS + timedelta(minutes=30)
    assert rig.at(ENDS).told == 0


def test_a_window_that_is_given_up_holds_nothing_and_sends_its_jobs_away(engine: Engine) -> None:
    rig = ReservedRig(engine, reservation(repeat={"frequency": "daily", "count": 2}))
    rig.decide()
    own = rig.wait("own", within=NAME)
    rig.at(BEGINS)
    rig.runs(own)
    assert rig.ask(WindowVerb.CANCEL).ends_at == BEGINS
    assert rig.ask(WindowVerb.CANCEL, 2).denied == ""
    assert rig.ask(WindowVerb.CANCEL, 3).denied == "it has no window of that number"
    assert rig.decide().told == 1
    endless = [rig.wait(f"e{number}", queue="others") for number in range(3)]
    rig.move(own, Phase.CANCELLED)
    assert rig.at(BEGINS + MINUTE).placed == len(endless)
    assert [row.phase for row in rig.windows()] == ["ended", "ended"]
    assert rig.ask(WindowVerb.CANCEL).denied == "the reservation is not there any more"


def test_a_document_that_is_removed_gives_its_nodes_back_when_its_jobs_have_gone(engine: Engine) -> None:
    rig = ReservedRig(engine, reservation())
    rig.decide()
    own = rig.wait("own", within=NAME)
    rig.at(BEGINS)
    rig.runs(own)
    rig.unreserve()
    assert rig.decide().told == 1
    rig.move(own, Phase.SUSPENDED)
    assert rig.keep().over
    assert rig.life().ended_at == BEGINS


def test_a_window_that_has_not_begun_goes_to_another_cluster_with_its_document(engine: Engine) -> None:
    rig = ReservedRig(engine, reservation())
    rig.decide()
    rig.reserve(reservation(cluster="north"))
    rig.decide("north")
    rig.decide()
    (row,) = rig.windows()
    assert (row.pool, row.nodes, row.short) == ("north", None, {"needed": 2, "free": 0})
    endless = [rig.wait(f"e{number}", queue="others") for number in range(4)]
    assert rig.decide().placed == len(endless)


def test_what_a_job_used_of_a_window_is_kept_from_its_places_to_its_end(engine: Engine) -> None:
    rig = ReservedRig(engine, reservation())
    rig.decide()
    own, other = rig.wait("own", gpus=4, within=NAME), rig.wait("other", queue="others")
    rig.at(BEGINS + MINUTE)
    rig.runs(own)
    (use,) = rig.uses()
    assert (use.job, use.tenant, use.since, use.until, use.nodes, use.gpus) == (
        own, "acme", BEGINS + MINUTE, None, 1, 4000,
    )  # fmt: skip
    rig.now += MINUTE
    rig.move(own, Phase.SUCCEEDED)
    assert [(use.job, use.until) for use in rig.uses()] == [(own, BEGINS + 2 * MINUTE)]
    assert rig.seen(other).state == "placed"


def test_a_lost_node_of_a_window_is_replaced_and_strangers_leave_the_new_one(engine: Engine) -> None:
    rig = ReservedRig(engine, reservation(cluster="north", capacity={"nodes": 2}))

    def node(name: str, *, ready: bool = True, at: int = 0) -> NodeView:
        seen = START + timedelta(seconds=at)
        return NodeView(
            cluster="north", name=name, ready=ready, schedulable=True, cpu_millis=64_000, memory=1 << 39, gpus=8,
            gpu_type="NVIDIA-H100", labels={}, seen_at=seen,
        )  # fmt: skip

    rig.apply(FLAVOR)
    rig.remove("NodePool", "lab")
    rig.nodes("north", node("n1"), node("n2"), node("n3"))
    rig.decide("north")
    assert rig.windows()[0].nodes == ["n1", "n2"]
    stranger = rig.wait("stranger", queue="others", cluster="north")
    rig.now = BEGINS
    rig.keep()
    rig.decide("north")
    rig.runs(stranger)
    rig.nodes("north", node("n2", ready=False, at=9))
    decided = rig.decide("north")
    assert (rig.windows()[0].nodes, decided.told) == (["n1", "n3"], 1)
    rig.nodes("north", node("n1", ready=False, at=10))
    rig.decide("north")
    row = rig.windows()[0]
    assert (row.nodes, row.short) == (["n1", "n3"], {"needed": 2, "free": 1})


def test_windows_keep_their_local_time_when_clocks_change(engine: Engine) -> None:
    daily = {"frequency": "daily", "count": 3}
    rig = ReservedRig(engine, reservation(start="2027-03-27T10:00", timeZone="Europe/Berlin", repeat=daily))
    rig.now = START + timedelta(days=100)
    rig.keep()
    hours = [(row.begins_at - rig.windows()[0].begins_at) / timedelta(hours=1) for row in rig.windows()]
    assert hours == [0, 23, 47]


def test_jobs_of_every_tenant_that_name_it_run_in_it_and_each_use_is_its_tenants(engine: Engine) -> None:
    rig = ReservedRig(engine, reservation(users={"queues": ["others"]}))
    rig.decide()
    jobs = [
        rig.wait(f"j-{tenant}", queue=queue, within=NAME, tenant=tenant)
        for tenant, queue in (("acme", "research"), ("globex", "others"))
    ]
    rig.at(BEGINS)
    assert sorted(node for job in jobs for node in rig.nodes_of(job)) == KEPT
    assert sorted((use.tenant, use.job) for use in rig.uses()) == [("acme", jobs[0]), ("globex", jobs[1])]


def test_reservations_of_one_name_by_two_tenants_have_lives_of_their_own(engine: Engine) -> None:
    rig = ReservedRig(engine, reservation())
    rig.at(BEGINS)
    rig.unreserve()
    rig.now += MINUTE
    rig.reserve(reservation(start="2026-11-29T14:30"), "globex")
    rig.decide()
    assert (rig.life().tenant, [row.nodes for row in rig.windows()]) == ("globex", [KEPT])
    before = rig.windows()
    assert rig.keep(NAME, "acme").over
    assert [(row.phase, row.version) for row in rig.windows()] == [(row.phase, row.version) for row in before]
