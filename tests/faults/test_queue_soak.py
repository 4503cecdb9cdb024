"""Jobs of all sizes in a tree of queues while the control plane is killed at random: no place is ever used twice.

Every half second the auditor looks at the processes of the jobs, and compares what they use with what there is, with
the limits, and with what the tables say of that very moment: the difference is 0. PERDURE_SOAK_SEED makes another one.
"""

import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Any

import pytest
from temporalio.client import WorkflowExecutionStatus

from tests.faults.test_soak import workflow_statuses
from tests.support import place_audit, place_books
from tests.support.audit import Auditor, shims
from tests.support.killer import CONTROL_PLANE, Killer
from tests.support.place_audit import Asked, House
from tests.support.polling import eventually
from tests.support.stack import FINAL, Stack, running_stack

SEED = int(os.environ.get("PERDURE_SOAK_SEED", "20260101"))
PAUSE = (2.0, 4.0)  # seconds between two kills, long enough for most of the jobs to get anywhere
LOOK_EVERY = 0.5  # seconds
LAUNCH = 5.0  # seconds within which all nodes of a gang are there, or none: they pass one gate, and end by themselves
ARRIVALS = 20.0  # seconds
LONG = 600.0  # seconds: until somebody ends it
RETRY = {"limit": 40, "backoff": {"initial": "200ms", "max": "1s"}, "rules": {"user-error": 1}}
KINDS = {"plain": 10, "urgent": 6, "retried": 4, "failing": 2, "cancelled": 3, "suspended": 3, "raised": 2}
ENDINGS = {"failing": "Failed", "cancelled": "Cancelled"}  # all others succeed

HOUSE = House(
    nodes=tuple(f"lab-{number:04d}" for number in range(4)),
    cpus=8,
    gpus=4,
    parents={"all": None, "research": "all", "production": "all"},
    limits={"all": {"gpus": 14, "cpus": 24}, "research": {"gpus": 12, "cpus": 20}, "production": {"gpus": 12}},
)
GUARANTEED = {"research": 4, "production": 8}

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]


@dataclass(frozen=True)
class Plan:
    """One job: what it asks for, when it comes, how long its processes work, and what becomes of it."""

    name: str
    kind: str
    asked: Asked
    after: float  # seconds
    lasts: float  # seconds
    pauses: tuple[float, float]  # seconds until it is cancelled, suspended or raised; and until it is resumed
    saving: float  # seconds that it takes to save when it has to go

    @property
    def ending(self) -> str:
        return ENDINGS.get(self.kind, "Succeeded")


class Watch(Thread):
    """The auditor: looks until `done` is set, and keeps what was wrong."""

    def __init__(self, stack: Stack, plans: dict[str, Asked]) -> None:
        super().__init__(name="watch", daemon=True)
        self.done = Event()
        self.error: BaseException | None = None
        self.wrongs: list[str] = []
        self.looks = 0
        self.seen: set[str] = set()  # names of jobs of which a process was seen
        self.busiest = 0  # GPUs in use at one moment
        self.longest_half = 0.0  # seconds
        self.widest = 0.0  # seconds from the start of a look to the end of the next: what lasts longer was seen
        self._stack = stack
        self._plans = plans
        self._half: dict[tuple[str, int], float] = {}

    def run(self) -> None:
        began = monotonic()
        try:
            while not self.done.wait(LOOK_EVERY):
                before, began = began, monotonic()
                self._look()
                self.widest = max(self.widest, monotonic() - before)
        except BaseException as error:  # an auditor that died unseen would find nothing wrong
            self.error = error

    def _look(self) -> None:
        """What lives before and after the books were read lived at the moment of which they tell."""
        processes = place_audit.look(self._stack.home)
        books = place_books.read(self._stack.home / "control.db")
        pods = place_audit.confirmed(processes)
        self.looks += 1
        self.seen |= {pod.name for pod in pods}
        self.busiest = max(self.busiest, sum(len(pod.devices) for pod in pods))
        found = place_audit.wrongs(HOUSE, self._plans, pods)
        found += books.wrongs(HOUSE, self._plans)
        found += [f"{pod} runs where nothing is held for it" for pod in sorted(pods - books.held)]
        found += self._halves(place_audit.half(self._plans, pods))
        self.wrongs += [f"look {self.looks}: {what}" for what in found]

    def _halves(self, half: set[tuple[str, int]]) -> Iterator[str]:
        now = monotonic()
        self._half = {gang: self._half.get(gang, now) for gang in half}
        for (name, attempt), since in self._half.items():
            self.longest_half = max(self.longest_half, now - since)
            if now - since > LAUNCH:
                yield f"attempt {attempt} of {name} is half there for {now - since:.1f} s"


def test_no_place_is_used_twice_and_no_limit_passed_while_the_control_plane_dies(tmp_path: Path) -> None:
    with running_stack(tmp_path / "home", PERDURE_HEARTBEAT="3s", PERDURE_SWEEP="1s") as stack:
        applied = stack.ask("POST", "/scheduling-documents:apply", json={"documents": documents()})
        assert applied.status_code == 200, applied.text
        soak(stack, Auditor(tmp_path / "marks"))


def soak(stack: Stack, auditor: Auditor) -> None:
    plans = planned()
    watch = Watch(stack, {plan.name: plan.asked for plan in plans})
    killer = Killer(stack, auditor, SEED, PAUSE, most=1000, victims=CONTROL_PLANE)
    watch.start()
    killer.start()
    try:
        with ThreadPoolExecutor(len(plans)) as pool:
            jobs = dict(zip(plans, pool.map(lambda plan: run(stack, auditor, plan), plans), strict=True))
        eventually(lambda: stack.unfinished() == 0, 300, "every job over")
    finally:
        killer.done.set()
        killer.join(60)
        watch.done.set()
        watch.join(60)
    attempts = {plan: stack.items(job, "attempts") for plan, job in jobs.items()}
    failures = Counter(entry["failure"] for entries in attempts.values() for entry in entries if entry["failure"])
    numbers = {"seed": SEED, "kills": killer.kills, "looks": watch.looks, "most GPUs": watch.busiest}
    numbers |= {"seen": len(watch.seen), "widest": watch.widest, "half": watch.longest_half}
    print(json.dumps({**numbers, "failures": failures, "in": killer.by_phase()}))
    assert (killer.error, watch.error) == (None, None)
    assert watch.wrongs == []
    judge(stack, auditor, jobs)
    met(watch, killer, attempts, failures)


def judge(stack: Stack, auditor: Auditor, jobs: dict[Plan, str]) -> None:
    """Every job came to the end that was wanted, nothing is held or runs any more, and nobody was started twice."""
    for plan, job in jobs.items():
        over = stack.job(job)
        assert over["phase"] == plan.ending, (plan, over["phase"], over["reason"])
    eventually(lambda: place_books.read(stack.home / "control.db").empty(), 30, "nothing held, and no news")
    assert {plan.name: doubles for plan in jobs if (doubles := auditor.doubles(plan.name))} == {}
    eventually(lambda: not auditor.orphans(), 10, "no process of any job left")
    eventually(lambda: not shims(stack.home), 10, "no supervisor left")
    statuses = workflow_statuses(stack)
    assert statuses.pop("pool/local", WorkflowExecutionStatus.RUNNING) == WorkflowExecutionStatus.RUNNING
    assert statuses == {f"job/default/{job}": WorkflowExecutionStatus.COMPLETED for job in jobs.values()}


def met(watch: Watch, killer: Killer, attempts: dict[Plan, list[dict[str, Any]]], failures: Counter[str]) -> None:
    """It was no walk in the park: all was seen, jobs were displaced and failed, and everything was killed."""
    lasting = {plan.name for plan in attempts if plan.ending == "Succeeded" and watch.widest < plan.lasts < LONG}
    assert lasting <= watch.seen
    assert len(watch.seen) >= len(attempts) / 2
    assert watch.busiest >= 10
    assert failures["preempted"] >= 1
    assert all(killer.kills[victim] >= 2 for victim in CONTROL_PLANE), killer.kills
    for plan, entries in attempts.items():
        assert [entry["number"] for entry in entries] == list(range(1, len(entries) + 1)), plan
        assert not any(entry["counted"] for entry in entries if entry["failure"] == "preempted"), plan


def planned() -> list[Plan]:
    chance = random.Random(SEED)
    kinds = [kind for kind, number in KINDS.items() for _ in range(number)]
    chance.shuffle(kinds)
    return [_plan(chance, number, kind) for number, kind in enumerate(kinds)]


def run(stack: Stack, auditor: Auditor, plan: Plan) -> str:
    """Submit it at its time, and ask of it what its kind says. Returns the id."""
    Event().wait(plan.after)
    stop = auditor.folder.parent / f"{plan.name}.stop"
    job = stack.submit(_spec(auditor, plan, stop), name=plan.name)
    if plan.kind in ACTS:
        Event().wait(plan.pauses[0])
        ACTS[plan.kind](stack, job, plan, stop)
    return job


def documents() -> list[dict[str, Any]]:
    def document(kind: str, name: str, **spec: Any) -> dict[str, Any]:
        return {"apiVersion": "perdure/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}

    def queue(name: str) -> dict[str, Any]:
        quotas = {resource: {"limit": limit} for resource, limit in HOUSE.limits[name].items()}
        if name in GUARANTEED:
            quotas["gpus"]["guarantee"] = GUARANTEED[name]
        parent = HOUSE.parents[name]
        return document("Queue", name, quotas=quotas, **({"parent": parent} if parent else {}))

    nodes = {"count": len(HOUSE.nodes), "cpus": HOUSE.cpus, "memory": "64Gi", "gpus": HOUSE.gpus, "flavor": "h100"}
    return [
        *map(queue, HOUSE.parents),
        document("PriorityClass", "urgent", value=10, usableBy=["production"]),
        document("ResourceFlavor", "h100", gpuType="H100", gpuMemory="80Gi"),
        document("NodePool", "lab", simulated=nodes),
    ]


def _plan(chance: random.Random, number: int, kind: str) -> Plan:
    urgent = kind == "urgent"
    queue = "production" if urgent or chance.random() < 0.3 else "research"
    asked = Asked(queue, nodes=chance.randint(1, 3), cpus=chance.randint(1, 3), gpus=chance.randint(0, 4))
    return Plan(
        name=f"soak-{number:02d}",
        kind=kind,
        asked=asked,
        after=chance.uniform(ARRIVALS / 4 if urgent else 0, ARRIVALS),
        lasts=chance.uniform(1, 6) if kind not in ("cancelled", "suspended") else LONG,
        pauses=(chance.uniform(0.5, 8), chance.uniform(0.2, 3)),
        saving=chance.uniform(0.5, 2.5),
    )


def _spec(auditor: Auditor, plan: Plan, stop: Path) -> dict[str, Any]:
    options = ["--seconds", f"{plan.lasts:.2f}", "--until", str(stop), "--saving", f"{plan.saving:.2f}"]
    options += ["--fails", "1"] if plan.kind == "retried" else []
    options += ["--exit", "3"] if plan.kind == "failing" else []
    return {
        "nodes": plan.asked.nodes,
        "queue": plan.asked.queue,
        "resources": {"cpus": plan.asked.cpus, "memory": "1Gi", "gpus": plan.asked.gpus},
        "retry": RETRY,
        "gracePeriod": "5s",
        "command": auditor.command(plan.name, *options),
        **({"priorityClass": "urgent"} if plan.kind == "urgent" else {}),
    }


def _cancel(stack: Stack, job: str, _plan: Plan, _stop: Path) -> None:
    _insist(stack, job, "cancel", lambda phase: phase in FINAL)


def _suspend(stack: Stack, job: str, plan: Plan, stop: Path) -> None:
    """And resume; from then on it may end."""
    _insist(stack, job, "suspend", lambda phase: phase == "Suspended")
    Event().wait(plan.pauses[1])
    _insist(stack, job, "resume", lambda phase: phase != "Suspended")
    stop.touch()


def _raise(stack: Stack, job: str, _plan: Plan, _stop: Path) -> None:
    asked = stack.ask("POST", f"/jobs/{job}:reprioritise", json={"priority": 100})
    assert asked.status_code in (200, 202, 409), asked.text  # 409: it is over already


def _insist(stack: Stack, job: str, verb: str, reached: Callable[[str], bool]) -> None:
    """Ask until the job is there: an answer may get lost with whoever gave it, and may then be a refusal."""

    def there() -> bool:
        asked = stack.ask("POST", f"/jobs/{job}:{verb}")
        assert asked.status_code in (200, 202, 409), asked.text
        return reached(str(stack.job(job)["phase"]))

    eventually(there, 120, f"{verb} of {job}")


ACTS = {"cancelled": _cancel, "suspended": _suspend, "raised": _raise}
