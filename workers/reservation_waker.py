"""Starts the workflow of every reservation that is new or has changed, and tells it."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.service import RPCError

from activities.effects import effect
from activities.reservations import ReservationKey
from definitions.ids import reservation_workflow_id
from store import reservations
from store.engine import reading
from workers.pausing import rounds
from workflows.reservation import ReservationWorkflow

PAUSE, AWAY_PAUSE = 0.3, 1.0  # seconds
AGAIN = 5.0  # seconds after which a reservation is told of the same change again
AT_ONCE = 100
AWAY = (RPCError, RuntimeError, OSError, SQLAlchemyError)
log = logging.getLogger(__name__)


class ReservationWaker:
    """One loop per control worker; two at once do no harm, since a reservation has one workflow, which looks at what
    there is."""

    def __init__(
        self, engine: Engine, client: Client, *, task_queue: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`task_queue`: where workflows are served. `clock`: seconds, for telling of the same again."""
        self._engine = engine
        self._client = client
        self._queue = task_queue
        self._clock = clock
        self._told: dict[ReservationKey, tuple[int, float]] = {}  # what was wanted then, and when

    async def run(self, stop: asyncio.Event) -> None:
        """Tell reservations until `stop` is set."""
        await rounds(stop, PAUSE, self.sweep, AWAY, _away, after_fault=AWAY_PAUSE)

    async def sweep(self) -> int:
        """Tell every reservation of what it has not heard; returns how many were told. Safe to repeat."""
        unheard = await asyncio.to_thread(self._unheard)
        self._told = {key: told for key, told in self._told.items() if key in unheard}
        due = [key for key, wanted in unheard.items() if self._is_due(key, wanted)]
        for key in due:
            await self._tell(key)
            self._told[key] = (unheard[key], self._clock())
        return len(due)

    def _is_due(self, key: ReservationKey, wanted: int) -> bool:
        known, at = self._told.get(key, (-1, 0.0))
        return wanted > known or self._clock() - at >= AGAIN

    async def _tell(self, key: ReservationKey) -> None:
        with effect("wake-reservation"):
            await self._client.start_workflow(
                ReservationWorkflow.run,
                key,
                id=reservation_workflow_id(key.tenant, key.name),
                task_queue=self._queue,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
                start_signal="changed",
                static_summary=f"reservation {key.name}",
            )

    def _unheard(self) -> Mapping[ReservationKey, int]:
        with reading(self._engine) as session:
            found: dict[ReservationKey, int] = {}
            for row in reservations.unheard(session, AT_ONCE):
                key = ReservationKey(tenant=row.tenant, name=row.name)
                found[key] = found.get(key, 0) + row.wanted
            return found


def _away(error: Exception) -> None:
    log.warning("the engine or the database is away; reservations are told of changes later: %s", error)
