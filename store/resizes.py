"""Gangs that leave only to go on at another size: how a decision holds for them what they go on with.

Until the attempt has gone the row's amounts, and with them the counters of its queues, are of the places that it has
and of those that it goes on with together. One of both is always a part of the other, so per resource the greater one
counts. `gangs.follow` then gives back what is not of the new size.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from sqlalchemy import Table, bindparam, update
from sqlalchemy.orm import Session

from store.base import Document
from store.queue_use import Claim
from store.tables_scheduling import GangRow
from store.upsert import run_each
from store.verdicts import GoesOn, Told

GANGS = cast(Table, GangRow.__table__)
Gangs = Mapping[str, Any]  # rows by job, as they are locked


def claim(said: Told, held: Document) -> Claim:
    """What has to be taken for a gang's next size beside what it holds, along the path that it took: nothing for a
    smaller one, and for one that only leaves."""
    path = tuple(held["path"])
    then = {} if said.goes_on is None else said.goes_on.amounts
    more = {resource: amount - held["of"].get(resource, 0) for resource, amount in then.items()}
    return Claim(path, {resource: amount for resource, amount in more.items() if amount > 0})


def is_bounded(said: Told, held: Document, paths: Mapping[str, Sequence[str]], queue: str) -> bool:
    """Whether the verdict knows the limits along the path that the gang took. It does not when the tree of queues has
    changed since: such a gang keeps its size until it has places along the new one."""
    return not claim(said, held).amounts or tuple(held["path"]) == tuple(paths.get(queue, ()))


def write(session: Session, told: Sequence[Told], gangs: Gangs) -> None:
    """What gangs go on with, and what they hold until then. Of gangs that only leave nothing is written."""
    names = ("next_pods", "next_amounts", "amounts")
    values = {name: bindparam(f"new_{name}", type_=GANGS.c[name].type) for name in names}
    statement = update(GANGS).where(GANGS.c.job == bindparam("of_job")).values(**values)
    rows = [_row(said, said.goes_on, gangs[said.job].amounts) for said in told if said.goes_on is not None]
    run_each(session, statement, rows)


def together(said: Told, held: Document) -> Document:
    """What a gang holds until it has gone: what it held, and what it goes on with."""
    both = {**held["of"]}
    for resource, amount in claim(said, held).amounts.items():
        both[resource] = both.get(resource, 0) + amount
    return held | {"of": both}


def _row(said: Told, goes_on: GoesOn, held: Document) -> dict[str, Any]:
    return {
        "of_job": said.job,
        "new_next_pods": [pod.model_dump(mode="json") for pod in goes_on.pods],
        "new_next_amounts": held | {"of": dict(goes_on.amounts)},
        "new_amounts": together(said, held),
    }
