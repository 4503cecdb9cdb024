"""What the cluster benchmark stands on: a real API server, simulated nodes, a control plane, and a cluster's worker."""

import secrets
import sqlite3
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import yaml

from bench.cluster_witness import Witness, witness
from bench.harness import client, control_plane, processor, say
from tests.support.cluster import Namespace, TestCluster, running_cluster
from tests.support.cluster_worker import ClusterWorker, account, running_worker
from tests.support.polling import eventually
from tests.support.stack import Stack

NAME = "bench"
PODS = 4  # of a job
PLACE = "perdure.test/place"
RUN_FOR = "fake.perdure.dev/run-for"
CAPACITY = {"cpu": "32", "memory": "256Gi", "pods": "110"}
SUBMITTERS = 4  # threads that submit, on either side of the comparison
READY_WITHIN = 300.0
COMPILED = {"NUMBA_DISABLE_JIT": "0"}  # the scheduler's loops, as in production


@dataclass(frozen=True)
class Rig:
    stack: Stack
    cluster: TestCluster
    space: Namespace
    bare: Namespace  # of Jobs that no control plane knows
    worker: ClusterWorker
    kubeconfig: Path  # of the worker's own account
    witness: Witness
    place: str
    seconds: float | None  # that a pod runs; None: until it is told to end

    @property
    def state(self) -> Path:
        return self.cluster.cluster.layout.folder

    def document(self, name: str) -> dict[str, Any]:
        spec = {
            "command": ["python", "train.py"],
            "workdir": {"mode": "none"},
            "cluster": NAME,
            "nodes": PODS,
            "placement": {"nodeSelector": {PLACE: self.place}},
            "retry": {"limit": 3, "backoff": {"initial": "1s"}},
        }
        return {"apiVersion": "perdure/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}

    def submit(self, opened: httpx.Client, name: str) -> str:
        body = {"document": self.document(name)}
        response = opened.post("/jobs", json=body, headers={"Idempotency-Key": name})
        response.raise_for_status()
        identity: str = response.json()["id"]
        return identity

    def let_pods_end(self, after: str | None) -> None:
        """Later pods end by themselves so long after they began (a Go duration), or never."""
        before = self.rounds()
        body = {"document": cluster_document(self.space.name, after)}
        with client(self.stack) as opened:
            opened.put(f"/clusters/{NAME}", json=body).raise_for_status()
        eventually(lambda: self.rounds() > before, READY_WITHIN, "the worker serves with new settings")

    def rounds(self) -> int:
        """How often the worker has begun to serve."""
        return self.worker.log.read_text().count(f"working on cluster-{NAME}")

    def phases(self) -> dict[str, str]:
        """Every job's phase, straight from the database: asking costs the control plane nothing."""
        connection = sqlite3.connect(f"file:{self.stack.home / 'control.db'}?mode=ro", uri=True, timeout=30)
        try:
            return dict(connection.execute("SELECT id, phase FROM jobs").fetchall())
        finally:
            connection.close()

    def worker_memory(self) -> float:
        """MiB of the cluster's worker, shared pages counted once among those that share them."""
        return round(psutil.Process(self.worker.pid).memory_full_info().pss / 1024**2, 1)

    def processor(self) -> dict[str, float]:
        """Processor seconds of every process that takes part, the cluster's own servers included."""
        return processor(self.stack) | used_by({"cluster worker": self.worker.pid, **servers_of(self.cluster)})


class Slots:
    """So many at a time: `each(number)` begins one in a pool's thread, `over` is told how many have ended."""

    def __init__(self, at_once: int) -> None:
        self._free = threading.Semaphore(at_once)

    def fill(self, count: int, each: Callable[[int], None]) -> None:
        """Begin `count`, each as soon as a slot is free. Raises what one of them raised."""
        with ThreadPoolExecutor(SUBMITTERS) as pool:

            def begin(number: int) -> None:
                self._free.acquire()
                each(number)

            for _ in pool.map(begin, range(count)):
                pass

    def over(self, count: int = 1) -> None:
        if count:
            self._free.release(count)


def servers_of(cluster: TestCluster) -> dict[str, int]:
    """Name -> pid of every server of a cluster."""
    return {server.name: server.pid for server in cluster.cluster.servers.all()}


def used_by(pids: Mapping[str, int]) -> dict[str, float]:
    """Processor seconds that each of these processes has used so far."""
    times = {name: psutil.Process(pid).cpu_times() for name, pid in pids.items()}
    return {name: each.user + each.system for name, each in times.items()}


@contextmanager
def rig(
    nodes: int, seconds: float | None, capacity: Mapping[str, str] = CAPACITY, there: TestCluster | None = None
) -> Iterator[Rig]:
    """All of it, with so many nodes, and pods that run for `seconds`. `there`: a cluster that runs already, and stays.
    Of the rest nothing is left afterwards."""
    place = secrets.token_hex(4)
    with ExitStack() as held:
        say("starting the cluster")
        cluster = there or held.enter_context(running_cluster(real=False))
        say(f"adding {nodes} simulated nodes")
        held.enter_context(cluster.simulated_nodes(nodes, capacity, {PLACE: place}))
        space, bare = held.enter_context(cluster.namespace()), held.enter_context(cluster.namespace())
        say("starting the control plane and the cluster's worker")
        stack = held.enter_context(control_plane(**COMPILED))
        folder = stack.home.parent
        kubeconfig = held.enter_context(account(cluster, space, folder))
        file = folder / "cluster.yaml"
        file.write_text(yaml.safe_dump(cluster_document(space.name, None if seconds is None else f"{seconds:g}s")))
        stack.run("clusters", "add", NAME, "-f", str(file))
        worker = held.enter_context(running_worker(stack, NAME, kubeconfig))
        seen = held.enter_context(witness(cluster.cluster.layout.folder, space.name, folder))
        eventually(lambda: _known_nodes(stack) >= nodes, READY_WITHIN, "the control plane knows the nodes")
        try:
            yield Rig(stack, cluster, space, bare, worker, kubeconfig, seen, place, seconds)
        except BaseException:
            traceback.print_exc()  # what ends all this may fail as well, and would be all that is told
            raise


def cluster_document(namespace: str, run_for: str | None) -> dict[str, Any]:
    spec = {
        "namespace": namespace,
        "image": "perdure.test/train:1",
        "agentImage": "perdure.test/perdure:1",
        "storage": {"enabled": False},
        "pods": {"labels": {} if run_for is None else {RUN_FOR: run_for}},
    }
    return {"apiVersion": "perdure/v1", "kind": "Cluster", "metadata": {"name": NAME}, "spec": spec}


def _known_nodes(stack: Stack) -> int:
    connection = sqlite3.connect(f"file:{stack.home / 'control.db'}?mode=ro", uri=True, timeout=30)
    try:
        return int(connection.execute("SELECT count(*) FROM nodes").fetchone()[0])
    finally:
        connection.close()
