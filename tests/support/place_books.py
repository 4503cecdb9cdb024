"""What the tables say of places at one moment, counted again by nobody's code but this."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.place_audit import Asked, House, Pod, used

PARTS = 1000  # of a GPU, and of a processor, in what queues use
RESOURCES = {"gpu": "gpus", "cpu": "cpus"}


@dataclass(frozen=True)
class Books:
    """`held`: the places of every gang that has any. `use`: (queue, resource) -> what is counted as used."""

    held: frozenset[Pod]
    use: Mapping[tuple[str, str], float]
    counters: int  # of any resource that are not nothing
    gangs: int
    changes: int  # news that no decision has seen
    messages: int  # that are not known to be delivered

    def wrongs(self, house: House, plans: Mapping[str, Asked]) -> list[str]:
        """Where what is counted differs from what gangs hold."""
        truth = used(house, plans, self.held)
        cells = sorted(truth.keys() | self.use.keys())
        return [
            f"queue {queue}: {self.use.get((queue, resource), 0)} {resource} are counted, {truth[queue, resource]} held"
            for queue, resource in cells
            if self.use.get((queue, resource), 0) != truth[queue, resource]
        ]

    def empty(self) -> bool:
        return not (self.held or self.counters or self.gangs or self.changes or self.messages)


def read(database: Path) -> Books:
    """All of it in one read transaction, of a SQLite database that others write."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10, isolation_level=None)
    try:
        connection.execute("BEGIN")
        query = "SELECT jobs.name, jobs.id, gangs.attempt, gangs.pods FROM gangs JOIN jobs ON jobs.id = gangs.job"
        gangs = connection.execute(query).fetchall()
        counters = connection.execute("SELECT queue, resource, used FROM queue_use WHERE used <> 0").fetchall()
        [changes] = connection.execute("SELECT count(*) FROM pool_changes").fetchone()
        [messages] = connection.execute("SELECT count(*) FROM outbox WHERE delivered_at IS NULL").fetchone()
    finally:
        connection.close()
    held = frozenset(pod for gang in gangs for pod in _pods(*gang))
    use = {(queue, RESOURCES[word]): amount / PARTS for queue, word, amount in counters if word in RESOURCES}
    return Books(held, use, len(counters), len(gangs), changes, messages)


def _pods(name: str, job: str, attempt: int, text: str | None) -> list[Pod]:
    places: list[dict[str, Any]] = json.loads(text or "null") or []
    return [Pod(name, job, attempt, rank, place["node"], tuple(place["devices"])) for rank, place in enumerate(places)]
