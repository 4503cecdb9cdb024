"""What the workflow of a reservation does: book its windows and carry them through their phases, and change one of them
when somebody asks for that."""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from pydantic import Field
from temporalio import activity

from activities.clock import utc_now
from activities.effects import effect
from activities.job import port_errors
from definitions.reservation_calls import WindowAnswer, WindowAsked
from definitions.wire import Wire


class ReservationKey(Wire):
    """Whose workflow it is: all lives of the tenant's reservations of this name, of which one may drain still."""

    tenant: str
    name: str


class WindowWork(Wire):
    """Something that is asked of one window."""

    key: ReservationKey
    asked: WindowAsked


class Look(Wire):
    """What came of a look. `wake_after`: seconds until the next one is due. `over`: nothing of it can come any more.
    The others are for people who look at the workflow: phases of windows that are not over -> how many."""

    wake_after: float | None = None
    over: bool = False
    windows: dict[str, int] = Field(default_factory=dict)


class Reservations(Protocol):
    """The store as lives of reservations see it. Raises PortError."""

    def keep(self, key: ReservationKey, now: datetime) -> Look:
        """Book what is due and write what has changed with time. Safe to repeat: it is looked at anew."""

    def change(self, work: WindowWork, now: datetime) -> WindowAnswer:
        """Extend or cancel a window, or say why not. Safe to repeat: a request that was carried out is known by its
        id."""


class ReservationActivities:
    def __init__(self, reservations: Reservations, now: Callable[[], datetime] = utc_now) -> None:
        self._reservations = reservations
        self._now = now

    @activity.defn
    def keep(self, key: ReservationKey) -> Look:
        """Bring a reservation's windows to what they are to be now. Safe to repeat."""
        with port_errors(), effect("reservation-keep"):
            return self._reservations.keep(key, self._now())

    @activity.defn
    def change_window(self, work: WindowWork) -> WindowAnswer:
        """Carry out what somebody asks of a window. Safe to repeat: the request's id is kept with it."""
        with port_errors(), effect("reservation-change"):
            return self._reservations.change(work, self._now())
