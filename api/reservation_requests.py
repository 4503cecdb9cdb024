"""Requests about a booked window: making it longer, giving it up. The reservation's workflow carries them out."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from fastapi.concurrency import run_in_threadpool
from pydantic import TypeAdapter, ValidationError
from sqlalchemy.orm import Session

from api.access import Caller
from api.idempotency import Repeatable, Reply, once_outside
from api.job_access import matches
from api.ports import EngineAway, NoAnswerYet
from definitions.api_reservations import CancelWindow, ExtendWindow, WindowOutcome
from definitions.errors import PerdureError
from definitions.principal import ResourceKind
from definitions.quantities import QuantityError, parse_duration
from definitions.reservation_calls import WindowAnswer, WindowAsked, WindowVerb
from definitions.scheduling_types import WallTime
from definitions.spec_errors import sentence
from policies.scheduling.bookings import charged
from policies.scheduling.terms import booking_of, spec_of, time_of
from policies.scheduling.walltime import moment, shown
from store import reservation_reads
from store.tables import BookingRow, ReservationRow

DENIED = {WindowVerb.EXTEND: "PD-2163", WindowVerb.CANCEL: "PD-2164"}
WALL: TypeAdapter[datetime] = TypeAdapter(WallTime)


@dataclass(frozen=True)
class Found:
    """The window that a request is about, and the life that it is of."""

    life: ReservationRow
    row: BookingRow


async def extend(caller: Caller, request: Repeatable, name: str, body: ExtendWindow, if_match: str | None) -> Reply:
    """Make a window longer. Raises PD-2163 when its reservation does not allow it, PD-2165 for no such window."""

    async def work(request_id: str) -> Reply:
        found = await run_in_threadpool(_find, caller, name, body.window, if_match)
        asked = _asked(caller, found, WindowVerb.EXTEND, request_id)
        return await _ask(caller, found, asked.model_copy(update={"until": time_of(_until(found.row, body))}))

    return await once_outside(caller, request, work)


async def cancel(caller: Caller, request: Repeatable, name: str, body: CancelWindow, if_match: str | None) -> Reply:
    """Give a window up. Raises PD-2164 when it has ended, PD-2165 for no such window."""

    async def work(request_id: str) -> Reply:
        found = await run_in_threadpool(_find, caller, name, body.window, if_match)
        return await _ask(caller, found, _asked(caller, found, WindowVerb.CANCEL, request_id))

    return await once_outside(caller, request, work)


def life_of(caller: Caller, session: Session, name: str) -> ReservationRow:
    """The life whose document is there. Raises PD-2004."""
    life = reservation_reads.living(session, [name]).get(name)
    if life is None:
        raise caller.missing(ResourceKind.RESERVATION, name)
    caller.log["reservation"] = name
    return life


async def _ask(caller: Caller, found: Found, asked: WindowAsked) -> Reply:
    try:
        answer = await caller.deps.reservations.ask(found.life.tenant, found.life.name, asked)
    except NoAnswerYet:
        message = "handed over; the reservation has not answered yet"
        return Reply.of(202, _outcome(found, asked, WindowAnswer(), message, settled=False))
    except EngineAway:
        raise PerdureError("PD-2040", f"{asked.verb} was not carried out: the workflow engine is away") from None
    if answer.denied:
        detail = f"window {asked.number} of {found.life.name!r}: {answer.denied}"
        raise PerdureError(DENIED[asked.verb], detail, remedy=sentence(answer.fix) if answer.fix else None)
    return Reply.of(200, _outcome(found, asked, answer, _told(found, asked, answer)))


def _find(caller: Caller, name: str, number: int | None, if_match: str | None) -> Found:
    with caller.reading() as session:
        life = life_of(caller, session, name)
        if number is None:
            row = reservation_reads.present(session, [life], caller.deps.now()).get(name)
        else:
            row = reservation_reads.window(session, life, number)
    if row is None:
        what = "no window that is on or to come is booked" if number is None else f"window {number} is not booked"
        raise PerdureError("PD-2165", f"of reservation {name!r} {what}", where="window")
    tag = f'"{row.version}"'
    if if_match is not None and not matches(tag, if_match):
        detail = f"window {row.number} of {name!r} is at {tag}, not at {if_match}"
        raise PerdureError("PD-2007", detail, where="If-Match", data={"etag": tag})
    return Found(life, row)


def _asked(caller: Caller, found: Found, verb: WindowVerb, request_id: str) -> WindowAsked:
    return WindowAsked(
        verb=verb,
        request_id=request_id,
        actor=caller.principal.name,
        at=caller.deps.now(),
        made_at=found.life.made_at,
        number=found.row.number,
    )


def _until(row: BookingRow, body: ExtendWindow) -> int:
    """The end that is asked for."""
    if body.by is not None:
        try:
            by = parse_duration(body.by)
        except QuantityError as error:
            raise PerdureError("PD-1108", error.what, where="body.by", remedy=sentence(error.fix)) from None
        return booking_of(row.terms, row.cancelled_at, row.vacated_at).ends + by // timedelta(seconds=1)
    try:
        wall = WALL.validate_python(body.until)
    except ValidationError as error:
        context = error.errors()[0].get("ctx", {})
        what, fix = str(context.get("what", "it is not a local time")), str(context.get("fix", ""))
        raise PerdureError("PD-1602", what, where="body.until", remedy=sentence(fix) if fix else None) from None
    return moment(wall, ZoneInfo(spec_of(row.terms).time_zone)).at


def _outcome(
    found: Found, asked: WindowAsked, answer: WindowAnswer, message: str, *, settled: bool = True
) -> WindowOutcome:
    return WindowOutcome(
        request_id=asked.request_id,
        reservation=found.life.name,
        window=asked.number,
        settled=settled,
        ends_at=answer.ends_at,
        shown_end=_shown(found.row, answer),
        message=message,
    )


def _told(found: Found, asked: WindowAsked, answer: WindowAnswer) -> str:
    """What was done, in a sentence."""
    window = f"window {asked.number} of {found.life.name}"
    if asked.verb is WindowVerb.EXTEND:
        return f"{window} ends {_shown(found.row, answer)}"
    booking = booking_of(found.row.terms, found.row.cancelled_at, found.row.vacated_at)
    billed = charged(booking if booking.cancelled else replace(booking, cancelled=int(asked.at.timestamp())))
    if billed is None:
        return f"{window} is given up, and nothing of it is charged"
    return f"{window} is given up; it is charged until {_local(found.row, billed[1])}"


def _shown(row: BookingRow, answer: WindowAnswer) -> str:
    return "" if answer.ends_at is None else _local(row, int(answer.ends_at.timestamp()))


def _local(row: BookingRow, at: int) -> str:
    return shown(at, ZoneInfo(spec_of(row.terms).time_zone))
