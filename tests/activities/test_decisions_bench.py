"""The decisions benchmark, small: everybody is placed once, nothing is overrun, and what is overrun is told."""

import argparse
from typing import Any

import pytest

from bench.decisions import Rounds, arrivals, queue
from bench.decisions_world import LIMITED, Installation, faults
from store.tables_scheduling import GangRow
from tests.support.database import migrated

GANGS, NODES = 30, 20
SMALL = argparse.Namespace(running=4, arrivals=3)


@pytest.mark.parametrize("timeout", [None, "1h"])
def test_all_that_wait_are_placed_once_and_who_arrives_is_placed_at_once(
    database_url: str, timeout: str | None
) -> None:
    with migrated(database_url) as engine:
        installation = Installation(engine, NODES, timeout)
        of_queue = queue(Rounds(installation), GANGS)
        of_arrivals = arrivals(Rounds(installation), SMALL)

    assert of_queue["placed"] == of_queue["told"] == GANGS
    assert of_queue["rounds"] >= GANGS * 2 // NODES
    assert of_queue["faults"] == of_arrivals["faults"] == []
    assert of_arrivals["not_at_once"] == 0
    assert 0 < of_arrivals["milliseconds"]["min"] <= of_arrivals["milliseconds"]["p99"]


def _held(job: str, *nodes: str, queue: str = LIMITED, devices: int = 8) -> GangRow:
    pods: list[dict[str, Any]] = [{"node": node, "devices": list(range(devices))} for node in nodes]
    shape = '{"roles":[{"count":2,"cpu":16000,"memory":1024}]}'
    return GangRow(job=job, queue=queue, shape=shape, pods=pods)


@pytest.mark.parametrize(
    ("held", "gpus", "limit", "said"),
    [
        ((_held("a", "n1", "n2"), _held("b", "n3", "n4")), 32, 32, []),
        ((_held("a", "n1", "n2"), _held("b", "n2", "n3")), 32, 32, [f"GPU {n} of n2 is given twice" for n in range(8)]),
        ((_held("a", "n1"),), 8, 32, ["a has not all of its places"]),
        ((_held("a", "n1", "n2", devices=7),), 14, 32, ["a has not all of its places"]),
        ((_held("a", "n1", "n2"),), 16, 15, [f"queue {LIMITED} has 16 GPUs of 15"]),
        (
            (_held("a", "n1", "n2"),),
            8,
            32,
            [f"queue {LIMITED} counts 8 GPUs and has 16", "queue all counts 8 GPUs and has 16"],
        ),
    ],
)
def test_the_recount_tells_what_cannot_be(held: tuple[GangRow, ...], gpus: int, limit: int, said: list[str]) -> None:
    counters = {name: {"gpu": gpus * 1000} for name in (LIMITED, "all")}

    assert faults(held, {LIMITED: limit}, counters) == said
