"""Templates. A version never changes; storing another document under a name makes the next version."""

from datetime import datetime

from sqlalchemy import ColumnElement, Select, func, select, update
from sqlalchemy.orm import Session

from store.base import Document
from store.paging import Page, cursor, cut, read_name
from store.tables_library import TemplateRow
from store.upsert import changed, insert_missing


def put(
    session: Session, tenant: str, project: str, name: str, document: Document, sha256: str, now: datetime
) -> TemplateRow:
    """Store a document as the next version; the newest version itself if it is the same (safe to repeat).

    Versions go on counting after a deletion, so that a job's template and version never mean two things.
    """
    row = {"tenant": tenant, "project": project, "name": name, "document": document, "sha256": sha256}
    while True:  # ends: a version that is taken was taken by another writer, who is done
        current = get(session, tenant, project, name)
        if current is not None and current.sha256 == sha256:
            return current
        version = _next_version(session, tenant, project, name)
        numbered = row | {"version": version, "created_at": now}
        if insert_missing(session, TemplateRow, [numbered], ("tenant", "project", "name", "version")):
            return session.get_one(TemplateRow, (tenant, project, name, version))


def planned_version(session: Session, tenant: str, project: str, name: str, sha256: str) -> int:
    """The version that `put` would store this document as, or find it under. Writes nothing."""
    current = get(session, tenant, project, name)
    if current is not None and current.sha256 == sha256:
        return current.version
    return _next_version(session, tenant, project, name)


def get(session: Session, tenant: str, project: str, name: str, version: int | None = None) -> TemplateRow | None:
    """A version of a template, or the newest. Deleted ones are not found."""
    query = _shown(tenant, project).where(TemplateRow.name == name)
    if version is not None:
        query = query.where(TemplateRow.version == version)
    return session.scalar(query.order_by(TemplateRow.version.desc()).limit(1))


def versions(session: Session, tenant: str, project: str, name: str) -> list[int]:
    """Versions that are there, oldest first."""
    query = _shown(tenant, project).where(TemplateRow.name == name).order_by(TemplateRow.version)
    return [row.version for row in session.scalars(query)]


def page(session: Session, tenant: str, project: str, *, limit: int, after: str | None = None) -> Page[TemplateRow]:
    """The newest version of each template, by name, at most `limit`; raises BadCursor."""
    newest = (
        _shown(tenant, project)
        .with_only_columns(TemplateRow.name, func.max(TemplateRow.version).label("version"))
        .group_by(TemplateRow.name)
        .subquery()
    )
    query = _shown(tenant, project).join(
        newest, (newest.c.name == TemplateRow.name) & (newest.c.version == TemplateRow.version)
    )
    if after is not None:
        query = query.where(TemplateRow.name > read_name(after))
    rows = session.scalars(query.order_by(TemplateRow.name).limit(limit + 1)).all()
    return cut(rows, limit, lambda row: cursor(row.name))


def delete(session: Session, tenant: str, project: str, name: str, now: datetime) -> bool:
    """Delete every version. Jobs made from them are untouched. False when there was none."""
    mine = (*_is(tenant, project, name), TemplateRow.deleted_at.is_(None))
    return changed(session, update(TemplateRow).where(*mine).values(deleted_at=now)) > 0


def _next_version(session: Session, tenant: str, project: str, name: str) -> int:
    return 1 + (session.scalar(select(func.max(TemplateRow.version)).where(*_is(tenant, project, name))) or 0)


def _is(tenant: str, project: str, name: str) -> tuple[ColumnElement[bool], ...]:
    return TemplateRow.tenant == tenant, TemplateRow.project == project, TemplateRow.name == name


def _shown(tenant: str, project: str) -> Select[TemplateRow]:
    mine = (TemplateRow.tenant == tenant, TemplateRow.project == project)
    return select(TemplateRow).where(*mine, TemplateRow.deleted_at.is_(None))
