"""Rows of gangs, many at once: a pool is built from hundreds of thousands of them, of few shapes."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b

import numpy as np

from policies.scheduling.asking import ORDINARY, STEPS
from policies.scheduling.documents import Priority
from policies.scheduling.model import Request
from policies.scheduling.waiting import Batch
from store.pool_reads import Gang

Cells = Counter[tuple[str, str]]  # (queue, resource) -> amount
DIGEST = 16  # bytes of a print


def same(old: Gang, row: Gang) -> bool:
    """`version` grows whenever the job's side changes, and the rest only by decisions of this pool."""
    return (old.version, old.attempt, old.state) == (row.version, row.attempt, row.state)


def same_places(old: Gang, row: Gang) -> bool:
    return row.pods is not None and (old.attempt, old.pods, old.queue) == (row.attempt, row.pods, row.queue)


def print_of(row: Gang) -> int:
    """128 bits that another state of the gang has not."""
    return int.from_bytes(_digest(row))


def print_of_all(rows: Iterable[Gang]) -> int:
    """The exclusive or of all prints."""
    words = np.frombuffer(b"".join(map(_digest, rows)), np.uint64).reshape(-1, DIGEST // 8)
    return int.from_bytes(np.bitwise_xor.reduce(words, axis=0).tobytes())


def priority_of(row: Gang, classes: Mapping[str, Priority]) -> Priority:
    return classes.get(row.priority_class or "", ORDINARY)


def batch_of(
    rows: Sequence[Gang],
    classes: Mapping[str, Priority],
    request: Callable[[Gang], Request],
    make: Callable[[str], Request],
) -> Batch:
    """Gangs that wait. `request`: of one row; it is asked for once of all that have the same shape and reservation."""
    samples: dict[tuple[str, str | None], int] = {}
    firsts: list[Gang] = []
    like: list[int] = []
    for row in rows:
        number = samples.setdefault((row.shape, row.reservation), len(samples))
        if number == len(firsts):
            firsts.append(row)
        like.append(number)
    values = {name: classes.get(name or "", ORDINARY).value * STEPS for name in {row.priority_class for row in rows}}
    return Batch(
        ids=[row.job for row in rows],
        queues=[row.queue for row in rows],
        priorities=[values[row.priority_class] + row.priority % STEPS for row in rows],
        submitted=[int(row.asked_at.timestamp()) for row in rows],
        seconds=[row.limit_seconds for row in rows],
        like=like,
        samples=[request(row) for row in firsts],
        make=make,
    )


def count(cells: Cells, row: Gang, sign: int) -> None:
    """What a gang takes of its queue and of those above it."""
    if row.amounts is not None:
        for queue in row.amounts["path"]:
            for resource, amount in row.amounts["of"].items():
                cells[queue, resource] += sign * amount


def _digest(row: Gang) -> bytes:
    text = f"{row.job} {row.version} {row.attempt} {row.state}"
    return blake2b(text.encode(), digest_size=DIGEST).digest()
