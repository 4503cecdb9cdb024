"""What queues use, over all pools: the one place where a limit is kept.

Whoever takes locks the counters of its queues and of all above them, always in the order of (queue, resource): of many
pools that commit at once each sees what the others took, and none waits for another in a circle.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from sqlalchemy import Table, bindparam, case, select, tuple_, update
from sqlalchemy.orm import Session

from store.base import Document
from store.tables_scheduling import GangRow, QueueUseRow
from store.upsert import insert_missing, run_each

COUNTERS = cast(Table, QueueUseRow.__table__)
Cell = tuple[str, str]  # queue, resource
Limits = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Claim:
    """Amounts (resource -> amount) to be taken of every queue of `path`."""

    path: tuple[str, ...]
    amounts: Mapping[str, int]


def take(session: Session, path: Sequence[str], amounts: Mapping[str, int], limits: Limits) -> bool:
    """Take amounts of every queue of `path`, or of none. False when a limit would be passed; nothing changed then."""
    return take_each(session, [Claim(tuple(path), amounts)], limits)[0]


def take_each(session: Session, claims: Sequence[Claim], limits: Limits) -> list[bool]:
    """`take` one after the other: whether each was taken. One that does not fit takes nothing from those behind it.

    Once in a transaction: the counters stay locked until it ends. Raises ValueError for a negative amount.
    """
    used = _locked(session, sorted({cell for claim in claims for cell, _ in _cells(claim.path, claim.amounts)}))
    before = dict(used)
    taken = [_add(used, claim, limits) for claim in claims]
    _write(session, {cell: amount for cell, amount in used.items() if amount != before[cell]})
    return taken


def give(session: Session, path: Sequence[str], amounts: Mapping[str, int]) -> None:
    """Give back what was taken along `path`. A counter never falls below nothing. Not safe to repeat: the caller
    removes the row that says what was taken in the same transaction."""
    less = bindparam("less", type_=COUNTERS.c.used.type)
    left = case((COUNTERS.c.used >= less, COUNTERS.c.used - less), else_=0)
    statement = update(COUNTERS).where(*_CELL).values(used=left)
    run_each(session, statement, [_key(cell) | {"less": less} for cell, less in sorted(_cells(path, amounts))])


def used(session: Session) -> dict[str, dict[str, int]]:
    """Queue -> resource -> what is used of it. What is not used is not in it."""
    rows = session.execute(
        select(QueueUseRow.queue, QueueUseRow.resource, QueueUseRow.used).where(QueueUseRow.used > 0)
    )
    return _nested(((queue, resource), amount) for queue, resource, amount in rows)


def recount(session: Session, paths: Mapping[str, Sequence[str]] | None = None) -> dict[str, dict[str, int]]:
    """What `used` must be by the gangs that hold places, each counted along the path that it took.

    `paths` (queue -> it and all above) counts the queues in it along those instead, as after a change of the tree.
    """
    total: dict[Cell, int] = {}
    for queue, amounts in session.execute(select(GangRow.queue, GangRow.amounts).where(GangRow.amounts.is_not(None))):
        held = cast(Document, amounts)
        path = (paths or {}).get(queue, held["path"])
        for cell, amount in _cells(path, held["of"]):
            total[cell] = total.get(cell, 0) + amount
    return _nested(total.items())


_CELL = (COUNTERS.c.queue == bindparam("of_queue"), COUNTERS.c.resource == bindparam("of_resource"))


def _key(cell: Cell) -> dict[str, object]:
    return {"of_queue": cell[0], "of_resource": cell[1]}


def _cells(path: Iterable[str], amounts: Mapping[str, int]) -> list[tuple[Cell, int]]:
    if negative := [resource for resource, amount in amounts.items() if amount < 0]:
        raise ValueError(f"less than nothing of {negative[0]} cannot be taken")
    return [((queue, resource), amount) for queue in path for resource, amount in amounts.items() if amount]


def _locked(session: Session, cells: list[Cell]) -> dict[Cell, int]:
    """The counters, which nobody else can change before this transaction ends. Those that are missing are made.

    Missing ones come first and without locks held: who inserted one of them and is not done is waited for here.
    """
    if not cells:
        return {}
    mine = tuple_(QueueUseRow.queue, QueueUseRow.resource).in_(cells)
    there = {(queue, resource) for queue, resource in session.execute(_KEYS.where(mine))}
    missing = [{"queue": cell[0], "resource": cell[1], "used": 0} for cell in cells if cell not in there]
    insert_missing(session, QueueUseRow, missing, ("queue", "resource"))
    query = _AMOUNTS.where(mine).order_by(QueueUseRow.queue, QueueUseRow.resource).with_for_update()
    return {(queue, resource): amount for queue, resource, amount in session.execute(query)}


_KEYS = select(QueueUseRow.queue, QueueUseRow.resource)
_AMOUNTS = select(QueueUseRow.queue, QueueUseRow.resource, QueueUseRow.used)


def _add(used: dict[Cell, int], claim: Claim, limits: Limits) -> bool:
    cells = _cells(claim.path, claim.amounts)
    for cell, amount in cells:
        limit = limits.get(cell[0], {}).get(cell[1])
        if limit is not None and used[cell] + amount > limit:
            return False
    for cell, amount in cells:
        used[cell] += amount
    return True


def _write(session: Session, amounts: Mapping[Cell, int]) -> None:
    statement = update(COUNTERS).where(*_CELL).values(used=bindparam("amount"))
    run_each(session, statement, [_key(cell) | {"amount": amount} for cell, amount in amounts.items()])


def _nested(amounts: Iterable[tuple[Cell, int]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (queue, resource), amount in amounts:
        found.setdefault(queue, {})[resource] = amount
    return found
