"""Arrays in the database: their jobs, each made once whatever comes twice, and what an array came to."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from activities.adapters.database import database_errors
from activities.clock import utc_now
from activities.ports import PortError
from definitions.array_state import ArrayState
from definitions.facts import JobEnded
from definitions.job import Job
from definitions.states import Phase
from definitions.submission import JobSubmission
from policies.array_children import child_id, child_of
from store import arrays, events, followers
from store.arrays import Offer
from store.engine import transaction
from store.intake import Origin
from store.tables_jobs import JobRow


class SqlArrays:
    """The Arrays port. Raises PortError: permanent (PD-3703) when the array has no row, else PD-3706: try again."""

    def __init__(self, engine: Engine, now: Callable[[], datetime] = utc_now) -> None:
        self._engine = engine
        self._now = now

    def make(self, state: ArrayState, start: int, count: int) -> tuple[JobEnded, ...]:
        now = self._now()
        indexes = [state.indexes.at(position) for position in range(start, start + count)]

        def work(session: Session) -> tuple[JobEnded, ...]:
            row = _held(session, state)
            arrays.insert(session, row, _offers(row, state, indexes), now)
            ids = [child_id(state.job, index) for index in indexes]
            return tuple(followers.ends(session, state.tenant, state.project, ids))

        with database_errors():
            return transaction(self._engine, work)

    def record(self, state: ArrayState) -> Phase:
        with database_errors():
            return transaction(self._engine, lambda session: _write(session, state))


def _offers(row: JobRow, state: ArrayState, indexes: list[int]) -> list[Offer]:
    job = Job.model_validate(row.spec)
    submission = JobSubmission.model_validate(row.submission)
    children = [child_of(row.id, row.seed, job, submission, state.granted, index) for index in indexes]
    shared: dict[str, Any] = {
        "tenant": row.tenant,
        "owner": row.owner,
        "template": row.template,
        "template_version": row.template_version,
        "request_id": row.request_id,
        "parent": row.id,
    }
    return [
        Offer(child.job, child.submission, Origin(id=child.id, seed=child.seed, array_index=child.index, **shared))
        for child in children
    ]


def _write(session: Session, state: ArrayState) -> Phase:
    """Bring the row to a state that is not older than it, and tell those who follow the array of its end."""
    row = _held(session, state)
    over = row.phase.is_final
    if state.event_count >= row.event_count and (state.phase.is_final or not over):
        _apply(session, row, state)
    if row.phase.is_final and not over:
        session.flush()
        followers.tell(session, row)
    events.append(session, row.tenant, row.project, row.id, state.events)
    return row.phase


def _apply(session: Session, row: JobRow, state: ArrayState) -> None:
    row.phase, row.reason, row.failure = state.phase, state.reason, state.failure
    row.started_at, row.ended_at, row.event_count = state.started_at, state.ended_at, state.event_count
    if state.phase.is_final:
        row.live_name = None
    if session.is_modified(row):
        row.generation += 1


def _held(session: Session, state: ArrayState) -> JobRow:
    row = arrays.hold(session, state.tenant, state.project, state.job)
    if row is None:
        detail = f"array {state.job} of {state.tenant}/{state.project} has no row"
        raise PortError(detail, permanent=True, code="PD-3703")
    return row
