"""Tells jobs that another one has ended, when they wait for it or it is one of their array."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from temporalio.client import Client
from temporalio.service import RPCError

from activities.clock import utc_now
from activities.effects import effect
from activities.ports import PortError
from activities.scheduling_facts import Message
from definitions.facts import JobEnded
from store import outbox, system
from store.engine import reading, transaction
from store.system import Word
from workers.job_teller import carry
from workers.pausing import rounds

BATCH = 256
PAUSE, AWAY_PAUSE = 0.1, 1.0  # seconds
AWAY = (RPCError, RuntimeError, OSError, SQLAlchemyError, PortError)
log = logging.getLogger(__name__)


class EndTeller:
    """One loop per control worker; two at once do no harm, since a job hears of an end as often as it likes."""

    def __init__(self, engine: Engine, client: Client, now: Callable[[], datetime] = utc_now) -> None:
        self._engine = engine
        self._client = client
        self._now = now

    async def run(self, stop: asyncio.Event) -> None:
        """Tell of ends until `stop` is set."""
        await rounds(stop, PAUSE, self.sweep, AWAY, _away, after_fault=AWAY_PAUSE)

    async def sweep(self) -> int:
        """Tell everything that is to be told now; returns how many words have arrived. Safe to repeat at any point.

        Word for a job whose workflow has not begun stays for a later round: there is nobody to hear it yet.
        """
        told, last = 0, None
        while words := await asyncio.to_thread(self._words, last):
            last = words[-1]
            told += await self._tell([word for word in words if word.begun or word.over])
        return told

    async def _tell(self, words: Sequence[Word]) -> int:
        """A job that has ended itself needs no word: its message is only taken off the list."""
        if not words:
            return 0
        heard = frozenset(word.key for word in words if word.over)
        if messages := [_message(word) for word in words if not word.over]:
            with effect("tell-end"):
                heard |= await carry(self._client, messages)
        with effect("acknowledge-end"):
            await asyncio.to_thread(self._delivered, heard)
        return len(heard)

    def _words(self, after: Word | None) -> list[Word]:
        with reading(self._engine) as session:
            return system.words_of_ends(session, BATCH, after)

    def _delivered(self, keys: Iterable[str]) -> None:
        now = self._now()
        transaction(self._engine, lambda session: outbox.delivered(session, keys, now))


def _message(word: Word) -> Message:
    return Message(word.key, word.target, JobEnded.model_validate(word.body))


def _away(error: Exception) -> None:
    log.warning("the engine or the database is away; jobs hear later that others have ended: %s", error)
