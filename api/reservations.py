"""Reservations: what one would keep before it is booked, and what is shown of those that are there."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from sqlalchemy.orm import Session

from api.access import Caller
from api.reservation_amounts import Around, around, booked_times, times
from api.scheduling_documents import Sent, change_of, checked, document_view, stored
from definitions.api_reservations import (
    LeftOutDay,
    PlannedWindow,
    PlannedWindows,
    ReservationPage,
    ReservationView,
    WindowPhase,
    WindowTimes,
)
from definitions.cluster import LOCAL_CLUSTER
from definitions.errors import PerdureError
from definitions.reservation import Reservation, ReservationSpec
from policies.reserving import Amount, Plan, hours, in_words, next_weeks, planned, still_to_come
from policies.scheduling.terms import time_of
from store import reservation_reads, scheduling_documents
from store.tables import BookingRow, ReservationRow, SchedulingDocumentRow

KIND = "Reservation"
MOST_WINDOWS = 200
NO_PRICE = "none, no price book here"


def only_reservation(sent: Sent) -> Reservation:
    """The one reservation of a request. Raises PD-2022."""
    if len(sent.kinds) != 1 or not isinstance(sent.kinds[0], Reservation):
        found = f"it is a {sent.kinds[0].kind}" if len(sent.kinds) == 1 else f"there are {len(sent.kinds)} documents"
        raise PerdureError("PD-2022", f"one {KIND} is expected, and {found}", where="document.kind")
    return sent.kinds[0]


def require_new(session: Session, name: str) -> None:
    """Raise PD-2167 when there is a reservation of that name."""
    if scheduling_documents.get(session, KIND, name) is not None:
        raise PerdureError("PD-2167", f"there is a reservation {name!r}", where="metadata.name")


def plan_of(caller: Caller, session: Session, sent: Sent, weeks: int) -> PlannedWindows:
    """Every window of the next weeks, with what it comes to. Checks the document as applying it would."""
    found, now = only_reservation(sent), caller.deps.now()
    checked(session, sent, now)
    name, spec = found.metadata.name, found.spec
    others = [each for each in stored(session) if (each.kind, each.metadata.name) != (KIND, name)]
    kept = around(caller, session, [*others, found]).amount(name, spec)
    plan, until = next_weeks(spec, ZoneInfo, _seconds(now), weeks, MOST_WINDOWS)
    change = change_of(session, found)
    return PlannedWindows(
        name=name,
        outcome=change.outcome,
        changes=change.changes,
        queue=spec.queue,
        keeps=in_words(spec.capacity),
        time_zone=spec.time_zone,
        until=time_of(until),
        price=NO_PRICE,
        **_planned(plan, kept),
    )


def reservation_page(caller: Caller, session: Session, limit: int, after: str | None) -> ReservationPage:
    """Reservations by name, each with the window that is on or comes next. Raises BadCursor."""
    page = scheduling_documents.page(session, KIND, limit=limit, after=after)
    return ReservationPage(items=_views(caller, session, page.items), next=page.next)


def reservation_view(caller: Caller, session: Session, row: SchedulingDocumentRow) -> ReservationView:
    (view,) = _views(caller, session, [row])
    return view


def _views(caller: Caller, session: Session, rows: list[SchedulingDocumentRow]) -> list[ReservationView]:
    lives = reservation_reads.living(session, [row.name for row in rows])
    present = reservation_reads.present(session, list(lives.values()), caller.deps.now())
    there = around(caller, session)
    return [_view(row, lives.get(row.name), present.get(row.name), there, caller.deps.now()) for row in rows]


def _view(
    row: SchedulingDocumentRow, life: ReservationRow | None, booked: BookingRow | None, there: Around, now: datetime
) -> ReservationView:
    spec = ReservationSpec.model_validate(row.document["spec"])
    phase, window = _stands(row.name, spec, life, booked, there, now)
    return ReservationView(
        **document_view(row).model_dump(),
        queue=spec.queue,
        keeps=in_words(spec.capacity),
        time_zone=spec.time_zone,
        pool=spec.cluster or LOCAL_CLUSTER,
        phase=phase,
        window=window,
    )


def _stands(
    name: str,
    spec: ReservationSpec,
    life: ReservationRow | None,
    booked: BookingRow | None,
    there: Around,
    now: datetime,
) -> tuple[WindowPhase, WindowTimes | None]:
    """Its present or next window; one that is not booked yet is taken from the rule."""
    if booked is not None:
        return WindowPhase(booked.phase), WindowTimes(**booked_times(booked, there.held(booked)))
    over = life is not None and life.ended_at is not None
    if over or not still_to_come(spec, ZoneInfo, _seconds(now)):
        return WindowPhase.ENDED, None
    (following,) = planned(spec, ZoneInfo, _seconds(now), _seconds(now), 1).windows
    return WindowPhase.PLANNED, WindowTimes(**times(following.window, there.amount(name, spec)))


def _planned(plan: Plan, kept: Amount) -> dict[str, object]:
    return dict(
        windows=[
            PlannedWindow(**times(each.window, kept), clocks_change=each.clocks_change, notes=list(each.notes))
            for each in plan.windows
        ],
        left_out=[LeftOutDay(day=each.day, why=each.why) for each in plan.left_out],
        more=plan.more,
        hours=hours(plan.seconds),
        node_hours=kept.node_hours(plan.seconds),
        gpu_hours=kept.gpu_hours(plan.seconds),
    )


def _seconds(at: datetime) -> int:
    return int(at.astimezone(UTC).timestamp())
