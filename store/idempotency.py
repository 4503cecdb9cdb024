"""Requests under a client's key: the first is carried out, its repeats get the same answer.

Where everything that a request does is in one transaction (a submit), reserve, work and `complete` in that one: nothing
is ever seen half way. Where it reaches outside (a cancel), commit after `reserve`, and `complete` later.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.orm import Session

from definitions.ids import new_id
from store.base import Document
from store.errors import KeyInFlight, KeyReused
from store.tables_access import IdempotencyRow
from store.upsert import changed, insert_missing

KEPT = timedelta(hours=24)
ABANDONED = timedelta(minutes=1)  # an answer that takes longer was lost with its process


@dataclass(frozen=True)
class Request:
    """Who asks, under which key, for what. `sha256` is of everything that makes the request this one."""

    tenant: str
    principal: str
    key: str
    method: str
    path: str
    sha256: str


@dataclass(frozen=True)
class Reserved:
    """This request is ours to answer."""

    request: Request
    holder: str


@dataclass(frozen=True)
class Answered:
    """The request was answered before."""

    status: int
    body: Document | None


def reserve(session: Session, request: Request, now: datetime) -> Reserved | Answered:
    """Of many that come with one key, one gets Reserved; later ones get Answered.

    Raises KeyReused when the key belongs to another request, KeyInFlight while the first is being answered. A key is
    free again after KEPT; a request whose process died is taken over after ABANDONED, so what it does must be safe to
    repeat under an id that derives from the key.
    """
    holder = new_id()
    row = dict(tenant=request.tenant, principal=request.principal, key=request.key, method=request.method)
    row |= dict(path=request.path, request_sha256=request.sha256, holder=holder)
    while not insert_missing(session, IdempotencyRow, [row | {"created_at": now}], ("tenant", "principal", "key")):
        query = select(IdempotencyRow).where(*_is(request)).with_for_update()
        found = session.scalar(query.execution_options(populate_existing=True))
        if found is None:
            continue  # it was given back or swept meanwhile
        if found.created_at > now - KEPT:
            return _met(session, found, request, holder, now)
        session.delete(found)
        session.flush()
    return Reserved(request, holder)


def complete(session: Session, reserved: Reserved, status: int, body: Document | None) -> bool:
    """Keep the answer for repeats. False when the request was taken over meanwhile: its answer counts, not this one."""
    mine = (*_is(reserved.request), IdempotencyRow.holder == reserved.holder, IdempotencyRow.status.is_(None))
    return changed(session, update(IdempotencyRow).where(*mine).values(status=status, body=body)) == 1


def give_back(session: Session, reserved: Reserved) -> None:
    """Free the key of a request that did nothing, so that a repeat is carried out. Safe to repeat."""
    mine = (*_is(reserved.request), IdempotencyRow.holder == reserved.holder, IdempotencyRow.status.is_(None))
    changed(session, delete(IdempotencyRow).where(*mine))


def _met(session: Session, found: IdempotencyRow, request: Request, holder: str, now: datetime) -> Reserved | Answered:
    if (found.method, found.path, found.request_sha256) != (request.method, request.path, request.sha256):
        raise KeyReused(request.key, f"{found.method} {found.path}")
    if found.status is not None:
        return Answered(found.status, found.body)
    if found.created_at > now - ABANDONED:
        raise KeyInFlight(request.key)
    found.holder, found.created_at = holder, now
    session.flush()
    return Reserved(request, holder)


def _is(request: Request) -> tuple[ColumnElement[bool], ...]:
    return (
        IdempotencyRow.tenant == request.tenant,
        IdempotencyRow.principal == request.principal,
        IdempotencyRow.key == request.key,
    )
