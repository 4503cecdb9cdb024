"""Has a cluster's strays found: objects of ours that belong to nobody any more.

Looks every ten minutes, and twice a minute for keepers that nobody waits for.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import timedelta

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from activities.adapters.kubernetes.janitor import Stray
from activities.ports import PortError
from definitions.attempt import AttemptRef
from store import jobs
from store.engine import reading
from workers.pausing import rounds

PERIOD = timedelta(minutes=10)
KEEPERS_EVERY = timedelta(seconds=30)  # one holds a volume, and there is nothing to think over
log = logging.getLogger(__name__)


class StraySweeper:
    """One per cluster's worker; more do no harm. Each stray is told of once, and once more when it goes."""

    def __init__(self, sweep: Callable[[], Sequence[Stray]], period: timedelta = PERIOD) -> None:
        self._sweep = sweep
        self._period = period
        self._told: set[str] = set()

    async def run(self, stop: asyncio.Event) -> None:
        """Sweep every period until `stop` is set."""
        await rounds(stop, self._period.total_seconds(), self._round, (PortError, SQLAlchemyError), _complain)

    async def _round(self) -> None:
        self.tell(await asyncio.to_thread(self._sweep))

    def tell(self, found: Sequence[Stray]) -> None:
        for stray in found:
            if stray.deleted:
                log.warning("removed stray %s %s: %s", stray.kind, stray.name, stray.why)
            elif stray.uid not in self._told:
                log.warning("found stray %s %s: %s", stray.kind, stray.name, stray.why)
        self._told = {stray.uid for stray in found if not stray.deleted}


def _complain(error: Exception) -> None:
    log.warning("strays cannot be looked for this time: %s", error)


def is_known(engine: Engine, ref: AttemptRef) -> bool:
    """Whether the ref's job is there, in whatever state."""
    with reading(engine) as session:
        return jobs.get(session, ref.tenant, ref.project, ref.job) is not None
