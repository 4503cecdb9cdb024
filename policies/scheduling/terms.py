"""The terms of a booked window as they are stored, and read again.

They hold the reservation's spec as it was at booking, so that a document that changes later, or is removed, changes
nothing of a window that has begun.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from definitions.reservation import ReservationSpec
from policies.scheduling.bookings import Booking, booked
from policies.scheduling.windows import Window

Terms = dict[str, Any]


def terms_of(booking: Booking, spec: Mapping[str, Any], request: str = "") -> Terms:
    """What is stored of a booking, beside when it was cancelled and vacated. `spec`: as its document has it. `request`:
    id of the last request that changed it."""
    window = booking.window
    return {
        "spec": dict(spec),
        "window": {
            "number": window.number,
            "wall": window.wall.isoformat(),
            "begins": window.begins,
            "ends": window.ends,
            "shown": [window.shown_begin, window.shown_end],
            "notes": list(window.notes),
        },
        "extended": booking.extended,
        "request": request,
    }


def spec_of(terms: Mapping[str, Any]) -> ReservationSpec:
    return ReservationSpec.model_validate(terms["spec"])


def booking_of(
    terms: Mapping[str, Any], cancelled_at: datetime | None = None, vacated_at: datetime | None = None
) -> Booking:
    """The booking of stored terms, by the times that are columns of its row."""
    kept = terms["window"]
    begin, end = kept["shown"]
    wall = datetime.fromisoformat(kept["wall"])
    window = Window(kept["number"], wall, kept["begins"], kept["ends"], begin, end, tuple(kept["notes"]))
    cancelled, vacated = (None if at is None else int(at.timestamp()) for at in (cancelled_at, vacated_at))
    return replace(booked(window, spec_of(terms)), extended=terms["extended"], cancelled=cancelled, vacated=vacated)


def time_of(seconds: int) -> datetime:
    """An instant as it is stored."""
    return datetime.fromtimestamp(seconds, UTC)
