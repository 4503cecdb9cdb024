"""Reservations as the API takes and shows them: the document, its windows, what they come to, and the calendar."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from definitions.api_base import Body, Page, View, doc
from definitions.api_scheduling_documents import DocumentOutcome, SchedulingDocument
from definitions.api_submit import Change

TIME = "2027-03-05T09:00:00Z"
ZONE = "Europe/Berlin"


class WindowPhase(StrEnum):
    """`planned`: the rule names it, and it is not booked yet."""

    PLANNED = "planned"
    UPCOMING = "upcoming"
    LEAD = "lead"
    ACTIVE = "active"
    DRAINING = "draining"
    ENDED = "ended"


class WindowTimes(View):
    """A window: from when to when, in the reservation's own zone too. Hours are real ones."""

    number: Annotated[
        int | None, doc("Of the window in its reservation, from 1 as they are booked. Null: it is not booked.", 3)
    ] = None
    begins_at: Annotated[datetime, doc("When it begins.", TIME)]
    ends_at: Annotated[datetime, doc("When it ends, as it stands now.", "2027-03-05T17:00:00Z")]
    shown_begin: Annotated[str, doc("Its begin in local time, with the offset from UTC.", "2027-03-05 10:00 +01:00")]
    shown_end: Annotated[str, doc("Its end in local time, with the offset from UTC.", "2027-03-05 18:00 +01:00")]
    hours: Annotated[float, doc("Real hours; on a night of changing clocks one more or less than it seems.", 8.0)]
    nodes: Annotated[int | None, doc("Nodes that are kept. Null: known when they are chosen.", 4)] = None
    gpus: Annotated[int | None, doc("GPUs that are kept. Null: known when nodes are chosen.", 32)] = None
    node_hours: Annotated[float | None, doc("Nodes times hours.", 32.0)] = None
    gpu_hours: Annotated[float | None, doc("GPUs times hours.", 256.0)] = None


class PlannedWindow(WindowTimes):
    """A window as it would be booked."""

    clocks_change: Annotated[bool, doc("Whether clocks change in it, or since the window before.", False)] = False
    notes: Annotated[list[str], doc("What clocks do to it; to be seen before it is booked.", [])] = []


class LeftOutDay(View):
    """A day that the rule names and that has no window."""

    day: Annotated[str, doc("The day, or the month.", "2027-02-31")]
    why: Annotated[str, doc("Why.", "the month has no such day")]


class PlannedWindows(View):
    """What a reservation would keep in its next weeks, before anything is booked."""

    name: Annotated[str, doc("Name of the reservation.", "nightly-eval")]
    outcome: Annotated[DocumentOutcome, doc("What applying the document would do.", "created")]
    changes: Annotated[list[Change], Field(description="What differs from the stored document.")] = []
    queue: Annotated[str, doc("Queue that is charged.", "research")]
    keeps: Annotated[str, doc("What is kept, in words.", "4 nodes")]
    time_zone: Annotated[str, doc("Zone of its local times.", ZONE)]
    until: Annotated[datetime, doc("Windows that begin before this are listed.", "2027-04-02T00:00:00Z")]
    windows: Annotated[list[PlannedWindow], Field(description="In order.")]
    left_out: Annotated[list[LeftOutDay], Field(description="Days without a window that the rule names.")] = []
    more: Annotated[bool, doc("Whether windows follow after these.", True)]
    hours: Annotated[float, doc("Real hours of all that are listed.", 40.0)]
    node_hours: Annotated[float | None, doc("Of all that are listed. Null: known when nodes are chosen.", 160.0)] = None
    gpu_hours: Annotated[float | None, doc("Of all that are listed. Null: known when nodes are chosen.", 1280.0)] = None
    price: Annotated[str, doc("What they cost.", "none, no price book here")]


class ReservationView(SchedulingDocument):
    """A reservation: its document, and the window that is on or comes next."""

    queue: Annotated[str, doc("Queue that owns it.", "research")]
    keeps: Annotated[str, doc("What is kept, in words.", "4 nodes")]
    time_zone: Annotated[str, doc("Zone of its local times.", ZONE)]
    pool: Annotated[str, doc("Cluster whose nodes it keeps, or `local`.", "local")]
    phase: Annotated[WindowPhase, doc("Where its present or next window stands; `ended`: nothing is to come.", "lead")]
    window: Annotated[WindowTimes | None, Field(description="The window that is on, or the next. Null: none is.")] = (
        None
    )


class ReservationPage(Page[ReservationView]):
    """Reservations by name."""


class WindowUse(View):
    """What one job uses, or used, of a window. Of jobs that are not yours: amounts."""

    job: Annotated[str | None, doc("Id of the job, if it is yours.", "01j9zx3v0c5m8k2p4q6r7s8t9v")] = None
    name: Annotated[str | None, doc("Its name, if it is yours.", "digits")] = None
    project: Annotated[str | None, doc("Its project, if it is yours.", "default")] = None
    yours: Annotated[bool, doc("Whether you may see the job.", True)] = False
    since: Annotated[datetime, doc("From when on.", TIME)]
    until: Annotated[datetime | None, doc("Until when. Null: it goes on.", None)] = None
    nodes: Annotated[int, doc("Nodes of the window that it has.", 2)]
    gpus: Annotated[float, doc("GPUs of the window that it has.", 16.0)]


class WindowView(WindowTimes):
    """A window that was booked: what has become of it, and what was used of it until now."""

    number: Annotated[int, doc("Of the window in its reservation, from 1 as they are booked.", 3)]
    phase: Annotated[WindowPhase, doc("Where it stands.", "active")]
    version: Annotated[int, doc("Grows with every change; the ETag.", 1)]
    extended: Annotated[str, doc("By how much it was made longer.", "2h")] = ""
    cancelled_at: Annotated[datetime | None, doc("When it was given up.", None)] = None
    charged_until: Annotated[datetime | None, doc("Until when it is charged. Null: not at all.", TIME)] = None
    node_names: Annotated[list[str], doc("Its nodes, once it has some.", ["node-0001"])] = []
    short: Annotated[str, doc("Why it has no nodes, with the numbers.", "needs 4 nodes, 2 are there")] = ""
    moved: Annotated[
        str, doc("Where the rules of its time zone would put it today, if they have changed since it was booked.", "")
    ] = ""
    uses: Annotated[list[WindowUse], Field(description="Who used it, in order.")] = []
    used_node_hours: Annotated[float | None, doc("Node-hours that jobs used until now.", 20.5)] = None
    unused_node_hours: Annotated[float | None, doc("Node-hours until now that nobody used.", 11.5)] = None
    used_gpu_hours: Annotated[float | None, doc("GPU-hours that jobs used until now.", 164.0)] = None
    unused_gpu_hours: Annotated[float | None, doc("GPU-hours until now that nobody used.", 92.0)] = None


class WindowPage(Page[WindowView]):
    """Booked windows of a reservation, in order."""


class ExtendWindow(Body):
    """How much longer a window should be: by so much, or until a local time of its reservation."""

    by: Annotated[str | None, doc("So much longer.", "2h", max_length=40)] = None
    until: Annotated[str | None, doc("New end in local time of the zone.", "2027-03-05T20:00", max_length=40)] = None
    window: Annotated[int | None, doc("Its number; left out, the one that is on or comes next.", 3, ge=1)] = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.by is None) == (self.until is None):
            raise ValueError("give exactly one of by and until")
        return self


class CancelWindow(Body):
    """Which window is given up."""

    window: Annotated[int | None, doc("Its number; left out, the one that is on or comes next.", 3, ge=1)] = None


class WindowOutcome(View):
    """What became of a request about a window."""

    request_id: Annotated[str, doc("Of the request; a repeat of it has the same.", "5f2a")]
    reservation: Annotated[str, doc("Name of the reservation.", "nightly-eval")]
    window: Annotated[int, doc("Number of the window.", 3)]
    settled: Annotated[bool, doc("False: it was handed over and not answered yet.", True)] = True
    ends_at: Annotated[datetime | None, doc("When the window ends now.", "2027-03-05T19:00:00Z")] = None
    shown_end: Annotated[str, doc("That in local time.", "2027-03-05 20:00 +01:00")] = ""
    message: Annotated[str, doc("What happened, in a sentence.", "window 3 ends 2027-03-05 20:00 +01:00")]


class CalendarWindow(WindowTimes):
    """A window in a calendar."""

    phase: Annotated[WindowPhase, doc("Where it stands; `planned` is not booked yet.", "planned")]


class CalendarEntry(View):
    """A reservation with its windows of the days that were asked for."""

    reservation: Annotated[str, doc("Its name.", "nightly-eval")]
    queue: Annotated[str, doc("Queue that owns it.", "research")]
    pool: Annotated[str, doc("Cluster whose nodes it keeps, or `local`.", "local")]
    keeps: Annotated[str, doc("What is kept, in words.", "4 nodes")]
    time_zone: Annotated[str, doc("Zone of its local times.", ZONE)]
    windows: Annotated[list[CalendarWindow], Field(description="In order; given up ones are not among them.")]
    hours_by_day: Annotated[list[float], doc("Real hours on each of the days.", [0.0, 8.0])]


class CalendarPage(Page[CalendarEntry]):
    """Reservations by name, each with its windows of some days."""

    time_zone: Annotated[str, doc("Zone in which the days begin.", ZONE)]
    days: Annotated[list[str], doc("The days.", ["2027-03-05", "2027-03-06"])]
