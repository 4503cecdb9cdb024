"""What any job reported of itself: on this machine, on a cluster while it runs there, and after it was collected."""

import asyncio
from pathlib import Path

from sqlalchemy import Engine

from activities.ports import ObjectStore
from activities.progress import kept_progress, read_progress
from api.ports import ClusterAsker, QuestionUnknown
from definitions.attempt import AttemptRef
from definitions.cluster import LOCAL_CLUSTER
from definitions.cluster_calls import ClusterCall, MetricsAsk
from definitions.errors import PerdureError
from definitions.progress import MetricQuery, MetricsFound, Series
from policies.progress import wanted_series
from store import attempts, jobs
from store.engine import reading
from store.tables import AttemptRow
from workers.api_adapters import refusals
from workers.live_asks import LiveAsks

MOST_QUESTIONS = 8  # for one page: an answer may hold fewer series than were asked for
UNREAD = "the metrics were not read"


class RoutedMetrics:
    """The API's `MetricReader`. Read in threads; `loop` is where the engine's client lives."""

    def __init__(
        self,
        engine: Engine,
        runs: Path,
        objects: ObjectStore,
        clusters: ClusterAsker,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._engine = engine
        self._runs = runs
        self._objects = objects
        self._asks = LiveAsks(clusters, loop)

    def series(self, tenant: str, project: str, job: str, query: MetricQuery) -> MetricsFound:
        with reading(self._engine) as session:
            row = jobs.get(session, tenant, project, job)
            attempt = attempts.newest(session, tenant, project, job)
        if row is None:
            return MetricsFound()
        if row.cluster == LOCAL_CLUSTER:
            return wanted_series(read_progress(self._runs / tenant / project / job / "run"), query)
        if attempt is not None and attempt.ended_at is None:
            return self._asked(row.cluster, _ref(attempt), query)
        with refusals():
            return wanted_series(kept_progress(self._objects, tenant, project, job), query)

    def _asked(self, cluster: str, ref: AttemptRef, query: MetricQuery) -> MetricsFound:
        """What the cluster's worker says: it sees the pods, and what was kept of earlier attempts."""
        found: tuple[Series, ...] = ()
        more = True
        for _ in range(MOST_QUESTIONS):
            after = found[-1].name if found else query.after
            rest = query.model_copy(update={"after": after, "limit": query.limit - len(found)})
            answer = self._answer(ClusterCall(cluster=cluster, ask=MetricsAsk(ref=ref, query=rest)))
            found, more = (*found, *answer.series), answer.more
            if not more or len(found) >= query.limit:
                break
        return MetricsFound(series=found, more=more)

    def _answer(self, call: ClusterCall) -> MetricsFound:
        try:
            return self._asks.ask(call, UNREAD).metrics or MetricsFound()
        except QuestionUnknown:
            worker = f"the worker of cluster {call.cluster!r}"
            raise PerdureError("PD-2103", f"{worker} is of a version that tells no metrics of running jobs") from None


def _ref(row: AttemptRow) -> AttemptRef:
    return AttemptRef(tenant=row.tenant, project=row.project, job=row.job, number=row.number, token=row.token)
