"""Rows that ask for something to be done, page by page, and how one that cannot be done is passed over."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TypeVar

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from activities.ports import PortError
from store.engine import reading, transaction

PAGE = 200
FORGOTTEN = 2_000  # in one transaction
log = logging.getLogger(__name__)
T = TypeVar("T")


class RowWalk:
    """Reads and writes in transactions of their own. `halted` ends a walk before its next row."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.halted: Callable[[], bool] = lambda: False

    def walk(self, read: Callable[..., list[T]], *values: object) -> Iterator[T]:
        """Rows page by page, each once, whatever becomes of them; ends early when halted."""
        last: T | None = None
        while rows := self.read(read, *values, PAGE, last):
            for row in rows:
                if self.halted():
                    return
                yield row
            last = rows[-1]

    def forget(self, work: Callable[[Session, datetime, int], int], before: datetime) -> int:
        """Remove rows from before then, some in each transaction, so that nobody waits long for one; how many."""
        count = 0
        while not self.halted():
            gone = self.write(work, before, FORGOTTEN)
            count += gone
            if gone < FORGOTTEN:
                break
        return count

    def read(self, work: Callable[..., T], *values: object) -> T:
        with reading(self._engine) as active:
            return work(active, *values)

    def write(self, work: Callable[..., T], *values: object) -> T:
        return transaction(self._engine, lambda active: work(active, *values))


@contextmanager
def passing_over(what: str) -> Iterator[None]:
    """One thing that cannot be removed must not keep the others."""
    try:
        yield
    except PortError as error:
        log.warning("%s cannot be removed this time: %s", what, error)
