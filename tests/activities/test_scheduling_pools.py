"""What a pool is made of: nodes of clusters, this machine, jobs without a ticket, other pools, checkpoints."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from activities.adapters.pools import SqlPools
from activities.scheduling_facts import Turn
from activities.scheduling_round import Pool
from definitions.cluster import NodeTaint, NodeView, TakenByOthers
from definitions.states import Phase
from store.engine import transaction
from store.tables_jobs import AttemptRow, CheckpointRow, JobRow
from tests.activities.test_scheduling_world import picture
from tests.support.database import migrated
from tests.support.pool_rig import FLAVOR, GPU, START, Rig, kind

NORTH = "north"
QUEUE = kind("Queue", "research")
RACKS = kind("Topology", "hall", levels=[{"name": "rack", "nodeLabel": "example.org/rack"}])


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with migrated(database_url) as opened:
        yield opened


@pytest.fixture
def rig(engine: Engine) -> Rig:
    return Rig(engine, FLAVOR, QUEUE)


def node(name: str, cluster: str = NORTH, **changes: Any) -> NodeView:
    values: dict[str, Any] = dict(
        ready=True, schedulable=True, cpu_millis=64_000, memory=1 << 39, gpus=8, gpu_type="NVIDIA-H100",
        labels={"zone": "a"}, seen_at=START,
    )  # fmt: skip
    return NodeView(cluster=cluster, name=name, **values | changes)


def placed_on(rig: Rig, job: str) -> list[str]:
    return [pod["node"] for pod in rig.seen(job).pods or ()]


def test_nodes_of_a_cluster_take_jobs_by_any_word_for_their_gpus(rig: Rig) -> None:
    rig.nodes(NORTH, node("n1"), node("n2", gpu_type="A100"))
    job = rig.wait("digits", cluster=NORTH)
    assert rig.decide(NORTH).placed == 1
    assert placed_on(rig, job) == ["n1"]
    assert rig.used()["research"]["gpu/H100"] == 8 * GPU
    assert [message.target for message in rig.jobs.told] == [f"job/acme/{job}"]


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"ready": False}, "no-room"),
        ({"schedulable": False, "taints": (NodeTaint(key="node.kubernetes.io/unschedulable"),)}, "no-room"),
        ({"taints": (NodeTaint(key="node.kubernetes.io/memory-pressure"),)}, "no-room"),
        ({"taints": (NodeTaint(key="dedicated", value="others"),)}, "fits-nowhere"),
        ({"taints": (NodeTaint(key="dedicated", effect="PreferNoSchedule"),)}, None),
        ({"gpus": 4}, "fits-nowhere"),
    ],
)
def test_a_node_that_takes_no_pods_gets_none(changes: dict[str, Any], cause: str | None, rig: Rig) -> None:
    rig.nodes(NORTH, node("n1", **changes))
    job = rig.wait("digits", cluster=NORTH)
    rig.decide(NORTH)
    assert rig.seen(job).cause == cause


def test_a_node_with_a_soft_taint_is_taken_last(rig: Rig) -> None:
    rig.nodes(NORTH, node("n1", taints=(NodeTaint(key="worn", effect="PreferNoSchedule"),)), node("n2"))
    jobs = [rig.wait(f"j{number}", cluster=NORTH) for number in range(2)]
    assert rig.decide(NORTH).placed == 2
    assert [placed_on(rig, job) for job in jobs] == [["n2"], ["n1"]]


def test_a_node_that_joins_or_changes_is_known_at_the_next_decision(rig: Rig) -> None:
    job = rig.wait("digits", cluster=NORTH)
    rig.nodes(NORTH, node("n1", ready=False))
    assert rig.decide(NORTH).placed == 0
    rig.nodes(NORTH, node("n1", seen_at=START + timedelta(seconds=1)))
    assert rig.after(5, NORTH).placed == 1
    other = rig.wait("other", cluster=NORTH)
    assert rig.after(5, NORTH).placed == 0
    rig.nodes(NORTH, node("n2", seen_at=START + timedelta(seconds=2)))
    assert rig.after(5, NORTH).placed == 1
    assert (placed_on(rig, job), placed_on(rig, other)) == (["n1"], ["n2"])


def test_a_node_that_goes_out_of_service_and_comes_back_takes_nothing_meanwhile(rig: Rig) -> None:
    """The pool is kept: only what the node is open for has changed."""
    rig.nodes(NORTH, node("n1"))
    rig.decide(NORTH)
    kept, outcomes = rig.activities._kept[NORTH], []
    for second, schedulable in enumerate((False, False, True), 1):
        rig.nodes(NORTH, node("n1", schedulable=schedulable, seen_at=START + timedelta(seconds=second)))
        assert rig.changes(NORTH) == 1, "the pool is woken"
        if second == 2:
            rig.wait("digits", cluster=NORTH)
        outcomes.append(rig.after(5, NORTH).placed)
    assert outcomes == [0, 0, 1]
    assert rig.activities._kept[NORTH] is kept


def test_what_runs_on_a_node_that_is_gone_holds_its_quota_until_it_is_known_to_be_gone(rig: Rig) -> None:
    rig.nodes(NORTH, node("n1"), node("n2"))
    first = rig.wait("first", cluster=NORTH)
    rig.decide(NORTH)
    rig.runs(first)
    rig.nodes(NORTH, gone=placed_on(rig, first))
    second = rig.wait("second", cluster=NORTH, nodes=2)
    rig.after(5, NORTH)
    assert (rig.seen(second).cause, rig.used()["research"]["gpu"]) == ("fits-nowhere", 8 * GPU)
    rig.move(first, Phase.FAILED)
    rig.after(5, NORTH)
    assert rig.used() == {}


def test_mig_slices_of_a_node_are_given_by_profile(rig: Rig) -> None:
    slices = {"nvidia.com/mig-2g.20gb": "3", "nvidia.com/gpu": "0"}
    rig.nodes(NORTH, node("n1", gpus=0, allocatable=slices))
    jobs = [rig.job(f"j{n}", cluster=NORTH, resources={"gpus": 2, "gpuType": "mig-2g.20gb"}).id for n in range(2)]
    for job in jobs:
        rig.move(job, Phase.QUEUED)
    assert rig.decide(NORTH).placed == 1
    waiting = next(job for job in jobs if rig.seen(job).state == "waiting")
    refusal = rig.seen(waiting).refusal
    assert refusal is not None
    sevenths = 285  # two of a GPU, in 1/1000
    assert (refusal["cause"], refusal["needed"], refusal["free"]) == ("no-room", 2 * sevenths, sevenths)


def test_a_gang_stays_within_a_domain_of_the_only_topology(rig: Rig) -> None:
    rig.apply(RACKS)
    rig.nodes(NORTH, *(node(f"n{n}", labels={"example.org/rack": f"r{n % 2}"}) for n in range(4)))
    near = {"topology": {"required": "rack"}}
    pair, three = (rig.wait(f"of-{n}", cluster=NORTH, nodes=n, placement=near) for n in (2, 3))
    rig.decide(NORTH)
    assert sorted(placed_on(rig, pair)) in (["n0", "n2"], ["n1", "n3"])
    assert (rig.seen(three).cause, rig.seen(three).firm) == ("fits-nowhere", None)


def test_levels_come_from_the_node_pool_that_has_the_nodes(rig: Rig) -> None:
    halls = kind("Topology", "other", levels=[{"name": "rack", "nodeLabel": "hall"}])
    rig.apply(RACKS, halls, kind("NodePool", "a", nodeSelector={"zone": "a"}, topology="other"))
    rig.nodes(NORTH, *(node(f"n{n}", labels={"zone": "a", "hall": f"h{n % 2}"}) for n in range(4)))
    job = rig.wait("pair", cluster=NORTH, nodes=2, placement={"topology": {"required": "rack"}})
    rig.decide(NORTH)
    assert sorted(placed_on(rig, job)) in (["n0", "n2"], ["n1", "n3"])


def test_this_machine_is_the_node_of_local_jobs_where_no_nodes_are_simulated(rig: Rig) -> None:
    rig.activities = rig.another(node("here", "local", gpus=2))
    small, large = rig.wait("small", 2), rig.wait("large", 3)
    assert rig.decide().placed == 1
    assert (placed_on(rig, small), rig.seen(large).cause) == (["here"], "fits-nowhere")


@pytest.mark.parametrize("seen", [True, False])
def test_a_job_that_runs_without_a_ticket_keeps_its_room(seen: bool, rig: Rig) -> None:
    rig.nodes(NORTH, node("n1"))
    stray = rig.job("stray", cluster=NORTH, resources={"gpus": 6, "gpuType": "H100"}, timeout="1h")
    transaction(rig.engine, lambda session: begin(session, stray.id, ["n1"] if seen else []))
    job = rig.wait("digits", 4, cluster=NORTH)
    rig.decide(NORTH)
    row = rig.seen(job)
    assert (row.cause, row.start_at) == ("no-room", START + timedelta(hours=1, seconds=30))
    assert rig.used() == {}
    transaction(rig.engine, lambda session: finish(session, stray.id))
    assert rig.after(5, NORTH).placed == 0  # nobody tells of it: it is looked at every ten seconds
    assert rig.after(6, NORTH).placed == 1


def test_an_elastic_job_without_a_ticket_takes_the_nodes_that_it_has_and_keeps_its_size(rig: Rig) -> None:
    """It asked for three nodes, and a person made it smaller; a fourth one would be free for it."""
    rig.nodes(NORTH, *(node(f"n{number}") for number in range(4)))
    sizes: dict[str, Any] = {"nodes": 3, "elastic": {"minNodes": 1, "maxNodes": 4}}
    stray = rig.job("stray", cluster=NORTH, resources={"gpus": 8, "gpuType": "H100"}, **sizes)
    transaction(rig.engine, lambda session: begin(session, stray.id, ["n1", "n2"]))
    job = rig.wait("digits", nodes=2, cluster=NORTH)
    assert rig.decide(NORTH).placed == 1
    assert placed_on(rig, job) == ["n0", "n3"]
    rig.move(job, Phase.SUCCEEDED)
    assert rig.after(3600, NORTH).told == 0


def test_pools_share_their_queues(rig: Rig) -> None:
    """What another pool uses counts against the limit here, and its nodes count for what there is."""
    rig.apply(kind("Queue", "research", quotas={"gpus": {"limit": 12}}))
    rig.nodes(NORTH, node("n1"), node("n2"))
    rig.nodes("south", node("s1", "south"))
    here, there = rig.wait("here", cluster=NORTH), rig.wait("there", cluster="south")
    assert [rig.decide(pool).placed for pool in (NORTH, "south")] == [1, 0]
    assert rig.seen(there).reason == "needs 8 GPUs, and queue research has 4 left of 12 GPUs that it may use"
    rig.move(here, Phase.CANCELLED)
    assert rig.after(1, "south").placed == 1
    assert rig.activities._kept["south"].world.world.quotas.capacity("gpu") == 24 * GPU


def test_of_two_victims_the_one_that_has_saved_goes(rig: Rig) -> None:
    rig.apply(kind("PriorityClass", "urgent", value=10))
    rig.nodes(NORTH, node("n1"), node("n2"))
    jobs = [rig.wait(name, cluster=NORTH) for name in ("one", "two")]
    rig.decide(NORTH)
    for job in jobs:
        rig.runs(job)
    rig.now += timedelta(hours=1)
    transaction(rig.engine, lambda session: save(session, jobs[1], rig))
    rig.wait("high", cluster=NORTH, of="urgent")
    rig.decide(NORTH)
    assert [rig.seen(job).state for job in jobs] == ["placed", "leaving"]


def begin(session: Session, job: str, nodes: list[str]) -> None:
    row = session.get_one(JobRow, job)
    row.phase, row.attempt, row.started_at = Phase.RUNNING, 1, START
    ranks = [{"rank": rank, "node": name} for rank, name in enumerate(nodes)]
    session.add(
        AttemptRow(
            tenant=row.tenant,
            project=row.project,
            job=job,
            number=1,
            token="t",
            started_at=START,
            reason="",
            counted=True,
            nodes=[],
            last_lines=[],
            ranks=ranks,
            event_count=1,
        )
    )


def finish(session: Session, job: str) -> None:
    row = session.get_one(JobRow, job)
    row.phase, row.ended_at = Phase.SUCCEEDED, START


def save(session: Session, job: str, rig: Rig) -> None:
    row = session.get_one(JobRow, job)
    session.add(
        CheckpointRow(
            tenant=row.tenant,
            project=row.project,
            job=job,
            folder="checkpoints/1",
            step=1,
            token="t",
            attempt=1,
            complete=True,
            problem="",
            bytes=1,
            files=1,
            metrics={},
            saved_at=rig.now,
            verified_at=rig.now,
        )
    )


def others(gpus: int = 0, cpu_millis: int = 0, pods: int = 1) -> TakenByOthers:
    return TakenByOthers(pods=pods, cpu_millis=cpu_millis, gpus=gpus)


def test_what_pods_of_others_take_is_given_to_nobody_until_they_have_gone(rig: Rig) -> None:
    rig.nodes(NORTH, node("n1", others=others(gpus=2)), node("n2", others=others(cpu_millis=63_900)))
    job = rig.wait("digits", 7, cluster=NORTH)
    assert rig.decide(NORTH).placed == 0
    assert rig.seen(job).cause == "no-room"
    small = rig.wait("small", 6, cluster=NORTH)
    assert rig.after(5, NORTH).placed == 1
    assert (rig.seen(small).pods or [])[0]["devices"] == [2, 3, 4, 5, 6, 7]
    kept = rig.activities._kept[NORTH]
    rig.nodes(NORTH, node("n2", seen_at=START + timedelta(seconds=1)))
    assert rig.after(5, NORTH).placed == 1
    assert placed_on(rig, job) == ["n2"]
    assert rig.activities._kept[NORTH] is kept
    assert rig.used()["research"]["gpu"] == 13 * GPU


def test_pods_of_others_that_come_to_a_full_node_take_what_is_given_back_there(rig: Rig) -> None:
    rig.nodes(NORTH, node("n1"))
    first = rig.wait("first", 8, cluster=NORTH)
    rig.decide(NORTH)
    rig.runs(first)
    rig.nodes(NORTH, node("n1", others=others(gpus=1), seen_at=START + timedelta(seconds=1)))
    rig.after(5, NORTH)
    rig.move(first, Phase.SUCCEEDED)
    second, third = rig.wait("second", 8, cluster=NORTH), rig.wait("third", 7, cluster=NORTH)
    assert rig.after(5, NORTH).placed == 1
    assert (placed_on(rig, second), placed_on(rig, third)) == ([], ["n1"])


def test_pods_of_others_on_a_node_that_nothing_of_ours_tolerates_do_no_harm(rig: Rig) -> None:
    taint = NodeTaint(key="node-role.kubernetes.io/control-plane")
    rig.nodes(NORTH, node("n0", taints=(taint,), others=others(gpus=8, pods=9)), node("n1"))
    job = rig.wait("digits", cluster=NORTH)
    assert rig.decide(NORTH).placed == 1
    assert placed_on(rig, job) == ["n1"]


def test_a_kept_pool_has_others_on_the_same_gpus_as_one_that_is_built_anew(rig: Rig) -> None:
    rig.nodes(NORTH, node("n1", others=others(gpus=1)), node("n2"))
    rig.decide(NORTH)
    first, second = rig.wait("first", 3, cluster=NORTH), rig.wait("second", 2, cluster=NORTH)
    rig.after(5, NORTH)
    for job in (first, second):
        rig.runs(job)
    rig.nodes(NORTH, node("n1", others=others(gpus=2), seen_at=START + timedelta(seconds=1)))
    rig.after(5, NORTH)
    rig.move(first, Phase.SUCCEEDED)
    rig.after(5, NORTH)
    kept = rig.activities._kept[NORTH].world
    pools = SqlPools(rig.engine, None, lambda: rig.now)
    anew = Pool(Turn(NORTH, 0, 0), pools.whole(NORTH), pools.news(NORTH, None, watched=True), rig.now).world
    assert picture(kept, rig.now) == picture(anew, rig.now)
    assert (len(kept.others), kept.world.running["others/n1"].pods[0].devices) == (1, (0, 1))
