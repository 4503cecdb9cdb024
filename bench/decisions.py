"""Decisions that are committed in a second: many gangs wait, and places come free as fast as they are given.

2,000 gangs of 2 whole nodes wait in four queues for 500 nodes. The activity that decides is called again and again, and
whoever got places ends at once, until each had some. Then gangs arrive one by one where there is room. Read, planned
and written as in production; only the workflows that are told are not there: what they would hear is kept.
"""

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from activities.adapters.pools import SqlPools
from activities.scheduling import Decided, SchedulerActivities
from activities.scheduling_facts import Message, News, Turn, Whole
from bench.decisions_world import CLUSTER, DATABASES, Installation, database
from bench.harness import report, say, spread
from store.pool_reads import Mark
from store.verdicts import Committed, Verdict
from tests.support.kernels import compile_all
from tests.support.pool_rig import Jobs

GOAL = "570 decisions committed a second, from queued to durable places; no node and no limit overrun"
MOST_ROUNDS = 1_000
SHOWN = 10  # faults; there should be none


class Timed:
    """A pool's port and the jobs' that keep how long each part took: `wall` and `processor` seconds, by part."""

    def __init__(self, pools: SqlPools, jobs: Jobs) -> None:
        self._pools, self._jobs = pools, jobs
        self.wall: dict[str, float] = defaultdict(float)
        self.processor: dict[str, float] = defaultdict(float)
        self.committed_at = 0.0  # by time.perf_counter

    def take(self, pool: str) -> Turn:
        with self.part("read"):
            return self._pools.take(pool)

    def news(self, pool: str, known: Mapping[str, Mark] | None, *, watched: bool) -> News:
        with self.part("read"):
            return self._pools.news(pool, known, watched=watched)

    def whole(self, pool: str) -> Whole:
        with self.part("read"):
            return self._pools.whole(pool)

    def commit(self, turn: Turn, verdict: Verdict, now: datetime) -> Committed:
        with self.part("commit"):
            done = self._pools.commit(turn, verdict, now)
        self.committed_at = time.perf_counter()
        return done

    def messages(self, pool: str, limit: int) -> list[Message]:
        with self.part("deliver"):
            return self._pools.messages(pool, limit)

    def delivered(self, keys: frozenset[str]) -> None:
        with self.part("deliver"):
            self._pools.delivered(keys)

    def tell(self, messages: Sequence[Message]) -> frozenset[str]:
        with self.part("deliver"):
            return self._jobs.tell(messages)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        wall, processor = time.perf_counter(), time.process_time()
        yield
        self.wall[name] += time.perf_counter() - wall
        self.processor[name] += time.process_time() - processor

    def split(self) -> dict[str, dict[str, float]]:
        """Seconds by part. `plan` is what of `all` is in no other part: what changed is brought in, planned, said.
        `asking` and `ending` are what others write, which is not in `all`."""
        found = {}
        for name, seconds in (("seconds", self.wall), ("processor_seconds", self.processor)):
            others = {part: seconds[part] for part in ("read", "commit", "deliver")}
            plan = seconds["all"] - sum(others.values())
            beside = {part: seconds[part] for part in ("asking", "ending")}
            parts = {**others, "plan": plan, "all": seconds["all"], **beside}
            found[name] = {part: round(value, 3) for part, value in parts.items()}
        return found


class Rounds:
    """The activity, with its parts timed. Rows are counted again after every decision, which is in no number."""

    def __init__(self, installation: Installation) -> None:
        self.installation, self.jobs = installation, Jobs()
        self.timed = Timed(SqlPools(installation.engine), self.jobs)
        self._activities = SchedulerActivities(self.timed, self.timed)
        self.decisions = 0
        self.faults: list[str] = []

    def decide(self) -> Decided:
        with self.timed.part("all"):
            decided = self._activities.decide(CLUSTER)
        self.decisions += 1
        return decided

    def recount(self) -> list[str]:
        """Count all rows again; the gangs that hold places."""
        self.faults += self.installation.faults()
        return [row.job for row in self.installation.held()]


def main(words: Sequence[str]) -> int:
    options = _options(words)
    say("loading the kernels")
    compile_all()
    found: dict[str, Any] = {}
    for kind in options.databases:
        for name, timeout in (("endless", None), ("limited", options.timeout)):
            found[f"{kind}_{name}"] = measured(kind, options, timeout)
            say(f"{kind}, {name}: {found[f'{kind}_{name}']}")
    sizes = {name: getattr(options, name) for name in ("gangs", "nodes", "running", "arrivals", "timeout")}
    report("decisions", GOAL, {**found, "sizes": sizes, "seed": None})
    return 0


def measured(kind: str, options: argparse.Namespace, timeout: str | None) -> dict[str, Any]:
    """Both parts, one after the other, on a fresh database. `timeout`: of every gang, whose ends are then known: all
    that wait are promised a start, which moves whenever one ends early."""
    with TemporaryDirectory(prefix="perdure-bench-") as folder, database(kind, Path(folder)) as engine:
        installation = Installation(engine, options.nodes, timeout)
        of_queue = queue(Rounds(installation), options.gangs)
        return {"queue": of_queue, "arrivals": arrivals(Rounds(installation), options)}


def queue(rounds: Rounds, count: int) -> dict[str, Any]:
    """All wait; whoever is placed ends at once, until all were. The first decision builds the pool."""
    installation, timed, placed = rounds.installation, rounds.timed, 0
    with timed.part("asking"):
        installation.ask(count)
    while placed < count and rounds.decisions < MOST_ROUNDS:
        placed += rounds.decide().placed
        held = rounds.recount()
        with timed.part("ending"):
            installation.end(held)
    return {
        "placed": placed,
        "decisions_per_second": round(placed / timed.wall["all"], 1),
        "with_ends_per_second": round(placed / (timed.wall["all"] + timed.wall["ending"]), 1),
        "decisions_per_processor_second": round(placed / timed.processor["all"], 1),
        "rounds": rounds.decisions,
        "told": len({message.target for message in rounds.jobs.told}),
        **timed.split(),
        "faults": rounds.faults[:SHOWN],
    }


def arrivals(rounds: Rounds, options: argparse.Namespace) -> dict[str, Any]:
    """One gang after another arrives beside `running` others, which leave it room, and the longest that runs ends."""
    installation = rounds.installation
    running = installation.ask(options.running)
    rounds.decide()
    held = rounds.recount()
    assert sorted(held) == sorted(running), "all of them have room"
    rounds.timed.wall.clear()
    rounds.timed.processor.clear()
    waits: list[float] = []
    late = 0
    for _ in range(options.arrivals):
        begun = time.perf_counter()
        with rounds.timed.part("asking"):
            running += installation.ask(1)
        late += rounds.decide().placed != 1
        waits.append((rounds.timed.committed_at - begun) * 1000)
        rounds.recount()
        with rounds.timed.part("ending"):
            installation.end([running.pop(0)])
    return {
        "milliseconds": spread(waits, 2),
        "not_at_once": late,
        **rounds.timed.split(),
        "faults": rounds.faults[:SHOWN],
    }


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench decisions", description=__doc__)
    parser.add_argument("--gangs", type=int, default=2_000)
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--running", type=int, default=140, help="gangs beside which others arrive one by one")
    parser.add_argument("--arrivals", type=int, default=200)
    parser.add_argument("--timeout", default="1h", help="of gangs in the part where each has one")
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=DATABASES)
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
