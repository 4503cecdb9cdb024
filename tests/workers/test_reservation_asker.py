"""Requests about windows reach a reservation's workflow, and each way in which that can fail has its answer."""

import time
import uuid
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Worker

from activities.reservations import Look, ReservationActivities, ReservationKey, WindowWork
from api.ports import EngineAway, NoAnswerYet
from definitions.ids import reservation_workflow_id
from definitions.reservation_calls import WindowAnswer, WindowAsked, WindowVerb
from tests.support.ports import free_port
from workers.reservation_asker import ENDED, TemporalReservations
from workers.workflow_runner import workflow_runner
from workflows.reservation import ReservationWorkflow

TENANT = "acme"
NOW = datetime(2027, 3, 1, tzinfo=UTC)
LIMIT = timedelta(seconds=10)


@dataclass
class Windows:
    """Notes what is asked; makes windows longer, and denies the rest. It is over when it is told so."""

    asked: list[WindowAsked] = field(default_factory=list)
    over: bool = False

    def keep(self, key: ReservationKey, now: datetime) -> Look:
        return Look(over=self.over)

    def change(self, work: WindowWork, now: datetime) -> WindowAnswer:
        self.asked.append(work.asked)
        if work.asked.until is None:
            return WindowAnswer(denied="it has ended", fix="nothing is held any more")
        return WindowAnswer(ends_at=work.asked.until)


def asked(verb: WindowVerb, until: datetime | None = None) -> WindowAsked:
    return WindowAsked(verb=verb, request_id=uuid.uuid4().hex, actor="ada", at=NOW, made_at=NOW, number=1, until=until)


def a_name() -> str:
    return f"r-{uuid.uuid4().hex[:8]}"


@asynccontextmanager
async def living(client: Client, name: str, windows: Windows) -> AsyncIterator[None]:
    """A reservation of this name whose workflow runs."""
    queue, served = f"lives-{name}", ReservationActivities(windows)
    with ThreadPoolExecutor(2) as threads:
        worker = Worker(
            client, task_queue=queue, workflows=[ReservationWorkflow], workflow_runner=workflow_runner(),
            activities=[served.keep, served.change_window], activity_executor=threads,
        )  # fmt: skip
        async with worker:
            key = ReservationKey(tenant=TENANT, name=name)
            identity = reservation_workflow_id(TENANT, name)
            handle = await client.start_workflow(ReservationWorkflow.run, key, id=identity, task_queue=queue)
            yield
            windows.over = True
            await handle.signal(ReservationWorkflow.changed)
            await handle.result()


async def test_a_window_is_changed_once_however_often_that_is_sent_and_a_denial_is_an_answer(
    temporal_client: Client,
) -> None:
    asker, windows, name = TemporalReservations(temporal_client, LIMIT), Windows(), a_name()
    async with living(temporal_client, name, windows):
        longer = asked(WindowVerb.EXTEND, NOW + timedelta(hours=2))
        answers = [await asker.ask(TENANT, name, longer) for _ in range(3)]
        assert answers == [WindowAnswer(ends_at=longer.until)] * 3
        denied = await asker.ask(TENANT, name, asked(WindowVerb.CANCEL))
        assert denied == WindowAnswer(denied="it has ended", fix="nothing is held any more")
        assert [each.verb for each in windows.asked] == [WindowVerb.EXTEND, WindowVerb.CANCEL]
    assert await asker.ask(TENANT, name, asked(WindowVerb.CANCEL)) == ENDED


async def test_without_a_worker_the_answer_is_not_known_yet(temporal_client: Client) -> None:
    name = a_name()
    handle = await temporal_client.start_workflow(
        ReservationWorkflow.run,
        ReservationKey(tenant=TENANT, name=name),
        id=reservation_workflow_id(TENANT, name),
        task_queue=f"nobody-{name}",
    )
    with pytest.raises(NoAnswerYet):
        await TemporalReservations(temporal_client, timedelta(seconds=1)).ask(TENANT, name, asked(WindowVerb.CANCEL))
    await handle.terminate()


async def test_an_engine_that_is_away_is_noticed_at_once() -> None:
    lazy = await Client.connect(f"127.0.0.1:{free_port()}", data_converter=pydantic_data_converter, lazy=True)
    began = time.monotonic()
    with pytest.raises(EngineAway):
        await TemporalReservations(lazy, LIMIT).ask(TENANT, "r", asked(WindowVerb.CANCEL))
    assert time.monotonic() - began < LIMIT.total_seconds()
