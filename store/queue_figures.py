"""Numbers about a tenant's jobs that wait for places, counted by the database."""

from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from definitions.wire import Wire
from store.gangs import WAITING
from store.tables_scheduling import GangRow


class QueueLength(Wire):
    """Jobs that wait in a queue of a pool. `oldest`: since when the first of them does."""

    pool: str
    queue: str
    count: int
    oldest: datetime


def waiting(session: Session, tenant: str) -> list[QueueLength]:
    """The tenant's jobs that wait, by pool and queue."""
    key = (GangRow.pool, GangRow.queue)
    query = select(*key, func.count(), func.min(GangRow.asked_at)).where(GangRow.tenant == tenant)
    query = query.where(GangRow.state == WAITING).group_by(*key).order_by(*key)
    return [
        QueueLength(pool=pool, queue=queue, count=count, oldest=oldest)
        for pool, queue, count, oldest in session.execute(query)
    ]
