"""The benchmark of gangs, small: on a real API server, each of its parts finds what must be so; and its counts are
right for what did not go well."""

from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest

from bench.cluster_witness import Sighting
from bench.gangs_against import is_admitted
from bench.gangs_bare import Ground, job
from bench.gangs_decisions import Round, decided, durable_at
from bench.gangs_pods import all_run_at, wholeness
from bench.gangs_preempt import preempt
from bench.gangs_restart import restart
from bench.gangs_rig import Field, field
from bench.gangs_throughput import throughput
from bench.harness import client
from tests.support.cluster import Namespace, TestCluster
from tests.support.polling import eventually

NODES, GANGS = 4, 4


@pytest.mark.kube
@pytest.mark.timeout(400)
def test_gangs_are_whole_the_quarter_is_freed_and_decisions_go_on_after_a_kill(kube_api: TestCluster) -> None:
    with field(NODES, 1.0, kube_api) as made:
        many = throughput(made, GANGS, 1.0)
        made.rig.let_pods_end(None)
        urgent = preempt(made)
        _end_all(made)
        again = restart(made, NODES)

    assert many["ours"]["wholeness"]["half_started"] == many["bare"]["wholeness"]["half_started"] == 0
    assert many["ours"]["decisions"]["placed"] == GANGS
    assert 0 < many["ours"]["useful_gpu_percent"] < many["ours"]["held_gpu_percent"] <= 100
    assert many["ours"]["queued_to_durable_seconds"]["min"] > 0
    assert (urgent["victims"], urgent["gang_pods"], urgent["others_that_went"]) == (1, 1, 0)
    assert 0 < urgent["victims_told_after_seconds"] < urgent["admitted_after_seconds"]
    assert 0 < again["first_decision_after_seconds"] <= again["first_placement_after_seconds"]
    assert again["hold_places"] == NODES


def _end_all(made: Field) -> None:
    """Whatever runs or waits is cancelled, so that the nodes are empty."""
    open_ones = [job for job, phase in made.rig.phases().items() if phase in ("Running", "Queued")]
    with client(made.rig.stack) as opened:
        for job in open_ones:
            opened.post(f"/jobs/{job}:cancel", headers={"Idempotency-Key": job}).raise_for_status()
    eventually(lambda: made.count(open_ones, "Cancelled") == len(open_ones), 60, "all are cancelled")


def _seen(*told: tuple[float, str, str]) -> list[Sighting]:
    return [Sighting(at, "g", pod, phase) for at, pod, phase in told]


@pytest.mark.parametrize(
    ("seen", "half", "apart"),
    [
        (_seen((1, "a", "Running"), (2, "b", "Running"), (6, "a", "Succeeded"), (7, "b", "Succeeded")), 0, 1.0),
        (_seen((1, "a", "Running"), (6, "a", "Succeeded"), (8, "b", "Running"), (9, "b", "Succeeded")), 1, 7.0),
        (_seen((1, "a", "Running"), (6, "a", "Succeeded")), 1, 0.0),
        (_seen((1, "a", "Running"), (3, "b", "Succeeded"), (4, "a", "Succeeded")), 0, 2.0),
        ([], 1, None),
    ],
)
def test_a_gang_is_half_started_when_one_pod_was_over_before_the_other_began(
    seen: list[Sighting], half: int, apart: float | None
) -> None:
    found = wholeness({"g": seen}, ["g"], 2)

    assert found["half_started"] == half
    assert (found["apart_seconds"] or {}).get("max") == apart


def test_a_gang_runs_when_its_last_pod_does() -> None:
    seen = _seen((1, "a", "Running"), (2, "b", "Pending"), (5, "b", "Running"), (6, "b", "Running"))

    assert all_run_at(seen[:2], 2) is None
    assert all_run_at(seen, 2) == 5


def test_decisions_are_counted_by_the_calls_that_placed_somebody_and_are_durable_at_their_end() -> None:
    made = [Round(10, 12, 1, 6, 0), Round(20, 21, 1, 0, 0), Round(30, 32, 2, 2, 1)]

    found = decided(made)

    assert (found["rounds"], found["placed"], found["placed_per_second"]) == (3, 8, 2.0)
    assert durable_at(Counter({"a": 1, "b": 2, "lost": 9}), made) == {"a": 12, "b": 32}


def test_jobs_of_a_controller_wait_until_it_lets_them_run_and_others_do_not() -> None:
    plain = Ground(Path(), Namespace("n", cast(Any, None)), "here")
    held = Ground(plain.state, plain.space, plain.place, {"queue": "q"})

    made, waits = job(plain, "a", 2, 5.0), job(held, "a", 2, None)

    assert (made["spec"]["suspend"], waits["spec"]["suspend"]) == (False, True)
    assert (made["metadata"]["labels"], waits["metadata"]["labels"]) == ({}, {"queue": "q"})
    labels = [each["spec"]["template"]["metadata"]["labels"] for each in (made, waits)]
    assert ["fake.perdure.dev/run-for" in each for each in labels] == [True, False]


@pytest.mark.parametrize(
    ("owner", "status", "admitted"), [("a", "True", True), ("b", "True", False), ("a", "False", False)]
)
def test_a_workload_is_admitted_when_it_is_of_the_job_and_says_so(owner: str, status: str, admitted: bool) -> None:
    conditions = [{"type": "QuotaReserved", "status": "True"}, {"type": "Admitted", "status": status}]
    workload = {"metadata": {"ownerReferences": [{"uid": owner}]}, "status": {"conditions": conditions}}

    assert is_admitted(workload, "a") is admitted
    assert not is_admitted({"metadata": {}}, "a")
