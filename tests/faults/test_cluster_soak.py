"""Jobs on simulated nodes while the API server is the worst that a cluster's worker could meet: 0 lost, 0 double, 0
stray objects.

A proxy between both does to every verb all that networks and servers do. What really happened is read from the API
server: a watch of its pods, its events and its audit log. PERDURE_SOAK_JOBS makes it longer (200 take about twice as
long), PERDURE_SOAK_SEED another one.
"""

import json
import os
import random
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from temporalio.client import WorkflowExecutionStatus

from tests.faults.test_soak import workflow_statuses
from tests.support.chaos_plans import Evenly
from tests.support.chaos_proxy import ChaosProxy, chaos_proxy
from tests.support.cluster import Namespace, TestCluster
from tests.support.cluster_audit import ClusterAuditor
from tests.support.cluster_worker import account, add_simulated_cluster, running_worker
from tests.support.polling import eventually
from tests.support.simulated_trainers import Place, Trainers
from tests.support.stack import Stack, running_stack

JOBS = int(os.environ.get("PERDURE_SOAK_JOBS", "100"))
SEED = int(os.environ.get("PERDURE_SOAK_SEED", "20260101"))
MUCH = 1200.0  # seconds
NAME = "north-1"
PLACE = "perdure.test/place"
NODES, CAPACITY = 5, {"cpu": "96", "memory": "512Gi", "pods": "110"}
AT_ONCE = 32  # jobs that are not over
GANGS, FAILING = 0.25, 0.15  # shares: of jobs with two pods, of pods that fail
LAST = 3  # attempt in which no pod fails: the same failure three times in a row would be taken for the job's own
CHANCES = {"create": 0.12, "get": 0.12, "list": 0.3, "patch": 0.12, "delete": 0.15, "watch": 1.0}
LATE = 3  # requests of each verb that come to the server after they were given up
RETRIES = {"limit": 20, "backoff": {"initial": "200ms", "max": "1s"}, "rules": {"user-error": 20, "signal": 20}}
TIMING = {"PERDURE_SAFETY_POLL": "5s"}

pytestmark = [pytest.mark.kube, pytest.mark.timeout(1500)]


class Job(NamedTuple):
    name: str
    nodes: int


class Soaked(NamedTuple):
    """A control plane whose cluster is only heard through the proxy."""

    stack: Stack
    space: Namespace
    proxy: ChaosProxy
    place: str


def test_no_job_is_lost_doubled_or_left_behind_by_an_api_server_on_a_bad_day(
    kube_api: TestCluster, tmp_path: Path
) -> None:
    with soaked(kube_api, tmp_path) as field:
        trainers = Trainers(kube_api, field.space, SEED, FAILING, LAST)
        trainers.start()
        ids, views = run(field, plans(JOBS), trainers)
        auditor = ClusterAuditor(kube_api, field.space)
        eventually(lambda: not auditor.strays(), 60, "nothing of any job is left in the cluster")
        trainers.close()
        report(field.proxy, trainers, views)
        assert trainers.error is None, trainers.error
        audit(field.stack, auditor, trainers, ids, views)
        assert faults_that_were_never_done(field.proxy) == []


@contextmanager
def soaked(cluster: TestCluster, folder: Path) -> Iterator[Soaked]:
    place = secrets.token_hex(4)
    with (
        running_stack(folder / "home", **TIMING) as stack,
        cluster.namespace() as space,
        cluster.simulated_nodes(NODES, CAPACITY, {PLACE: place}),
        account(cluster, space, folder) as direct,
        chaos_proxy(cluster.url, certificate=cluster.certificate) as proxy,
    ):
        proxy.plan = Evenly(SEED, CHANCES, LATE, proxy.did)
        add_simulated_cluster(stack, NAME, folder, space)
        token = json.loads(direct.read_text())["users"][0]["user"]["token"]
        with running_worker(stack, NAME, proxy.kubeconfig(folder / "through-faults", token)):
            yield Soaked(stack, space, proxy, place)


def plans(count: int) -> list[Job]:
    dice = random.Random(SEED)
    return [Job(f"soak-{number:04d}", 2 if dice.random() < GANGS else 1) for number in range(count)]


def run(field: Soaked, jobs: list[Job], trainers: Trainers) -> tuple[dict[Job, str], dict[str, dict[str, Any]]]:
    """Submit one whenever another is over. Returns ids, and every job as the control plane shows it at the end."""
    ids: dict[Job, str] = {}

    def over() -> bool:
        assert trainers.error is None, trainers.error
        for job in jobs[len(ids) : len(ids) + AT_ONCE - field.stack.unfinished()]:
            ids[job] = submit(field, job)
        return len(ids) == len(jobs) and field.stack.unfinished() == 0

    eventually(over, MUCH, "all jobs are over")
    return ids, all_jobs(field.stack)


def submit(field: Soaked, job: Job) -> str:
    spec = {
        "command": ["python", "train.py"],
        "cluster": NAME,
        "nodes": job.nodes,
        "placement": {"nodeSelector": {PLACE: field.place}},
        "retry": RETRIES,
        "gracePeriod": "1s",
    }
    return field.stack.submit(spec, name=job.name)


def all_jobs(stack: Stack) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    cursor: str | None = None
    while True:
        given = {"limit": 200, **({"cursor": cursor} if cursor else {})}
        page = stack.ask("GET", "/jobs", params=given).json()
        found |= {view["name"]: view for view in page["items"]}
        cursor = page["next"]
        if cursor is None:
            return found


def audit(
    stack: Stack,
    auditor: ClusterAuditor,
    trainers: Trainers,
    ids: dict[Job, str],
    views: dict[str, dict[str, Any]],
) -> None:
    """Every pod that had to be was there once, came to the end that was thrown for it, and no other one was made."""
    wanted = {job.name: trainers.attempts(*job) for job in ids}
    places = [
        Place(job.name, attempt, index)
        for job in ids
        for attempt in range(1, wanted[job.name] + 1)
        for index in range(job.nodes)
    ]
    assert {name: view["reason"] for name, view in views.items() if view["phase"] != "Succeeded"} == {}
    assert trainers.beside == []
    assert trainers.made == dict.fromkeys(places, 1)
    assert trainers.ended == {place: trainers.fate(place).code for place in places}
    assert auditor.attempts_of_all() == {name: list(range(1, last + 1)) for name, last in wanted.items()}
    made = {job.name: dict.fromkeys(range(1, wanted[job.name] + 1), job.nodes) for job in ids}
    assert auditor.pods_made_of_all() == made
    assert {name: view["attempt"] for name, view in views.items()} == wanted
    statuses = workflow_statuses(stack)
    own = {name: status for name, status in statuses.items() if name.startswith("job/")}
    assert own == {f"job/default/{job}": WorkflowExecutionStatus.COMPLETED for job in ids.values()}


def report(proxy: ChaosProxy, trainers: Trainers, views: dict[str, dict[str, Any]]) -> None:
    done: dict[str, dict[str, int]] = {}
    for (verb, fault), count in sorted(proxy.did.items()):
        done.setdefault(verb, {})[fault] = count
    asked = {verb: sum(request.verb == verb for request in tuple(proxy.requests)) for verb in CHANCES}
    pods = {"made": sum(trainers.made.values()), "failed": sum(code != 0 for code in trainers.ended.values())}
    print(json.dumps({"seed": SEED, "jobs": len(views), "pods": pods, "requests": asked, "faults": done}))


def faults_that_were_never_done(proxy: ChaosProxy) -> list[tuple[str, str]]:
    return [(verb, fault.name) for verb in CHANCES for fault in Evenly.faults(verb) if not proxy.did[verb, fault.name]]
