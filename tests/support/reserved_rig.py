"""A pool with reservations: their lives are looked at as their workflow does it, before every decision."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from activities.adapters.reservations import SqlReservations
from activities.reservations import Look, ReservationActivities, ReservationKey, WindowWork
from activities.scheduling import Decided
from definitions.documents import from_data
from definitions.job_document import document_of
from definitions.places import Displaced
from definitions.reservation_calls import WindowAnswer, WindowAsked, WindowVerb
from store import reservations, scheduling_documents
from store.engine import reading, transaction
from store.tables_reservations import BookingRow, ReservationRow, ReservedUseRow
from tests.support.pool_rig import FLAVOR, POOL, START, TENANT, Rig, kind, simulated

NAME = "night"
HOUR = 3600
BEGINS = START + timedelta(hours=2)
QUEUES = (kind("Queue", "all"), kind("Queue", "research", parent="all"), kind("Queue", "others", parent="all"))


def reservation(name: str = NAME, **spec: Any) -> dict[str, Any]:
    """Two nodes from two hours after the start on, for two hours."""
    base: dict[str, Any] = {
        "queue": "research",
        "capacity": {"nodes": 2},
        "start": "2026-11-29T14:00",
        "length": "2h",
        "timeZone": "Etc/UTC",
    }
    return kind("Reservation", name, **base | spec)


class ReservedRig(Rig):
    """Four nodes, of which a reservation keeps two."""

    def __init__(self, engine: Engine, *documents: dict[str, Any]) -> None:
        super().__init__(engine, FLAVOR, *QUEUES, simulated())
        self.lives = ReservationActivities(SqlReservations(engine), lambda: self.now)
        for document in documents:
            self.reserve(document)

    def reserve(self, document: dict[str, Any], tenant: str = TENANT) -> None:
        """Apply a reservation, and have its workflow hear of it."""
        name, spec = document["metadata"]["name"], document["spec"]
        stored = document_of(from_data(document, served_only=False))

        def work(session: Session) -> None:
            scheduling_documents.put(session, "Reservation", name, stored, "ada", self.now)
            reservations.apply(session, name, stored, tenant, "ada", spec.get("cluster", POOL), spec["queue"], self.now)

        transaction(self.engine, work)
        self.keep(name, tenant)

    def unreserve(self, name: str = NAME) -> None:
        def work(session: Session) -> None:
            scheduling_documents.remove(session, "Reservation", name)
            reservations.remove(session, name, self.now)

        transaction(self.engine, work)
        self.keep(name)

    def keep(self, name: str = NAME, tenant: str = TENANT) -> Look:
        return self.lives.keep(ReservationKey(tenant=tenant, name=name))

    def at(self, time: datetime, name: str = NAME) -> Decided:
        """Go to a time, look at the reservation, and decide."""
        self.now = time
        self.keep(name)
        return self.decide()

    def ask(self, verb: WindowVerb, number: int = 1, request: str | None = None, **more: Any) -> WindowAnswer:
        asked = WindowAsked(
            verb=verb, request_id=request or uuid4().hex, actor="ada", at=self.now, number=number,
            made_at=self.life().made_at, **more,
        )  # fmt: skip
        return self.lives.change_window(WindowWork(key=ReservationKey(tenant=TENANT, name=NAME), asked=asked))

    def life(self, name: str = NAME) -> ReservationRow:
        with reading(self.engine) as session:
            found = reservations.get(session, name)
            assert found is not None
            return found

    def windows(self, name: str = NAME) -> list[BookingRow]:
        with reading(self.engine) as session:
            return reservations.windows(session, self.life(name))

    def uses(self, name: str = NAME) -> list[ReservedUseRow]:
        with reading(self.engine) as session:
            made = self.life(name).made_at
            return reservations.uses(session, name, made, START, START + timedelta(days=99))

    def displaced(self) -> list[Displaced]:
        return [message.fact for message in self.jobs.told if isinstance(message.fact, Displaced)]

    def nodes_of(self, job: str) -> list[str]:
        found = self.gang(job)
        return [] if found is None else sorted({pod["node"] for pod in found.pods or ()})
