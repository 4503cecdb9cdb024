"""Lives of reservations and their windows, on both databases."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from definitions.errors import PerdureError
from definitions.places import Ticket
from store import intake, reservations
from store.engine import reading, transaction
from store.errors import BadCursor
from store.reservations import NewBooking
from store.tables_reservations import BookingRow, ReservationRow
from store.tables_scheduling import PoolChangeRow
from tests.store.builders import NOW

HOUR = timedelta(hours=1)


def applied(engine: Engine, name: str = "nightly", tenant: str = "one", **spec: Any) -> ReservationRow:
    def work(session: Session) -> ReservationRow:
        document = {"kind": "Reservation", "spec": spec}
        return reservations.apply(session, name, document, tenant, "ann", "local", "research", NOW)

    return transaction(engine, work)


def new(number: int, at: int = 1) -> NewBooking:
    return NewBooking(number, NOW + at * HOUR, NOW + (at + 1) * HOUR, {"extended": 0}, "upcoming")


def booked(engine: Engine, life: ReservationRow, *some: NewBooking) -> int:
    return transaction(engine, lambda session: reservations.book(session, life, some, "ann", NOW))


def windows(engine: Engine, life: ReservationRow) -> list[BookingRow]:
    with reading(engine) as session:
        return reservations.windows(session, life)


def news(engine: Engine) -> int:
    with reading(engine) as session:
        kind = PoolChangeRow.kind == reservations.NEWS
        return session.scalar(select(func.count()).select_from(PoolChangeRow).where(kind)) or 0


def changes(engine: Engine, row: BookingRow, **values: Any) -> bool:
    return transaction(engine, lambda session: reservations.change(session, row, values, "bob", NOW))


def test_the_same_document_again_begins_no_other_life_and_wakes_nobody(engine: Engine) -> None:
    first, again = applied(engine), applied(engine, tenant="two")
    assert (again.made_at, again.tenant, again.wanted) == (first.made_at, "one", 1)
    assert applied(engine, nodes=2).wanted == 2


def test_a_name_that_was_removed_begins_another_life_beside_the_one_that_drains(engine: Engine) -> None:
    applied(engine)
    removed = [transaction(engine, lambda session: reservations.remove(session, "nightly", NOW + HOUR)) for _ in "ab"]
    assert removed == [True, False]

    def again(session: Session) -> ReservationRow:
        return reservations.apply(session, "nightly", {}, "one", "ann", "local", "research", NOW + 2 * HOUR)

    second = transaction(engine, again)
    lives = transaction(engine, lambda session: reservations.open_lives(session, "one", "nightly"))
    assert [life.removed_at for life in lives] == [NOW + HOUR, None]
    with reading(engine) as session:
        found = reservations.named(session, "nightly")
        assert found is not None
        assert (found.made_at, reservations.named(session, "daily")) == (second.made_at, None)


def test_a_life_that_was_over_goes_on_with_another_document(engine: Engine) -> None:
    applied(engine)

    def over(session: Session) -> None:
        for life in reservations.open_lives(session, "one", "nightly"):
            reservations.end(session, life, NOW)
            reservations.heard(session, life)

    transaction(engine, over)
    assert transaction(engine, lambda session: reservations.open_lives(session, "one", "nightly")) == []
    assert applied(engine, nodes=3).ended_at is None
    with reading(engine) as session:
        assert [row.name for row in reservations.unheard(session, 9)] == ["nightly"]


def test_a_job_is_refused_once_nothing_of_its_reservation_can_come_any_more(engine: Engine) -> None:
    applied(engine)
    named = Ticket(queue="research", reservation="nightly")

    def end(session: Session) -> None:
        for life in reservations.open_lives(session, "one", "nightly"):
            reservations.end(session, life, NOW)

    with reading(engine) as session:
        intake.check_reservation(session, named)
    transaction(engine, end)
    with reading(engine) as session:
        intake.check_reservation(session, Ticket(queue="research"))
        with pytest.raises(PerdureError, match="nightly") as refused:
            intake.check_reservation(session, named)
    assert (refused.value.code.code, refused.value.where) == ("PD-2161", "spec.reservation")


def test_a_life_is_unheard_until_its_workflow_has_looked_at_all_that_there_is(engine: Engine) -> None:
    def unheard() -> int:
        with reading(engine) as session:
            return len(reservations.unheard(session, 9))

    def look(session: Session) -> None:
        for life in reservations.open_lives(session, "one", "nightly"):
            reservations.heard(session, life)

    applied(engine)
    counts = [unheard()]
    transaction(engine, look)
    counts.append(unheard())
    applied(engine, nodes=5)
    assert [*counts, unheard()] == [1, 0, 1]


def test_a_window_is_booked_once_and_its_pool_is_told_once(engine: Engine) -> None:
    life = applied(engine)
    assert [booked(engine, life, new(1), new(2, 30)), booked(engine, life, new(1, 5), new(2, 30))] == [2, 0]
    assert [(row.number, row.begins_at, row.nodes) for row in windows(engine, life)] == [
        (1, NOW + HOUR, None),
        (2, NOW + 30 * HOUR, None),
    ]
    assert news(engine) == 1


def test_a_change_counts_only_for_the_window_as_it_was_seen(engine: Engine) -> None:
    life = applied(engine)
    booked(engine, life, new(1))
    (seen,) = windows(engine, life)
    (stale,) = windows(engine, life)
    assert (changes(engine, seen, ends_at=NOW + 9 * HOUR), changes(engine, stale, ends_at=NOW)) == (True, False)
    (now,) = windows(engine, life)
    assert (now.ends_at, now.version, now.updated_by, news(engine)) == (NOW + 9 * HOUR, 2, "bob", 2)


def test_a_phase_alone_is_news_and_no_other_version(engine: Engine) -> None:
    life = applied(engine)
    booked(engine, life, new(1))
    assert all(changes(engine, windows(engine, life)[0], phase="lead") for _ in "ab")
    (row,) = windows(engine, life)
    assert (row.phase, row.version, news(engine)) == ("lead", 1, 2)


def test_a_pool_sees_its_windows_that_are_not_over_by_their_start(engine: Engine) -> None:
    life, other = applied(engine), applied(engine, "daily")
    booked(engine, life, new(1, -9), new(2, -8), new(3, 4))
    booked(engine, other, new(1, 2))
    changes(engine, windows(engine, life)[0], phase="ended")
    with reading(engine) as session:
        found = reservations.bookings(session, "local", NOW)
        assert [(row.reservation, row.number) for row in found] == [("nightly", 2), ("daily", 1), ("nightly", 3)]
        assert [row.number for row in reservations.bookings(session, None, NOW, NOW + 3 * HOUR)] == [2, 1]
        assert reservations.bookings(session, "north", NOW) == []


def test_pages_go_through_all_lives_by_name(engine: Engine) -> None:
    for name in ("c", "a", "b"):
        applied(engine, name)
    transaction(engine, lambda session: reservations.remove(session, "b", NOW))
    with reading(engine) as session:
        first = reservations.page(session, limit=2, with_ended=True)
        rest = reservations.page(session, limit=2, after=first.next, with_ended=True)
        assert [[row.name for row in page.items] for page in (first, rest)] == [["a", "b"], ["c"]]
        assert [row.name for row in reservations.page(session, limit=9).items] == ["a", "c"]
        with pytest.raises(BadCursor):
            reservations.page(session, limit=2, after="what")
