"""Gangs: jobs that wait for places or hold them. A gang's row follows its job's phase.

What a job asks for is written here with the job's own row; what the scheduler says of it, by `pools.commit`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select, text, tuple_
from sqlalchemy.orm import Session

from definitions.ids import job_workflow_id, pool_workflow_id
from definitions.places import Placed, PlacedPod, Placement
from definitions.states import Phase
from store import outbox, pools, queue_use
from store.paging import Page, cursor, cut, read_place, typed
from store.tables_jobs import JobRow
from store.tables_scheduling import GangRow
from store.types import EPOCH, MICROSECOND
from store.upsert import chunks

WAITING, PLACED = "waiting", "placed"
LIMITED = text("gangs.cause = 'limit'")  # those that a limit of a queue keeps back; spelled as its index is
LAST = 2**62  # the position of a gang that no decision has seen yet, or that holds places
OF_THE_JOB = ("priority", "priority_class", "limit_seconds")  # what may change while a gang holds places


@dataclass(frozen=True, slots=True)
class Ask:
    """What a job asks for. `priority`: 0 to 100, within its class. `shape`: canonical JSON of its pods."""

    pool: str
    queue: str
    priority: int
    priority_class: str | None
    limit_seconds: int | None
    shape: str
    reservation: str | None = None  # that it is to run in


def follow(
    session: Session,
    job: JobRow,
    phase: Phase,
    attempt: int,
    ask: Ask,
    asked_at: datetime | None,
    now: datetime | None = None,
) -> bool:
    """Bring a job's gang in line with the state that was just written to the job's row, which is locked.

    `attempt`: of that state. `asked_at`: since when it waits (its `queued_at`), which tells one asking from the next.
    Queued: the gang waits for the next attempt, and what it held for an earlier asking is given back along the path
    that was taken; one that only left for another size goes on with what is held for that, from `now` on. With an
    attempt: it keeps what it holds. Else: its row and amounts are gone.
    Returns whether it gave places back. Safe to repeat. A state that is older than the job's row must not come here.
    ValueError: Queued without `asked_at`.
    """
    row = session.get(GangRow, job.id, with_for_update=True, populate_existing=True)
    held = row is not None and row.pods is not None
    if phase is Phase.QUEUED:
        if asked_at is None:
            raise ValueError(f"job {job.id} waits, but not since when")
        _wait(session, job, row, attempt + 1, ask, asked_at, now or asked_at)
    elif row is not None and phase.has_attempt:
        _ask_again(session, row, ask, OF_THE_JOB)
    elif row is not None:
        _give_back(session, row)
        session.delete(row)
        session.flush()
        pools.note(session, row.pool, "gang", row.job)
        return held
    return held and row is not None and row.pods is None


def rows(session: Session, pool: str) -> list[GangRow]:
    """Every gang of a pool, of all tenants, by job."""
    return list(session.scalars(select(GangRow).where(GangRow.pool == pool).order_by(GangRow.job)))


def some(session: Session, jobs: Sequence[str]) -> list[GangRow]:
    """The gangs of these jobs that are there, of all tenants, by job."""
    found: list[GangRow] = []
    for part in chunks(sorted(set(jobs))):
        found += session.scalars(select(GangRow).where(GangRow.job.in_(part)).order_by(GangRow.job))
    return found


def get(session: Session, tenant: str, project: str, job: str) -> GangRow | None:
    mine = (GangRow.tenant == tenant, GangRow.project == project, GangRow.job == job)
    return session.scalar(select(GangRow).where(*mine))


def page(
    session: Session,
    tenant: str | None,
    queue: str | None = None,
    state: str | None = None,
    limit: int = 100,
    after: str | None = None,
) -> Page[GangRow]:
    """Gangs of a tenant (None: of all, for the installation's admins) by position, those without one last; at most
    `limit`. `after` is the cursor of the page before; raises BadCursor."""
    place = func.coalesce(GangRow.position, LAST)
    query = select(GangRow)
    for column, wanted in ((GangRow.tenant, tenant), (GangRow.queue, queue), (GangRow.state, state)):
        if wanted is not None:
            query = query.where(column == wanted)
    if after is not None:
        query = query.where(tuple_(place, GangRow.job) > typed((GangRow.position, GangRow.job), read_place(after)))
    found = session.scalars(query.order_by(place, GangRow.job).limit(limit + 1)).all()
    return cut(found, limit, lambda row: cursor(LAST if row.position is None else row.position, row.job))


def _wait(
    session: Session, job: JobRow, row: GangRow | None, attempt: int, ask: Ask, since: datetime, now: datetime
) -> None:
    if job.phase.is_final or job.deleted_at is not None:
        return  # a final job has no gang, whoever asks
    if row is None:
        first = (since - EPOCH) // MICROSECOND  # no two rows of a job ever have a version in common
        row = GangRow(tenant=job.tenant, project=job.project, job=job.id, attempt=attempt, version=first)
        row.asked_at = since
        _set(row, asdict(ask) | {"state": WAITING})
        session.add(row)
        session.flush()
        pools.note(session, row.pool, "gang", row.job)
    elif row.next_pods is not None and (row.attempt + 1, row.asked_at, row.shape) == (attempt, since, ask.shape):
        _go_on(session, row, ask, now)
    elif (row.attempt, row.asked_at) < (attempt, since):
        _wait_again(session, row, attempt, ask, since)
    elif (row.attempt, row.asked_at) == (attempt, since):
        _ask_again(session, row, ask, tuple(asdict(ask)) if row.state == WAITING else OF_THE_JOB)


def _go_on(session: Session, row: GangRow, ask: Ask, now: datetime) -> None:
    """The attempt that made way has gone: the next one has its places, and hears of them."""
    assert row.amounts is not None
    assert row.next_amounts is not None
    then = row.next_amounts["of"]
    less = {resource: amount - then.get(resource, 0) for resource, amount in row.amounts["of"].items()}
    _give(session, row, {resource: amount for resource, amount in less.items() if amount})
    _set(row, {name: getattr(ask, name) for name in OF_THE_JOB})
    _set(row, {"pods": row.next_pods, "amounts": row.next_amounts, "placed_at": now, "state": PLACED})
    _set(row, {"attempt": row.attempt + 1, "version": row.version + 1, "leaves_for": None})
    _set(row, dict.fromkeys(("next_pods", "next_amounts")))
    session.flush()
    assert row.decision is not None
    places = tuple(PlacedPod.model_validate(pod) for pod in row.pods or ())
    placement = Placement(pool=row.pool, decision=row.decision, pods=places)
    fact = Placed(attempt=row.attempt, at=now, asked_at=row.asked_at, placement=placement)
    key = f"{fact.kind}/{row.job}/{row.attempt}/{row.decision}"
    job = job_workflow_id(row.tenant, row.job)
    outbox.add(session, key, pool_workflow_id(row.pool), job, fact.model_dump(mode="json"), now)
    pools.note(session, row.pool, "gang", row.job)


def _wait_again(session: Session, row: GangRow, attempt: int, ask: Ask, since: datetime) -> None:
    """Another asking: after an attempt whose pods are gone, or after places that the job gave up unused."""
    _give_back(session, row)
    _set(row, asdict(ask) | {"state": WAITING, "attempt": attempt, "asked_at": since, "version": row.version + 1})
    _set(row, dict.fromkeys(("pods", "amounts", "placed_at", "decision", "position", "cause", "refusal")))
    _set(row, dict.fromkeys(("reason", "start_at", "end_at", "firm", "leaves_for", "next_pods", "next_amounts")))
    session.flush()
    pools.note(session, row.pool, "gang", row.job)


def _ask_again(session: Session, row: GangRow, ask: Ask, names: Sequence[str]) -> None:
    """Take over what of the ask has changed, if anything has."""
    if all(getattr(row, name) == getattr(ask, name) for name in names):
        return
    _set(row, {name: getattr(ask, name) for name in names} | {"version": row.version + 1})
    session.flush()
    pools.note(session, row.pool, "gang", row.job)


def _give_back(session: Session, row: GangRow) -> None:
    """What it holds, if anything."""
    if row.amounts is not None:
        _give(session, row, row.amounts["of"])


def _give(session: Session, row: GangRow, amounts: Mapping[str, int]) -> None:
    """A part of it, or all. Limits are of all pools together, so that another pool may be waiting for it."""
    assert row.amounts is not None
    queue_use.give(session, row.amounts["path"], amounts)
    kept_back = (LIMITED, GangRow.state == WAITING, GangRow.pool != row.pool)
    for pool in session.scalars(select(GangRow.pool).where(*kept_back).distinct().order_by(GangRow.pool)).all():
        pools.note(session, pool, "use")


def _set(row: GangRow, values: dict[str, Any]) -> None:
    for name, value in values.items():
        setattr(row, name, value)
