"""Terms of a booked window survive being stored."""

from dataclasses import replace
from datetime import UTC, datetime

from definitions.documents import parse
from definitions.reservation import Reservation
from policies.scheduling.bookings import booked
from policies.scheduling.terms import booking_of, spec_of, terms_of, time_of
from policies.scheduling.windows import windows

DOCUMENT = """\
apiVersion: perdure/v1
kind: Reservation
metadata: {name: night}
spec:
  queue: research
  capacity: {nodes: 2}
  start: 2027-03-27T22:00
  end: 2027-03-28T06:00
  timeZone: Europe/Berlin
  repeat: {frequency: daily, count: 3}
  lead: {time: 2h, mode: drain}
  atEnd: cancel
  grace: 7m
  extension: {most: 4h, notice: 30m, automatic: true}
  cancellation: {notice: 1d}
  chargeIdle: false
"""


def test_a_booking_is_read_as_it_was_written_with_all_that_was_agreed_on() -> None:
    (document,) = parse(DOCUMENT, source="x.yaml", served_only=False)
    assert isinstance(document, Reservation)
    spec = document.spec.model_dump(mode="json", by_alias=True)
    for window in windows(document.spec, most=3):
        booking = replace(booked(window, document.spec), extended=600, cancelled=9, vacated=11)
        terms = terms_of(booking, spec, "request-1")
        assert booking_of(terms, datetime.fromtimestamp(9, UTC), time_of(11)) == booking
        assert (spec_of(terms), terms["request"]) == (document.spec, "request-1")
