"""Reservations: what one comes to before it is booked, its windows, their calendar, and changes of a window.

They are documents of the scheduler, which are stored and deleted like the others.
"""

from datetime import date, datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Body, Depends, Query, Response
from sqlalchemy.orm import Session

from api import reservation_requests
from api.access import Caller, Needs
from api.body import DOCUMENT_BODY, DocumentBody
from api.idempotency import Once, Reply, once
from api.job_access import matches
from api.negotiate import Accept, one
from api.parameters import UNCHANGED, Cursor, IfMatch, IfNoneMatch, Limit, NamePath, aware
from api.reservation_windows import MOST_DAYS, Days, calendar_page, window_page
from api.reservations import KIND, only_reservation, plan_of, require_new, reservation_page, reservation_view
from api.scheduling_documents import checked, etag, find, put, read_documents
from definitions.api_reservations import (
    CalendarPage,
    CancelWindow,
    ExtendWindow,
    PlannedWindows,
    ReservationPage,
    ReservationView,
    WindowOutcome,
    WindowPage,
)
from definitions.principal import Action, ResourceKind
from definitions.schedule import TimeZone
from store import scheduling_documents

router = APIRouter(tags=["reservations"])
Creator = Annotated[Caller, Depends(Needs(Action.CREATE, ResourceKind.RESERVATION))]
Lister = Annotated[Caller, Depends(Needs(Action.LIST, ResourceKind.RESERVATION))]
Reader = Annotated[Caller, Depends(Needs(Action.READ, ResourceKind.RESERVATION))]
Operator = Annotated[Caller, Depends(Needs(Action.OPERATE, ResourceKind.RESERVATION))]
Weeks = Annotated[
    int, Query(description="Windows of so many weeks from now, or from its first one on.", examples=[4], ge=1, le=52)
]
From = Annotated[
    date | None, Query(alias="from", description="The first day; today when left out.", examples=["2027-03-01"])
]
DayCount = Annotated[int, Query(alias="days", description="So many days.", examples=[14], ge=1, le=MOST_DAYS)]
Zone = Annotated[
    TimeZone,
    Query(alias="timeZone", description="Zone in which days begin.", examples=["Europe/Berlin"], max_length=64),
]
Since = Annotated[
    datetime | None, Query(description="Only windows that had not ended by then.", examples=["2027-03-05T09:00:00Z"])
]
HANDED_OVER: dict[int | str, dict[str, Any]] = {
    202: {"model": WindowOutcome, "description": "Handed over; the reservation has not answered yet."}
}


@router.get("/v1/reservations", name="reservations.list", response_model=ReservationPage)
def list_(caller: Lister, limit: Limit = None, cursor: Cursor = None) -> Any:
    """Reservations by name, each with the window that is on or comes next."""
    size = limit or caller.deps.settings.limits.default_page
    with caller.reading() as session:
        return reservation_page(caller, session, size, cursor)


@router.post(
    "/v1/reservations",
    name="reservations.create",
    status_code=201,
    response_model=ReservationView,
    openapi_extra=DOCUMENT_BODY,
)
def create(caller: Creator, body: DocumentBody, request: Once) -> Any:
    """Store a new reservation, whose windows are then booked. Refused when there is one of that name."""
    sent = read_documents(body)
    kind = only_reservation(sent)
    name = kind.metadata.name

    def work(session: Session) -> Reply:
        scheduling_documents.lock(session)
        require_new(session, name)
        checked(session, sent, caller.deps.now())
        row = put(caller, session, kind)
        view = reservation_view(caller, session, row)
        return Reply.of(201, view, ETag=etag(row), Location=f"/v1/reservations/{name}")

    caller.log["document"] = f"{KIND}/{name}"
    return once(caller, request, work).send()


@router.post(
    "/v1/reservations:preview",
    name="reservations.preview",
    response_model=PlannedWindows,
    openapi_extra=DOCUMENT_BODY,
)
def preview(caller: Reader, body: DocumentBody, weeks: Weeks = 4) -> Any:
    """Every window of the next weeks that a document would keep, with hours and what they come to. Nothing is stored.

    It is checked as apply would.
    """
    sent = read_documents(body)
    with caller.reading() as session:
        return plan_of(caller, session, sent, weeks)


@router.get("/v1/reservations/{name}", name="reservations.get", response_model=ReservationView, responses=UNCHANGED)
def get(caller: Reader, name: NamePath, if_none_match: IfNoneMatch = None, accept: Accept = "") -> Any:
    """One reservation, with who changed it last and the window that is on or comes next."""
    with caller.reading() as session:
        row = find(caller, session, KIND, name)
        view = reservation_view(caller, session, row)
    tag = {"ETag": etag(row)}
    if if_none_match is not None and matches(etag(row), if_none_match):
        return Response(status_code=304, headers=tag)
    return one(view, accept, tag)


@router.get("/v1/reservations/{name}/windows", name="reservations.windows", response_model=WindowPage)
def windows(caller: Lister, name: NamePath, since: Since = None, limit: Limit = None, cursor: Cursor = None) -> Any:
    """Booked windows in order: where each stands, its nodes, who uses it, and what was used and not used until now."""
    size = limit or caller.deps.settings.limits.default_page
    with caller.reading() as session:
        life = reservation_requests.life_of(caller, session, name)
        return window_page(caller, session, life, since=aware(since), limit=size, after=cursor)


@router.post(
    "/v1/reservations/{name}:extend",
    name="reservations.extend",
    response_model=WindowOutcome,
    responses=HANDED_OVER,
)
async def extend(caller: Operator, name: NamePath, request: Once, body: ExtendWindow, if_match: IfMatch = None) -> Any:
    """Make a window longer, as far as its reservation allows."""
    return (await reservation_requests.extend(caller, request, name, body, if_match)).send()


@router.post(
    "/v1/reservations/{name}:cancel",
    name="reservations.cancel",
    response_model=WindowOutcome,
    responses=HANDED_OVER,
)
async def cancel(
    caller: Operator,
    name: NamePath,
    request: Once,
    body: Annotated[CancelWindow | None, Body()] = None,
    if_match: IfMatch = None,
) -> Any:
    """Give one window up: what it keeps is free for others, and its jobs are told to go. Others of it stay."""
    return (await reservation_requests.cancel(caller, request, name, body or CancelWindow(), if_match)).send()


@router.get("/v1/reservation-calendar", name="reservations.calendar", response_model=CalendarPage)
def calendar(
    caller: Lister,
    first: From = None,
    count: DayCount = 14,
    zone: Zone = "UTC",
    limit: Limit = None,
    cursor: Cursor = None,
) -> Any:
    """Reservations by name with their windows of some days, booked ones and those that their rules name."""
    size = limit or caller.deps.settings.limits.default_page
    day = first or caller.deps.now().astimezone(ZoneInfo(zone)).date()
    with caller.reading() as session:
        return calendar_page(caller, session, Days.of(day, count, zone), size, cursor)
