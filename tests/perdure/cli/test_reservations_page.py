"""The worked example of docs/reservations.md: its file is applied, its commands are carried out, its windows are booked
by the code that books them."""

import asyncio
import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from sqlalchemy import Engine

from activities.adapters.reservations import SqlReservations
from activities.reservations import ReservationKey, WindowWork
from definitions.reservation_calls import WindowAnswer, WindowAsked
from tests.arch.docs_source import blocks
from tests.perdure.live import PERDURE, Live, live_api

PAGE = Path("docs/reservations.md")
RESERVATION, JOB = (block.body for block in blocks("yaml", PAGE))
COMMANDS = [line[2:] for block in blocks("console", PAGE) for line in block.body.splitlines()]
PLANNED, CALENDAR = (block.body for block in blocks("text", PAGE))
(OPTIONS,) = (block.body for block in blocks("sh", PAGE))
NOW = datetime(2027, 3, 20, 12, tzinfo=UTC)
QUEUES = next(iter(blocks("yaml", Path("docs/queues.md")))).body


class Booking:
    """Books and changes windows at once, as the reservation's workflow does."""

    def __init__(self, engine: Engine) -> None:
        self._store = SqlReservations(engine)

    def book(self) -> None:
        self._store.keep(ReservationKey(tenant="acme", name="nightly"), NOW)

    async def ask(self, tenant: str, reservation: str, asked: WindowAsked) -> WindowAnswer:
        work = WindowWork(key=ReservationKey(tenant=tenant, name=reservation), asked=asked)
        return await asyncio.to_thread(self._store.change, work, NOW)


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """The API some days before the first of these nights."""
    with live_api(tmp_path, lambda: NOW) as running:
        yield running


def ran(live: Live, folder: Path, command: str) -> str:
    environment = {**live.environment, "PATH": f"{Path(PERDURE).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        shlex.split(command), cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def test_the_commands_of_the_page_do_what_it_says(live: Live, tmp_path: Path) -> None:
    (tmp_path / "queues.yaml").write_text(QUEUES)
    (tmp_path / "nightly.yaml").write_text(RESERVATION)
    booking = Booking(live.world.engine)
    live.world.reservations.instead = booking
    shown: dict[str, str] = {}
    for command in COMMANDS:
        shown[command] = ran(live, tmp_path, command)
        if "create" in command and "--yes" in command:
            booking.book()
            with live.client() as client:
                job = client.submit(yaml.safe_load(JOB)).id
            assert live.world.row(job).submission["ticket"]["reservation"] == "nightly"
            (tmp_path / "job.yaml").write_text(JOB.replace("name: evaluate", "name: again"))
            assert json.loads(ran(live, tmp_path, "perdure apply -f job.yaml --dry-run --json=reservation")) == {
                "reservation": "nightly"
            }
    assert shown["perdure reservations create -f nightly.yaml --dry-run"] == PLANNED
    assert next(text for command, text in shown.items() if "calendar" in command) == CALENDAR
    windows = json.loads(next(text for command, text in shown.items() if " windows " in command))["items"]
    assert windows[0] == {
        "number": 1,
        "phase": "upcoming",
        "shownEnd": "2027-03-27 07:00 +01:00",
        "chargedUntil": "2027-03-27T06:00:00Z",
    }
    assert [each["phase"] for each in windows] == ["upcoming", "upcoming", "ended", "upcoming", "upcoming"]
    assert windows[2]["chargedUntil"] is None


def test_its_options_say_what_its_file_says(live: Live, tmp_path: Path) -> None:
    (tmp_path / "queues.yaml").write_text(QUEUES)
    ran(live, tmp_path, "perdure apply -f queues.yaml")
    planned = ran(live, tmp_path, f"{OPTIONS.replace(chr(92) + chr(10), ' ').strip()} --dry-run")
    assert planned == PLANNED
