"""The first decision after a restart: a process that knows nothing builds a pool from the database, and decides.

Two pools, each in a database of its own. `running`: 5,000 nodes of 8 GPUs with 28 pods on each, and 2,000 gangs that
wait. `waiting`: 320,000 gangs of 2,000 shapes in 500 queues that wait for 1,000 empty nodes. The kernels were compiled
before; that the process starts and loads them is told apart from the decision.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session

from bench.harness import report, say
from definitions.cluster import NodeView
from definitions.ids import encode
from definitions.states import Mode, Phase
from policies.scheduling.asking import amounts_of
from store import clusters, scheduling_documents
from store.engine import open_engine, transaction
from store.migrate import upgrade
from store.tables_jobs import JobRow
from store.tables_scheduling import GangRow, QueueUseRow

GOAL = "the first decision in less than 5 s with 140,000 running pods; in less than 1.3 s with 320,000 waiting gangs"
NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
CLUSTER, GIB, PODS_OF_GANG = "big", 1 << 30, 4
ORGANISATIONS, DEPARTMENTS, TEAMS = 10, 10, 5
PART = 5_000  # rows of one statement
Rows = list[dict[str, Any]]


def main(words: Sequence[str]) -> int:
    options = _options(words)
    if options.decide is not None:
        print(json.dumps(_decided(options.decide)))
        return 0
    with TemporaryDirectory(prefix="perdure-bench-") as folder:
        found = {
            "running": _measured(Path(folder), "running", lambda session: _running(session, options)),
            "waiting": _measured(Path(folder), "waiting", lambda session: _waiting(session, options)),
        }
    report("restart", GOAL, {**found, "nodes": [options.nodes, options.waiting_nodes], "seed": options.seed})
    return 0


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench restart", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=28, help="running on each of them, a multiple of 4")
    parser.add_argument("--beside", type=int, default=2_000, help="gangs that wait beside those that run")
    parser.add_argument("--waiting", type=int, default=320_000, help="gangs that wait where nothing runs")
    parser.add_argument("--waiting-nodes", type=int, default=1_000)
    parser.add_argument("--shapes", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--decide", help=argparse.SUPPRESS)  # address of the database, in a process of its own
    return parser.parse_args(words)


def _measured(folder: Path, name: str, fill: Any) -> dict[str, Any]:
    """Fill a database, and let a new process decide twice: one that has to build the pool, and one that has it."""
    url = f"sqlite:///{folder / name}.db"
    upgrade(url)
    engine = open_engine(url, durable=False)
    made: dict[str, Any] = transaction(engine, fill)
    engine.dispose()
    say(f"{name}: {made}")
    begun = time.perf_counter()
    command = [sys.executable, "-m", "bench.restart", "--decide", url]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    whole = round(time.perf_counter() - begun, 3)
    say(f"{name}: first decision {told['first']['seconds']} s, the next {told['next']['seconds']} s")
    return {**made, **told, "process_seconds": whole}


def _decided(url: str) -> dict[str, Any]:
    begun = time.perf_counter()
    from activities.adapters.pools import SqlPools
    from activities.scheduling import SchedulerActivities
    from tests.support.kernels import compile_all
    from tests.support.pool_rig import Jobs

    compile_all()
    loaded = time.perf_counter() - begun
    engine = open_engine(url, durable=False)
    activities = SchedulerActivities(SqlPools(engine, None, lambda: NOW), Jobs(), lambda: NOW)
    rounds: list[dict[str, Any]] = []
    for _ in range(2):
        before, processor = time.perf_counter(), time.process_time()
        decided = activities.decide(CLUSTER)
        seconds = {
            "seconds": round(time.perf_counter() - before, 3),
            "processor_seconds": round(time.process_time() - processor, 3),
        }
        rounds.append({**seconds, "placed": decided.placed, "waiting": decided.waiting})
    engine.dispose()
    return {"loading_seconds": round(loaded, 3), "first": rounds[0], "next": rounds[1]}


def _running(session: Session, options: argparse.Namespace) -> dict[str, Any]:
    source = random.Random(options.seed)
    teams = _documents(session)
    _nodes(session, options.nodes)
    shapes = [_shape(PODS_OF_GANG, gpus, 2000, 8) for gpus in (1, 0, 0)]  # 8 GPUs of a node are used by a third of pods
    jobs: Rows = []
    gangs: Rows = []
    used: dict[tuple[str, str], int] = {}
    for block in range(options.nodes // PODS_OF_GANG):
        names = [_name(block * PODS_OF_GANG + number) for number in range(PODS_OF_GANG)]
        for slot in range(options.pods):
            shape = shapes[0] if slot < 8 else shapes[1]
            team = source.choice(teams)
            pods = [{"node": name, "devices": [slot] if slot < 8 else [], "simulated": False} for name in names]
            jobs.append(_job(len(jobs), Phase.RUNNING))
            amounts = amounts_of(shape, {})
            held = {"pods": pods, "amounts": {"path": _path(team), "of": amounts}, "placed_at": NOW, "state": "placed"}
            gangs.append(_gang(jobs[-1]["id"], team, shape) | held)
            for queue in _path(team):
                for resource, amount in amounts.items():
                    used[queue, resource] = used.get((queue, resource), 0) + amount
    for _ in range(options.beside):
        jobs.append(_job(len(jobs), Phase.QUEUED))
        gangs.append(_gang(jobs[-1]["id"], source.choice(teams), _shape(source.choice((1, 2, 8)), 8, 2000, 8)))
    _write(session, jobs, gangs)
    rows = [{"queue": queue, "resource": resource, "used": amount} for (queue, resource), amount in used.items()]
    session.execute(insert(QueueUseRow), rows)
    return {"running_pods": (len(jobs) - options.beside) * PODS_OF_GANG, "gangs_waiting": options.beside}


def _waiting(session: Session, options: argparse.Namespace) -> dict[str, Any]:
    source = random.Random(options.seed)
    teams = _documents(session)
    _nodes(session, options.waiting_nodes)
    shapes = []
    for number in range(options.shapes):
        pods, gpus = (source.randint(1, 16), 8) if number % 2 else (1, source.choice((1, 1, 2, 4)))
        shapes.append(_shape(pods, gpus, 1000 + number, 1 + number % 7))
    jobs = [_job(number, Phase.QUEUED) for number in range(options.waiting)]
    gangs = [
        _gang(job["id"], source.choice(teams), source.choice(shapes)) | {"priority": source.randrange(4)}
        for job in jobs
    ]
    _write(session, jobs, gangs)
    return {"gangs_waiting": len(gangs), "distinct_shapes": len(set(shapes)), "queues": len(teams)}


def _documents(session: Session) -> list[str]:
    """Queues of three levels; the names of the lowest."""
    scheduling_documents.lock(session)
    teams = []
    for organisation in range(ORGANISATIONS):
        _put(session, f"o{organisation}", None)
        for department in range(DEPARTMENTS):
            above = f"o{organisation}d{department}"
            _put(session, above, f"o{organisation}")
            for team in range(TEAMS):
                teams.append(f"{above}t{team}")
                _put(session, teams[-1], above)
    return teams


def _put(session: Session, name: str, parent: str | None) -> None:
    spec = {} if parent is None else {"parent": parent}
    document = {"apiVersion": "perdure/v1", "kind": "Queue", "metadata": {"name": name}, "spec": spec}
    scheduling_documents.put(session, "Queue", name, document, "bench", NOW)


def _path(team: str) -> list[str]:
    return [team, team.partition("t")[0], team.partition("d")[0]]


def _nodes(session: Session, count: int) -> None:
    views = [
        NodeView(
            cluster=CLUSTER, name=_name(number), ready=True, schedulable=True, cpu_millis=128_000, memory=1024 * GIB,
            gpus=8, gpu_type="H100", labels={"rack": f"r{number // 16}"}, seen_at=NOW,
        )
        for number in range(count)
    ]  # fmt: skip
    clusters.record_nodes(session, CLUSTER, views, ())


def _name(number: int) -> str:
    return f"n{number:05}"


def _shape(pods: int, gpus: int, cpu: int, gigabytes: int) -> str:
    role = {"name": "node", "count": pods, "cpu": cpu, "memory": gigabytes * GIB} | ({"gpus": gpus} if gpus else {})
    return json.dumps({"roles": [role]}, sort_keys=True, separators=(",", ":"))


def _job(number: int, phase: Phase) -> dict[str, Any]:
    return {
        "id": encode(number), "tenant": "acme", "project": "vision", "name": f"j{number}", "live_name": f"j{number}",
        "owner": "bench", "labels": {}, "mode": Mode.BATCH, "type": "training", "spec": {}, "spec_sha256": "0" * 64,
        "submission": {}, "seed": "0" * 32, "nodes": 1, "ranks": 1, "gpus": 0, "phase": phase, "reason": "",
        "attempt": int(phase is Phase.RUNNING), "event_count": 1, "generation": 1, "created_at": NOW,
        "start_acknowledged_at": NOW, "cluster": CLUSTER,
    }  # fmt: skip


def _gang(job: str, queue: str, shape: str) -> dict[str, Any]:
    asked = NOW - timedelta(hours=1)
    return {
        "job": job, "tenant": "acme", "project": "vision", "pool": CLUSTER, "queue": queue, "attempt": 1, "version": 1,
        "priority": 0, "limit_seconds": 3600, "shape": shape, "asked_at": asked, "state": "waiting",
        "pods": None, "amounts": None, "placed_at": None,
    }  # fmt: skip


def _write(session: Session, jobs: Rows, gangs: Rows) -> None:
    for table, rows in ((JobRow, jobs), (GangRow, gangs)):
        for part in _parts(rows):
            session.execute(insert(table), part)


def _parts(rows: Rows) -> Iterator[Rows]:
    for start in range(0, len(rows), PART):
        yield rows[start : start + PART]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
