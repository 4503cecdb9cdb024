"""What happens to gangs in the event loop: limits, displacement, losses of nodes, and the account of GPU time."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.scheduling.model import Decision, Eviction, Node, Pod, Start
from simulator.baselines import BASELINES, Baseline, Easy, Fifo, StrictPriority
from simulator.loop import Outage, Ran, Rules
from simulator.outcome import outcome
from simulator.planner import Planner
from simulator.pool import Overbooked
from simulator.trace import Job
from tests.simulator.small import cluster, ends, job, ran, starts, trace


class Displacing(StrictPriority):
    """Displaces what runs for whatever comes with more priority."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        super().__init__(nodes)
        self.going: set[str] = set()

    def plan(self, now: int) -> Decision:
        decision = super().plan(now)
        if decision.starts or not self.waiting:
            return decision
        first = self.waiting[0].request
        victims = [
            one.id for one, _ in self._running.values() if one.priority < first.priority and one.id not in self.going
        ]
        return replace(decision, evictions=tuple(Eviction(victim, first.id, "priority", 0) for victim in victims))

    def apply(self, decision: Decision, now: int) -> None:
        self.going.update(eviction.victim for eviction in decision.evictions)
        super().apply(decision, now)

    def left(self, identity: str, now: int) -> None:
        self.going.discard(identity)
        super().left(identity, now)


def test_a_displaced_gang_saves_its_work_holds_its_nodes_while_it_leaves_and_comes_back_for_the_rest() -> None:
    found = ran(cluster(4), (job("a", 0, 4, 1000), job("b", 300, 4, 100, priority=1)), Displacing)
    assert starts(found) == {"a": 0, "b": 360}
    assert ends(found) == {"b": 460, "a": 1160}
    gang = found.ledger.gangs["a"]
    assert (gang.evictions, gang.lost, gang.held) == (1, 60 * 4000, 1060 * 4000)


def test_a_displaced_gang_has_of_its_limit_what_it_did_not_use() -> None:
    found = ran(cluster(4), (job("a", 0, 4, 1000, limit=500), job("b", 300, 4, 100, priority=1)), Displacing)
    assert ends(found) == {"b": 460, "a": 660}
    assert found.ledger.gangs["a"].stopped


def test_a_job_is_stopped_at_its_declared_limit() -> None:
    found = ran(cluster(4), (job("a", 0, 4, 1000, limit=400), job("b", 0, 4, 10)), Fifo)
    assert ends(found) == {"a": 400, "b": 410}
    assert outcome("fifo", trace(job("a", 0, 4, 1000, limit=400), job("b", 0, 4, 10)), found).stopped_at_limit == 1


def test_a_lost_node_takes_its_gang_back_to_the_last_checkpoint() -> None:
    found = ran(cluster(4), (job("a", 0, 4, 5000),), Fifo, outages=[Outage("n0", 4000, 5000)])
    gang = found.ledger.gangs["a"]
    assert (gang.losses, gang.lost, gang.end) == (1, 400 * 4000, 5000 + 1400)


def test_a_gang_over_two_nodes_goes_with_either_and_starts_where_there_is_room() -> None:
    jobs = (job("wide", 0, 4, 100, pods=2), job("small", 10, 4, 100))
    found = ran(cluster(4, 4, 4), jobs, Fifo, outages=[Outage("n1", 50, None)])
    assert ends(found) == {"small": 110, "wide": 210}


def test_a_node_that_is_lost_while_a_gang_leaves_it_ends_the_leaving() -> None:
    jobs = (job("a", 0, 4, 1000), job("b", 300, 4, 100, priority=1))
    found = ran(cluster(4), jobs, Displacing, outages=[Outage("n0", 320, 400)])
    assert starts(found)["b"] == 400
    assert found.ledger.gangs["a"].lost == 20 * 4000


def test_what_never_can_start_again_is_counted_and_ends_the_simulation() -> None:
    jobs = (job("a", 0, 4, 100),)
    found = ran(cluster(4), jobs, Fifo, outages=[Outage("n0", 50, None)])
    assert outcome("fifo", trace(*jobs), found).unfinished == 1


def test_a_planner_is_asked_again_and_again_while_gangs_wait_if_the_rules_say_so() -> None:
    jobs = (job("a", 0, 4, 1000), job("b", 0, 4, 10))
    assert ran(cluster(4), jobs, Fifo).rounds == 3  # the arrival of both, and two ends
    assert ran(cluster(4), jobs, Fifo, rules=Rules(round_every=100)).rounds == 12


class Wrong(Fifo):
    """Decides what no cluster could do."""

    pods: tuple[Pod, ...] = ()

    def plan(self, now: int) -> Decision:
        return Decision(starts=tuple(Start(each.request.id, self.pods) for each in self.waiting))

    def apply(self, decision: Decision, now: int) -> None:
        self.waiting.clear()


@pytest.mark.parametrize(
    ("pods", "error"),
    [
        ((Pod(0, "n0", (0, 1)), Pod(0, "n0", (1, 2))), Overbooked),  # a GPU twice
        ((Pod(0, "n0", (0, 0)), Pod(0, "n0", (1, 2))), Overbooked),
        ((Pod(0, "n0", (0,)), Pod(0, "n0", (1, 2))), Overbooked),  # a GPU too few
        ((Pod(0, "n0", (0, 1)), Pod(0, "n1", (0, 1))), Overbooked),  # a node that is not there
        ((Pod(0, "n0", (0, 1)),), ValueError),  # half of the gang
    ],
)
def test_a_planner_that_decides_what_cannot_be_is_stopped(pods: tuple[Pod, ...], error: type[Exception]) -> None:
    def make(nodes: Sequence[Node]) -> Planner:
        planner = Wrong(nodes)
        planner.pods = pods
        return planner

    with pytest.raises(error):
        ran(cluster(4, 4), (job("a", 1, 2, 10, pods=2),), make, outages=[Outage("n1", 0, None)])


def jobs_of(numbers: list[tuple[int, float, int, int, int, bool]]) -> list[Job]:
    return [
        job(
            f"j{at}",
            arrival,
            gpus,
            seconds,
            pods=pods,
            priority=priority,
            limit=max(1, seconds // 2) if short else seconds,
        )
        for at, (arrival, gpus, seconds, pods, priority, short) in enumerate(numbers)
    ]


def exactly(jobs: list[Job]) -> list[Job]:
    return [replace(each, request=replace(each.request, limit=each.seconds)) for each in jobs]


JOBS = st.lists(
    st.tuples(
        st.integers(0, 3000),
        st.sampled_from([0.25, 0.5, 1, 2, 4]),
        st.integers(1, 4000),
        st.integers(1, 2),
        st.integers(0, 2),
        st.booleans(),
    ),
    min_size=1,
    max_size=14,
).map(jobs_of)
OUTAGES = st.lists(st.integers(0, 6000), max_size=3, unique=True).map(
    lambda moments: [Outage("n1", at, at + 100) for at in moments]
)
MAKERS: dict[str, Callable[[Sequence[Node]], Baseline]] = {**BASELINES, "displacing": Displacing}


def summary(found: Ran) -> list[tuple[object, ...]]:
    return [
        (name, gang.first_start, gang.end, gang.held, gang.lost, gang.told, gang.runs)
        for name, gang in found.ledger.gangs.items()
    ]


@settings(max_examples=60, deadline=None)
@given(JOBS, OUTAGES, st.sampled_from(sorted(MAKERS)))
def test_gpu_time_that_was_held_was_work_or_was_lost(jobs: list[Job], outages: list[Outage], policy: str) -> None:
    found = ran(cluster(4, 4), jobs, MAKERS[policy], outages=outages)
    for gang in found.ledger.gangs.values():
        worked = min(gang.job.seconds, gang.job.request.limit or gang.job.seconds)
        assert gang.held == gang.gpus * worked + gang.lost
        assert gang.end is not None
    assert (found.ledger.pool.gpus == 1000).all()
    assert found.ledger.used == 0


@settings(max_examples=20, deadline=None)
@given(JOBS, OUTAGES, st.sampled_from(sorted(MAKERS)))
def test_the_same_inputs_give_the_same_run(jobs: list[Job], outages: list[Outage], policy: str) -> None:
    runs = [ran(cluster(4, 4), jobs, MAKERS[policy], outages=outages) for _ in range(2)]
    assert summary(runs[0]) == summary(runs[1])
    assert runs[0].series.fragmented == runs[1].series.fragmented


@settings(max_examples=60, deadline=None)
@given(JOBS.map(exactly))
def test_easy_starts_nobody_later_than_it_first_promised_when_times_are_exact(jobs: list[Job]) -> None:
    for gang in ran(cluster(4, 4), jobs, Easy).ledger.gangs.values():
        if gang.told:
            assert gang.first_start is not None
            assert gang.first_start <= gang.told[0][1].start
