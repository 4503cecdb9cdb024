"""What deciding for a pool reads and writes, in the database."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta

from pydantic import TypeAdapter
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from activities.adapters.database import database_errors
from activities.clock import utc_now
from activities.ports import PortError
from activities.scheduling_facts import Change, Left, Message, News, Turn, Used, Watched, Whole
from definitions.cluster import LOCAL_CLUSTER, NodeView
from definitions.errors import PerdureError
from definitions.ids import pool_workflow_id
from definitions.places import Displaced, Placed
from store import outbox, pool_reads, pools, queue_use, reservations, scheduling_documents
from store.base import Document
from store.engine import reading, transaction
from store.pool_reads import Mark
from store.verdicts import Committed, Verdict

MOST_CHANGES = 10_000  # read for one decision
REMEMBERED = timedelta(days=1)  # how long a gang that was displaced is spared for it
FACT: TypeAdapter[Placed | Displaced] = TypeAdapter(Placed | Displaced)


class SqlPools:
    """The Pools port. `machine`: this machine as a node, where jobs may run on it."""

    def __init__(
        self,
        engine: Engine,
        machine: Callable[[], NodeView] | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._engine = engine
        self._machine = machine
        self._now = now

    def take(self, pool: str) -> Turn:
        def taken(session: Session) -> Turn:
            token = pools.take(session, pool)
            row = pools.get(session, pool)
            assert row is not None, "taking a pool makes it"
            return Turn(pool, token, row.decision)

        with _port_errors():
            return transaction(self._engine, taken)

    def news(self, pool: str, known: Mapping[str, Mark] | None, *, watched: bool) -> News:
        with _port_errors(), reading(self._engine) as session:
            changes = [Change(row.seq, row.kind, row.job) for row in pools.changes(session, pool, MOST_CHANGES)]
            jobs = {change.job for change in changes if change.job is not None}
            marks = pool_reads.marks(session)
            return News(
                changes=tuple(changes),
                gangs={gang.job: gang for gang in pool_reads.gangs(session, pool, jobs)},
                used=queue_use.used(session),
                marks=marks,
                nodes=None if known is None or known == marks else self._nodes(session),
                watched=_watched(session, pool) if watched else None,
                windows=pool_reads.windows(session, pool) if _of_windows(changes) else None,
                more=len(changes) == MOST_CHANGES,
            )

    def whole(self, pool: str) -> Whole:
        since = self._now() - REMEMBERED
        with _port_errors(), reading(self._engine) as session:
            return Whole(
                documents=scheduling_documents.every(session),
                nodes=self._nodes(session),
                gangs=pool_reads.gangs(session, pool),
                past=[Used(row.queue, row.resource, row.amount, row.at) for row in pools.past(session, pool)],
                left=[
                    Left(one["victim"], one["beneficiary"], at)
                    for one, at in pool_reads.displaced(session, pool, since)
                ],
                cluster=pool_reads.cluster(session, pool),
                windows=pool_reads.windows(session, pool),
            )

    def commit(self, turn: Turn, verdict: Verdict, now: datetime) -> Committed:
        def write(session: Session) -> Committed:
            return pools.commit(session, turn.pool, turn.token, turn.decision, verdict, now)

        with _port_errors():
            return transaction(self._engine, write)

    def messages(self, pool: str, limit: int) -> list[Message]:
        with _port_errors(), reading(self._engine) as session:
            rows = outbox.waiting(session, pool_workflow_id(pool), limit)
            return [Message(row.key, row.target, FACT.validate_python(row.body)) for row in rows]

    def delivered(self, keys: frozenset[str]) -> None:
        now = self._now()
        with _port_errors():
            transaction(self._engine, lambda session: outbox.delivered(session, keys, now))

    def _nodes(self, session: Session) -> dict[str, list[Document]]:
        found = pool_reads.nodes(session, pool_reads.marks(session))
        if self._machine is not None:
            found[LOCAL_CLUSTER] = [self._machine().model_dump(mode="json")]
        return found


def _of_windows(changes: Iterable[Change]) -> bool:
    return any(change.kind == reservations.NEWS for change in changes)


def _watched(session: Session, pool: str) -> Watched:
    return Watched(tuple(pool_reads.strays(session, pool)), pool_reads.saves(session, pool))


@contextmanager
def _port_errors() -> Iterator[None]:
    try:
        with database_errors():
            yield
    except PerdureError as error:  # a decision that was overtaken
        raise PortError(error.detail, code=error.code.code) from error
