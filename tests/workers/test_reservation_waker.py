"""The loop that starts and tells the workflows of reservations, against a real engine."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sqlalchemy import Engine
from temporalio.client import Client
from temporalio.worker import Worker

from activities.adapters.reservations import SqlReservations
from activities.reservations import ReservationActivities
from definitions.ids import reservation_workflow_id
from definitions.reservation_calls import WindowAnswer, WindowAsked, WindowVerb
from store import reservations
from store.engine import reading, transaction
from store.tables_reservations import BookingRow, ReservationRow
from tests.store.builders import NOW
from tests.support.polling import eventually_async
from tests.support.reserved_rig import reservation
from tests.workers.test_pool_waker import Clock
from workers.reservation_waker import ReservationWaker
from workers.workflow_runner import workflow_runner
from workflows.reservation import ReservationWorkflow

TENANT = "acme"


def applied(engine: Engine, name: str, **spec: Any) -> ReservationRow:
    document = reservation(name, start="2030-03-05T10:00", extension={"most": "1h"}, **spec)
    return transaction(
        engine,
        lambda session: reservations.apply(session, name, document, TENANT, "ada", "local", "research", NOW),
    )


def waker(engine: Engine, client: Client, clock: Clock, queue: str = "nobody-works-here") -> ReservationWaker:
    return ReservationWaker(engine, client, task_queue=queue, clock=clock)


def windows(engine: Engine, life: ReservationRow) -> list[BookingRow]:
    with reading(engine) as session:
        return reservations.windows(session, life)


def a_name() -> str:
    return f"r-{uuid.uuid4().hex[:8]}"


async def signals(client: Client, name: str) -> int:
    history = await client.get_workflow_handle(reservation_workflow_id(TENANT, name)).fetch_history()
    return sum(event.HasField("workflow_execution_signaled_event_attributes") for event in history.events)


async def test_a_reservation_is_told_of_a_change_once_and_again_after_a_while(
    engine: Engine, temporal_client: Client
) -> None:
    clock, name = Clock(), a_name()
    loop = waker(engine, temporal_client, clock)
    assert await loop.sweep() == 0
    applied(engine, name)
    assert [await loop.sweep() for _ in range(3)] == [1, 0, 0]
    applied(engine, name, grace="1m")
    assert await loop.sweep() == 1
    clock.seconds += 6
    assert await loop.sweep() == 1
    assert await signals(temporal_client, name) == 3
    await temporal_client.get_workflow_handle(reservation_workflow_id(TENANT, name)).terminate()


async def test_its_workflow_books_its_windows_changes_them_when_asked_and_ends_with_its_document(
    engine: Engine, temporal_client: Client
) -> None:
    name, queue = a_name(), f"lives-{uuid.uuid4().hex[:8]}"
    loop, served = waker(engine, temporal_client, Clock(), queue), ReservationActivities(SqlReservations(engine))
    life = applied(engine, name)
    with ThreadPoolExecutor(2) as threads:
        worker = Worker(
            temporal_client, task_queue=queue, workflows=[ReservationWorkflow], workflow_runner=workflow_runner(),
            activities=[served.keep, served.change_window], activity_executor=threads,
        )  # fmt: skip
        await carried_out(worker, loop, engine, temporal_client, life)
    assert [row.phase for row in windows(engine, life)] == ["ended"]
    with reading(engine) as session:
        found = reservations.get(session, name)
        assert found is not None
        assert found.ended_at is not None


async def carried_out(
    worker: Worker, loop: ReservationWaker, engine: Engine, client: Client, life: ReservationRow
) -> None:
    """It is booked, made longer, and removed."""
    name = life.name
    async with worker:
        await loop.sweep()
        await eventually_async(lambda: windows(engine, life), 30, "a booked window")
        assert await loop.sweep() == 0
        handle = client.get_workflow_handle(reservation_workflow_id(TENANT, name))
        (window,) = windows(engine, life)
        asked = WindowAsked(
            verb=WindowVerb.EXTEND, request_id="r1", actor="ada", at=NOW, made_at=life.made_at, number=1,
            until=window.ends_at + (window.ends_at - window.begins_at) / 4,
        )  # fmt: skip
        answers = [
            await handle.execute_update("extend", asked, id=request, result_type=WindowAnswer)
            for request in ("u1", "u2")
        ]
        assert [answer.ends_at for answer in answers] == [asked.until, asked.until]
        transaction(engine, lambda session: reservations.remove(session, name, NOW))
        await loop.sweep()
        await handle.result()
