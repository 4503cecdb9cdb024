"""What is asked of the workflow of a reservation, and what it answers."""

from datetime import datetime
from enum import StrEnum

from definitions.wire import Wire


class WindowVerb(StrEnum):
    """Each is the name of an update of `ReservationWorkflow`."""

    EXTEND = "extend"
    CANCEL = "cancel"


class WindowAsked(Wire):
    """Have one booked window made longer, up to `until`, or given up. `request_id` makes a repeat harmless.

    `made_at` tells the reservation from an earlier one of the same name; `number` is that of the booking.
    """

    verb: WindowVerb
    request_id: str
    actor: str
    at: datetime
    made_at: datetime
    number: int
    until: datetime | None = None


class WindowAnswer(Wire):
    """What came of it. `denied`: why the window stays as it is, empty when it was done; `fix`: what to ask instead."""

    ends_at: datetime | None = None
    denied: str = ""
    fix: str = ""
