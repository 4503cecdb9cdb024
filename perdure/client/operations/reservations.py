"""Reservations: what one comes to, its windows, the calendar, and changes of a window. They are the installation's;
the project only says as whom one asks."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from perdure.client._models import (
    CalendarPage,
    PlannedWindows,
    ReservationPage,
    ReservationView,
    WindowOutcome,
    WindowPage,
)
from perdure.client.call import Call, as_json, reading, segment
from perdure.client.documents import Document, body_of
from perdure.client.operations.scheduling import JSON, Catalogue

PATH = "/v1/reservations"
documents = Catalogue("reservations", PATH)


def list_reservations(
    *, limit: int | None = None, cursor: str | None = None, project: str | None = None
) -> Call[ReservationPage]:
    """Reservations by name, each with the window that is on or comes next."""
    page = {"limit": limit, "cursor": cursor}
    return Call("reservations.list", "GET", PATH, reading(ReservationPage), page, project=project)


def get(name: str, *, project: str | None = None) -> Call[ReservationView]:
    """One reservation, with who changed it last and the window that is on or comes next."""
    return Call("reservations.get", "GET", _one(name), reading(ReservationView), project=project)


def create(document: Document, *, project: str | None = None) -> Call[ReservationView]:
    """Store a new reservation, whose windows are then booked. Refused when there is one of that name."""
    return Call(
        "reservations.create",
        "POST",
        PATH,
        reading(ReservationView),
        body=as_json(body_of(document)),
        content_type=JSON,
        project=project,
        keyed=True,
    )


def preview(document: Document, *, weeks: int | None = None, project: str | None = None) -> Call[PlannedWindows]:
    """Every window of the next weeks (4) that a document would keep, and what they come to. Nothing is stored."""
    return Call(
        "reservations.preview",
        "POST",
        f"{PATH}:preview",
        reading(PlannedWindows),
        {"weeks": weeks},
        body=as_json(body_of(document)),
        content_type=JSON,
        project=project,
    )


def windows(
    name: str,
    *,
    since: datetime | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    project: str | None = None,
) -> Call[WindowPage]:
    """Booked windows in order, with who uses each; with `since` those that had not ended by then."""
    query = {"since": None if since is None else since.isoformat(), "limit": limit, "cursor": cursor}
    return Call("reservations.windows", "GET", f"{_one(name)}/windows", reading(WindowPage), query, project=project)


def extend(
    name: str,
    *,
    by: str | None = None,
    until: str | None = None,
    window: int | None = None,
    if_match: str | None = None,
    project: str | None = None,
) -> Call[WindowOutcome]:
    """Make a window longer: by so much, `2h`, or until a local time of the reservation, `2027-03-05T20:00`.

    `window` is its number; left out, the one that is on or comes next.
    """
    return _changing("extend", name, {"by": by, "until": until, "window": window}, if_match, project)


def cancel(
    name: str, *, window: int | None = None, if_match: str | None = None, project: str | None = None
) -> Call[WindowOutcome]:
    """Give one window up. `window` is its number; left out, the one that is on or comes next."""
    return _changing("cancel", name, {"window": window}, if_match, project)


def calendar(
    *,
    first: date | None = None,
    days: int | None = None,
    time_zone: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    project: str | None = None,
) -> Call[CalendarPage]:
    """Reservations by name with their windows of some days (14) from `first` (today) on."""
    query = {
        "from": None if first is None else first.isoformat(),
        "days": days,
        "timeZone": time_zone,
        "limit": limit,
        "cursor": cursor,
    }
    path = "/v1/reservation-calendar"
    return Call("reservations.calendar", "GET", path, reading(CalendarPage), query, project=project)


def _changing(
    verb: str, name: str, body: dict[str, Any], if_match: str | None, project: str | None
) -> Call[WindowOutcome]:
    return Call(
        f"reservations.{verb}",
        "POST",
        f"{_one(name)}:{verb}",
        reading(WindowOutcome),
        body=as_json({field: value for field, value in body.items() if value is not None}),
        content_type=JSON,
        headers={} if if_match is None else {"If-Match": if_match},
        project=project,
        keyed=True,
    )


def _one(name: str) -> str:
    return f"{PATH}/{segment(name)}"
