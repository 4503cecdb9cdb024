"""Windows of a reservation as its workflow books them, written without it."""

from datetime import datetime
from zoneinfo import ZoneInfo

from sqlalchemy import Engine, select

from definitions.reservation import ReservationSpec
from policies.scheduling.bookings import booked
from policies.scheduling.terms import terms_of, time_of
from policies.scheduling.windows import windows
from store import reservations
from store.engine import session
from store.reservations import NewBooking
from store.tables import BookingRow, ReservationRow, ReservedUseRow


def book(engine: Engine, name: str, most: int, now: datetime) -> None:
    """Book the first windows of the rule of a reservation that was applied."""
    with session(engine) as active:
        life = active.scalars(select(ReservationRow).where(ReservationRow.name == name)).one()
        spec = ReservationSpec.model_validate(life.document["spec"])
        found = [booked(each, spec) for each in windows(spec, ZoneInfo, most=most)]
        new = [
            NewBooking(
                each.window.number + 1,
                time_of(each.begins),
                time_of(each.ends),
                terms_of(each, life.document["spec"]),
                "upcoming",
            )
            for each in found
        ]
        reservations.book(active, life, new, "scheduler", now)


def change(engine: Engine, name: str, number: int, **values: object) -> None:
    """Write a window as decisions and its workflow do."""
    with session(engine) as active:
        mine = (BookingRow.reservation == name, BookingRow.number == number)
        row = active.scalars(select(BookingRow).where(*mine)).one()
        for field, value in values.items():
            setattr(row, field, value)
        row.version += 1


def move(engine: Engine, name: str, number: int, seconds: int) -> None:
    """Have a window begin and end so much later than the rules of its zone say, as if these were others by now."""
    with session(engine) as active:
        mine = (BookingRow.reservation == name, BookingRow.number == number)
        row = active.scalars(select(BookingRow).where(*mine)).one()
        window = row.terms["window"]
        later = {edge: window[edge] + seconds for edge in ("begins", "ends")}
        row.terms = {**row.terms, "window": {**window, **later}}


def use(
    engine: Engine, name: str, job: str, tenant: str, since: datetime, until: datetime | None, nodes: int, gpus: int
) -> None:
    """Note that a job had nodes and whole GPUs of a reservation."""
    with session(engine) as active:
        life = active.scalars(select(ReservationRow).where(ReservationRow.name == name)).one()
        active.add(
            ReservedUseRow(
                reservation=name,
                made_at=life.made_at,
                job=job,
                since=since,
                tenant=tenant,
                until=until,
                nodes=nodes,
                gpus=gpus * 1000,
            )
        )
