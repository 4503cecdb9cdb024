"""Schedules: what people asked for. Whether and when one fires is the engine's."""

from datetime import datetime

from sqlalchemy import ColumnElement, Select, select, update
from sqlalchemy.orm import Session

from store.base import Document
from store.errors import NameTaken
from store.paging import Page, cursor, cut, read_name
from store.tables_library import ScheduleRow
from store.upsert import changed, insert_missing


def create(
    session: Session, tenant: str, project: str, name: str, document: Document, now: datetime, *, paused: bool = False
) -> ScheduleRow:
    """Add a schedule; of many racers for a name one gets it, the others NameTaken. A deleted one's name is free."""
    key = {"tenant": tenant, "project": project, "name": name}
    made = {"document": document, "paused": paused, "created_at": now, "deleted_at": None}
    fresh = insert_missing(session, ScheduleRow, [key | made | {"generation": 1}], ("tenant", "project", "name"))
    if not fresh:
        gone = update(ScheduleRow).where(*_is(tenant, project, name), ScheduleRow.deleted_at.is_not(None))
        if not changed(session, gone.values(**made, generation=ScheduleRow.generation + 1)):
            raise NameTaken(f"schedule {name!r} of project {project!r} exists")
    return session.get_one(ScheduleRow, (tenant, project, name), populate_existing=True)


def get(session: Session, tenant: str, project: str, name: str) -> ScheduleRow | None:
    return session.scalar(_shown(tenant, project).where(ScheduleRow.name == name))


def page(session: Session, tenant: str, project: str, *, limit: int, after: str | None = None) -> Page[ScheduleRow]:
    """Schedules by name, at most `limit`. `after` is the cursor of the page before; raises BadCursor."""
    query = _shown(tenant, project)
    if after is not None:
        query = query.where(ScheduleRow.name > read_name(after))
    rows = session.scalars(query.order_by(ScheduleRow.name).limit(limit + 1)).all()
    return cut(rows, limit, lambda row: cursor(row.name))


def set_paused(session: Session, tenant: str, project: str, name: str, paused: bool) -> bool:
    """Note that it was paused or goes on. False when there is no such schedule. Safe to repeat."""
    return _change(session, tenant, project, name, paused=paused, generation=ScheduleRow.generation + 1)


def delete(session: Session, tenant: str, project: str, name: str, now: datetime) -> bool:
    """Delete it. Jobs that it made are untouched. False when there is no such schedule."""
    return _change(session, tenant, project, name, deleted_at=now, generation=ScheduleRow.generation + 1)


def _change(session: Session, tenant: str, project: str, name: str, **values: object) -> bool:
    mine = (*_is(tenant, project, name), ScheduleRow.deleted_at.is_(None))
    return changed(session, update(ScheduleRow).where(*mine).values(**values)) == 1


def _is(tenant: str, project: str, name: str) -> tuple[ColumnElement[bool], ...]:
    return ScheduleRow.tenant == tenant, ScheduleRow.project == project, ScheduleRow.name == name


def _shown(tenant: str, project: str) -> Select[ScheduleRow]:
    mine = (ScheduleRow.tenant == tenant, ScheduleRow.project == project)
    return select(ScheduleRow).where(*mine, ScheduleRow.deleted_at.is_(None))
