"""What a cluster's worker does beside its activities: it says that it is there, and tells of nodes."""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from activities.clock import utc_now
from activities.effects import effect
from activities.ports import ClusterInspector, PortError
from definitions.cluster import NodeView
from definitions.errors import PerdureError
from policies.clusters import HEARTBEAT
from store import clusters
from store.engine import reading, transaction
from store.tables import ClusterRow
from store.types import EPOCH
from workers.pausing import rounds

LOOK_PAUSE = 1.0  # seconds between two looks at the nodes that are known
log = logging.getLogger(__name__)


def find_cluster(engine: Engine, name: str) -> ClusterRow:
    """The row of the cluster that this worker is to serve. Raises PD-2101."""
    with reading(engine) as session:
        row = clusters.get(session, name)
    if row is None:
        raise PerdureError("PD-2101", f"there is no cluster {name!r}", remedy=f"Add it: perdure clusters add {name}")
    return row


class Heartbeat:
    """Notes that the worker is there, and ends the worker's present round when the cluster's document has changed."""

    def __init__(
        self, engine: Engine, row: ClusterRow, changed: Callable[[], None], now: Callable[[], datetime] = utc_now
    ) -> None:
        self._engine = engine
        self._row = row
        self._changed = changed
        self._now = now

    async def run(self, stop: asyncio.Event) -> None:
        """Beat until `stop` is set. Raises PD-2101 once the cluster was removed: there is nothing to serve any more."""
        await rounds(stop, HEARTBEAT.total_seconds(), self._round, (SQLAlchemyError,), _away)

    async def _round(self) -> None:
        row = await asyncio.to_thread(self.beat)
        if row is None:
            raise PerdureError("PD-2101", f"cluster {self._row.name!r} was removed")
        if (row.generation, row.created_at) != (self._row.generation, self._row.created_at):
            log.info("the cluster's settings have changed; its worker begins anew")
            self._changed()

    def beat(self) -> ClusterRow | None:
        now = self._now()
        with effect("cluster-beat"):
            return transaction(self._engine, lambda session: clusters.note_worker(session, self._row.name, now))


class NodeReporter:
    """Writes down nodes that changed. The database is asked once what it knows; from then on that is remembered."""

    def __init__(self, engine: Engine, inspector: ClusterInspector, cluster: str) -> None:
        self._engine = engine
        self._inspector = inspector
        self._cluster = cluster
        self._written: dict[str, NodeView | None] | None = None  # by name, without the time; None: of an earlier worker
        self._fault = ""

    async def run(self, stop: asyncio.Event) -> None:
        """Report until `stop` is set."""
        await rounds(stop, LOOK_PAUSE, self._round, (PortError, SQLAlchemyError), self._complain)

    async def _round(self) -> None:
        await asyncio.to_thread(self.report)
        self._fault = ""

    def report(self) -> int:
        """Write what is news; returns how many nodes that were. Safe to repeat."""
        if self._written is None:
            with reading(self._engine) as session:
                self._written = dict.fromkeys(clusters.node_names(session, self._cluster))
        seen = {node.name: node for node in self._inspector.nodes()}
        news = [node for name, node in seen.items() if self._written.get(name) != _timeless(node)]
        gone = [name for name in self._written if name not in seen]
        if news or gone:
            with effect("cluster-nodes"):
                transaction(self._engine, lambda session: clusters.record_nodes(session, self._cluster, news, gone))
            self._written = {name: _timeless(node) for name, node in seen.items()}
        return len(news) + len(gone)

    def _complain(self, error: Exception) -> None:
        """Once per fault: the next look is a second away."""
        text = str(error) if isinstance(error, PortError) else type(error).__name__
        if text != self._fault:
            self._fault = text
            log.warning("nodes cannot be reported: %s", text)


def _away(error: Exception) -> None:
    log.warning("the database is away: %s", type(error).__name__)


def _timeless(node: NodeView) -> NodeView:
    """The node without when it was seen, which is news to nobody."""
    return node.model_copy(update={"seen_at": EPOCH})
