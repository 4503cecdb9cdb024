"""Seals with the newest key what older ones have sealed, so that those can be thrown away. Looks with the sweeper.

What no key here opens is left as it is and logged: the key may be with another process. Safe to repeat, also by two.
"""

import asyncio
import logging
from datetime import timedelta

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from definitions.errors import PerdureError
from store import secrets, system
from store.sealing import Keys
from workers.pausing import rounds
from workers.purger import PERIOD
from workers.row_walk import RowWalk

log = logging.getLogger(__name__)


class Resealer:
    """One per control worker; more do no harm, also while they have different keys for a time."""

    def __init__(self, engine: Engine, keys: Keys, *, period: timedelta = PERIOD) -> None:
        self._rows = RowWalk(engine)
        self._keys = keys
        self._period = period

    async def run(self, stop: asyncio.Event) -> None:
        """Look now and then every period, until `stop` is set."""
        self._rows.halted = stop.is_set
        period = self._period.total_seconds()
        await rounds(stop, period, lambda: asyncio.to_thread(self.reseal), (SQLAlchemyError,), _complain)

    def reseal(self) -> int:
        """Seal anew all that can be; returns how many versions of secrets that were. Raises SQLAlchemyError."""
        done = locked = 0
        for row in self._rows.walk(system.secrets_sealed_otherwise, self._keys.newest):
            try:
                done += self._rows.write(secrets.reseal, self._keys, row)
            except PerdureError:
                locked += 1
        if done or locked:
            log.info("sealed with the newest key", extra={"resealed": done, "without_key": locked})
        return done


def _complain(error: Exception) -> None:
    log.warning("no secret can be sealed anew this time: %s", type(error).__name__)
