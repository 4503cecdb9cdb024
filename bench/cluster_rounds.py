"""The two rounds that are compared: jobs through the control plane, and the very same objects made in a loop."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any

import httpx

from bench.cluster_objects import Template
from bench.cluster_rig import SUBMITTERS, Rig, Slots
from bench.cluster_watching import Change, events, opened
from bench.harness import client, say
from tests.support.stack import FINAL

LOOK = 0.1  # seconds between two looks at which jobs are over; a job takes seconds
TOLD_EVERY = 15.0


@dataclass(frozen=True)
class Round:
    jobs: list[str]  # ids in the control plane; none for a bare round
    count: int
    began: float  # seconds since the epoch
    seconds: float


def own_round(rig: Rig, stem: str, count: int, at_once: int) -> Round:
    """Jobs through the control plane: the next is submitted when one is over. Every one succeeds."""
    slots, jobs = Slots(at_once), list[str]()
    began, mark = time.time(), time.perf_counter()
    with client(rig.stack) as submitting, _freeing(rig, slots, count):
        slots.fill(count, lambda number: jobs.append(rig.submit(submitting, f"{stem}-{number}")))
    took = time.perf_counter() - mark
    phases = rig.phases()
    ends = Counter(phases[job] for job in jobs)
    assert ends == {"Succeeded": count}, ends
    return Round(jobs, count, began, took)


def bare_round(rig: Rig, template: Template, stem: str, count: int, at_once: int) -> Round:
    """The same objects without a control plane: made, awaited by a watch, deleted; the next when one is gone."""
    slots = Slots(at_once)
    began, mark = time.time(), time.perf_counter()

    def remove(name: str) -> None:
        template.remove(rig.bare, name)
        slots.over()

    with opened(rig.state) as http, ThreadPoolExecutor(SUBMITTERS) as removing, ThreadPoolExecutor(1) as making:
        changes = events(http, rig.bare.jobs)
        next(changes)
        made = making.submit(slots.fill, count, lambda number: template.make(rig.bare, f"{stem}-{number}"))
        made.add_done_callback(lambda done: http.close() if done.exception() else None)  # the watch ends with it
        try:
            removed = [removing.submit(remove, name) for name in completed(changes, count)]
        except httpx.HTTPError:
            made.result()  # raises what is the cause of the other
            raise
        for each in (made, *removed):
            each.result()
    return Round([], count, began, time.perf_counter() - mark)


def completed(changes: Iterable[Change], count: int) -> Iterator[str]:
    """Names of Jobs as they become complete, until so many have."""
    over = set[str]()
    for change in changes:
        name = change.object["metadata"]["name"]
        if name not in over and _is_complete(change.object):
            over.add(name)
            yield name
        if len(over) == count:
            return


def _is_complete(job: dict[str, Any]) -> bool:
    conditions = job.get("status", {}).get("conditions") or []
    return any(each["type"] == "Complete" and each["status"] == "True" for each in conditions)


@contextmanager
def _freeing(rig: Rig, slots: Slots, count: int) -> Iterator[None]:
    """Give slots back as jobs end; left once `count` of them have."""
    stop, before = Event(), _finals(rig)

    def follow() -> None:
        seen, told = 0, time.monotonic()
        while seen < count and not stop.wait(LOOK):
            now = _finals(rig) - before
            slots.over(now - seen)
            seen = now
            if time.monotonic() - told > TOLD_EVERY:
                told = time.monotonic()
                say(f"{seen} of {count} jobs are over")

    follower = Thread(target=follow, name="over")
    follower.start()
    try:
        yield
    except BaseException:
        stop.set()
        raise
    finally:
        follower.join()


def _finals(rig: Rig) -> int:
    return sum(1 for phase in rig.phases().values() if phase in FINAL)
