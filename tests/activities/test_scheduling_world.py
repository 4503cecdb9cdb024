"""A pool as it is kept between decisions is what the database would make of it, whatever happens in whatever order."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, text

from activities.adapters.pools import SqlPools
from activities.scheduling_facts import Turn
from activities.scheduling_round import Pool
from activities.scheduling_world import PoolWorld
from definitions.states import Phase
from tests.support.database import migrated
from tests.support.pool_rig import POOL, Rig, kind, simulated

ACTS = st.sampled_from(["wait", "wait", "begin", "end", "end", "leave", "cancel", "reprioritise", "decide", "decide"])
STEPS = st.lists(st.tuples(ACTS, st.integers(0, 7), st.integers(1, 9)), min_size=4, max_size=16)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with migrated(f"sqlite:///{tmp_path_factory.mktemp('pool')}/control.db", durable=False) as opened:
        yield opened


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_a_pool_that_is_kept_equals_one_that_is_built_anew(steps: list[tuple[str, int, int]], engine: Engine) -> None:
    _empty(engine)
    rig = Rig(
        engine,
        kind("ResourceFlavor", "h100", gpuType="H100"),
        kind("Queue", "all", usageHalfLife="1h"),
        kind("Queue", "research", parent="all", quotas={"gpus": {"guarantee": 8}}),
        kind("Queue", "production", parent="all", quotas={"gpus": {"limit": 24, "guarantee": 16}}),
        kind("PriorityClass", "urgent", value=10),
        simulated(4),
    )
    machine = Machine(rig)
    for act, which, amount in steps:
        machine.act(act, which, amount)
    rig.after(7)
    kept, anew = rig.activities._kept[POOL].world, built(rig).world
    assert picture(kept, rig.now) == picture(anew, rig.now)
    past = past_of(anew, rig.now)
    assert past_of(kept, rig.now) == {queue: pytest.approx(amounts, rel=1e-6) for queue, amounts in past.items()}


class Machine:
    """Jobs that wait, begin, end and leave in ways that jobs do."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.made = 0

    def act(self, act: str, which: int, amount: int) -> None:
        self.rig.now = self.rig.now.replace(microsecond=0)
        if act == "decide":
            self.rig.after(60 * amount)
        elif act == "wait":
            self._wait(which, amount)
        elif states := sorted(self.rig.states().items()):
            self._move(act, *states[which % len(states)])

    def _wait(self, which: int, amount: int) -> None:
        self.made += 1
        more: dict[str, Any] = {"timeout": f"{amount}0m"} if which % 3 else {}
        queue, of = ("research", "production")[which % 2], ("urgent", None, None)[amount % 3]
        nodes = 1 + amount % 4
        if which % 2:
            more["elastic"] = {"minNodes": 1, "maxNodes": nodes + which}
        self.rig.wait(f"job-{self.made}", 1 + which, queue=queue, of=of, priority=which, nodes=nodes, **more)

    def _move(self, act: str, job: str, state: str) -> None:
        row = self.rig.seen(job)
        if act == "reprioritise":
            self.rig.move(job, self.rig.phase(job), priority=(row.priority + 3) % 100)
        elif act == "cancel" and state == "waiting":
            self.rig.move(job, Phase.CANCELLED)
        elif act == "begin" and state == "placed" and self.rig.phase(job) is Phase.QUEUED:
            self.rig.move(job, Phase.STARTING)
        elif act == "end" and self.rig.phase(job).has_attempt:
            self.rig.move(job, Phase.SUCCEEDED)
        elif act == "leave" and state == "leaving" and self.rig.phase(job).has_attempt:
            self.rig.move(job, Phase.QUEUED)


def built(rig: Rig) -> Pool:
    pools = SqlPools(rig.engine, None, lambda: rig.now)
    news = pools.news(POOL, None, watched=True)
    return Pool(Turn(POOL, 0, 0), pools.whole(POOL), news, rig.now)


def past_of(pool: PoolWorld, now: datetime) -> dict[str, dict[str, float]]:
    return {rules.name: pool.world.usage.past(rules.name, int(now.timestamp())) for rules in pool.queues}


def picture(pool: PoolWorld, now: datetime) -> dict[str, Any]:
    """All else that a decision depends on. Of a start that has passed only that it has."""
    world, seconds = pool.world, int(now.timestamp())
    free = world.nodes
    queues = [rules.name for rules in pool.queues]
    return {
        "waiting": {job: world.waiting.request(number) for job, number in world.waiting.index.items()},
        "running": world.running,
        "free": (free.free_cpu.tolist(), free.free_memory.tolist(), free.free_gpu.tolist()),
        "used": {(name, what): world.quotas.used(name, what) for name in queues for what in world.quotas.resources},
        "promises": world.promises,
        "freeing": {job: replace(each, start=max(each.start, seconds)) for job, each in world.freeing.items()},
        "left": sorted((one.victim, one.beneficiary, one.at) for one in world.past),
        "print": pool.print,
        "positions": {job: (row.position, row.reason) for job, row in pool.rows.items()},
    }


def _empty(engine: Engine) -> None:
    """Tables that one example leaves behind."""
    tables = ("gangs", "pool_changes", "pools", "queue_use", "queue_past", "decisions", "outbox", "jobs")
    with engine.begin() as connection:
        for table in (*tables, "scheduling_documents"):
            connection.execute(text(f"DELETE FROM {table}"))
