"""Logs of any job: of this machine's, of those that run on a cluster, and of those whose logs were collected.

What runs on a cluster is asked of its worker, through a workflow that is removed again: log lines are not to be kept
in the engine's histories. Who follows a log asks again and again, so a rank that had nothing new is left alone for a
moment.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Engine

from api.ports import ClusterAsker, ClusterSilent, EngineAway, Line, LogReader
from definitions.attempt import AttemptRef
from definitions.cluster import LOCAL_CLUSTER
from definitions.cluster_calls import ClusterCall, LogsAsk
from definitions.errors import PerdureError
from store import attempts, jobs
from store.engine import reading

QUIET = 2.0  # seconds in which a rank that had nothing new is not asked again
REMEMBERED = 4096  # ranks
ANSWER_WITHIN = 120.0  # seconds


class RoutedLogs:
    """The API's `LogReader`. Read in threads; `loop` is where the engine's client lives."""

    def __init__(
        self, engine: Engine, kept: LogReader, clusters: ClusterAsker, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._engine = engine
        self._kept = kept
        self._clusters = clusters
        self._loop = loop
        self._quiet: OrderedDict[tuple[str, int, str | None], float] = OrderedDict()

    def read(
        self,
        ref: AttemptRef,
        rank: int,
        *,
        cursor: str | None = None,
        limit: int = 1000,
        tail: int | None = None,
        since: datetime | None = None,
    ) -> Sequence[Line]:
        cluster = self._live_on(ref)
        if cluster is None:
            return self._kept.read(ref, rank, cursor=cursor, limit=limit, tail=tail, since=since)
        place = (ref.token, rank, cursor)
        if self._quiet.get(place, 0.0) > time.monotonic():
            return ()
        ask = LogsAsk(ref=ref, rank=rank, cursor=cursor, limit=limit, tail=tail, since=since)
        lines = self._asked(ClusterCall(cluster=cluster, ask=ask))
        if not lines:
            self._leave_alone(place)
        return lines

    def _live_on(self, ref: AttemptRef) -> str | None:
        """The cluster whose worker has the lines; None where they are in the object store, or on this machine."""
        with reading(self._engine) as session:
            job = jobs.get(session, ref.tenant, ref.project, ref.job)
            attempt = attempts.get(session, ref.tenant, ref.project, ref.job, ref.number)
        if job is None or job.cluster == LOCAL_CLUSTER or (attempt is not None and attempt.ended_at is not None):
            return None
        return job.cluster

    def _asked(self, call: ClusterCall) -> Sequence[Line]:
        answer = asyncio.run_coroutine_threadsafe(self._clusters.ask(call), self._loop)
        try:
            return answer.result(ANSWER_WITHIN).lines
        except EngineAway:
            raise PerdureError("PD-2040", "the log was not read: the workflow engine is away") from None
        except (ClusterSilent, TimeoutError):
            raise PerdureError("PD-2103", f"the worker of cluster {call.cluster!r} gave no answer") from None

    def _leave_alone(self, place: tuple[str, int, str | None]) -> None:
        self._quiet[place] = time.monotonic() + QUIET
        self._quiet.move_to_end(place)
        while len(self._quiet) > REMEMBERED:
            self._quiet.popitem(last=False)
