"""Numbers about a tenant's jobs that wait for places, counted by the database."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import and_, func, or_, select
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


class Overdue(Wire):
    """Jobs of a class that have waited too long, in a queue of a pool."""

    pool: str
    queue: str
    priority_class: str
    count: int


def waiting(session: Session, tenant: str) -> list[QueueLength]:
    """The tenant's jobs that wait, by pool and queue."""
    key = (GangRow.pool, GangRow.queue)
    query = select(*key, func.count(), func.min(GangRow.asked_at)).where(GangRow.tenant == tenant)
    query = query.where(GangRow.state == WAITING).group_by(*key).order_by(*key)
    return [
        QueueLength(pool=pool, queue=queue, count=count, oldest=oldest)
        for pool, queue, count, oldest in session.execute(query)
    ]


def overdue(session: Session, tenant: str, since: Mapping[str, datetime]) -> list[Overdue]:
    """The tenant's jobs that wait since before that time of their class, by pool, queue and class."""
    if not since:
        return []
    key = (GangRow.pool, GangRow.queue, GangRow.priority_class)
    late = [and_(GangRow.priority_class == name, GangRow.asked_at < at) for name, at in since.items()]
    query = select(*key, func.count()).where(GangRow.tenant == tenant, GangRow.state == WAITING, or_(*late))
    return [
        Overdue(pool=pool, queue=queue, priority_class=name or "", count=count)
        for pool, queue, name, count in session.execute(query.group_by(*key).order_by(*key))
    ]
