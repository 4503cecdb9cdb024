"""The score and its ties on a real trace: both decide how much of a cluster can be used, and neither may rot unseen."""

import pytest

from bench.openb_replay import replay
from bench.openb_trace import WORKLOADS, load_nodes, load_workload, published

SEED = 42


def test_one_seed_of_the_openb_trace_comes_out_as_published_and_better_with_our_score() -> None:
    workload, nodes = load_workload("default"), load_nodes(SEED)
    found = {policy: replay(workload, nodes, policy, SEED) for policy in ("FGD", "ours")}
    mean, deviation = published()["default", "FGD"]
    assert found["FGD"] == pytest.approx(mean, abs=3 * deviation)
    assert found["ours"] >= found["FGD"] + 0.3


def test_all_workloads_of_the_trace_are_there() -> None:
    assert {(name, policy) for name in WORKLOADS for policy in ("Random", "BestFit", "FGD")} <= set(published())
    assert len(load_nodes()) == 1213
    assert sum(node.gpus for node in load_nodes()) == 6212
    assert load_workload("gpuspec33").scoring(1.0, True).classes
