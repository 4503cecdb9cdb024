"""A reservation on a real control plane: its window begins on the only node while another job runs there, and is given
up while its own job runs.

The window has begun when it is applied, so that nothing waits for a clock.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.integration.test_queues import DOCUMENTS, Trainer, document
from tests.support.polling import eventually
from tests.support.stack import Stack, running_stack

NAME = "noon"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("reserved") / "home", PERDURE_SWEEP="1s") as running:
        applied = running.ask(
            "POST", "/scheduling-documents:apply", json={"documents": [*DOCUMENTS, document("Queue", "others")]}
        )
        assert applied.status_code == 200, applied.text
        yield running


def reserve(stack: Stack, **more: Any) -> None:
    start = datetime.now(UTC) - timedelta(minutes=1)
    spec = {"queue": "research", "pool": "one", "capacity": {"gpus": 1}, "timeZone": "Etc/UTC", "grace": "20s"}
    when = {"start": f"{start:%Y-%m-%dT%H:%M}", "length": "2h"}
    body = {"documents": [document("Reservation", NAME, **spec, **when, **more)]}
    applied = stack.ask("POST", "/scheduling-documents:apply", json=body)
    assert applied.status_code == 200, applied.text


def window(stack: Stack) -> dict[str, Any]:
    found: list[dict[str, Any]] = stack.ask("GET", f"/reservations/{NAME}/windows").json()["items"]
    return found[0]


def displaced(stack: Stack, job: str) -> list[str]:
    return [event["reason"] for event in stack.items(job, "events") if event["kind"] == "displaced"]


def test_a_window_takes_its_node_from_others_runs_its_own_job_and_gives_the_node_back(
    stack: Stack, tmp_path: Path
) -> None:
    stranger = Trainer(stack, tmp_path, "stranger", queue="others")
    stranger.until("Running")
    stranger.saved()
    reserve(stack)
    own = Trainer(stack, tmp_path, "own", reservation=NAME)
    own.until("Running")
    assert displaced(stack, stranger.id) == [f"displaced: the reservation {NAME} has begun on its nodes"]
    assert stranger.is_in("Queued")
    assert (window(stack)["phase"], window(stack)["nodeNames"]) == ("active", ["one-0000"])
    assert [use["job"] for use in window(stack)["uses"]] == [own.id]
    own.saved()
    longer = stack.ask("POST", f"/reservations/{NAME}:extend", json={"by": "1h"})
    assert longer.json()["code"] == "PD-2163"
    assert stack.ask("POST", f"/reservations/{NAME}:cancel").status_code == 200
    stranger.until("Running")
    assert displaced(stack, own.id) == [f"displaced: the reservation {NAME} is over"]
    eventually(lambda: window(stack)["phase"] == "ended", 60, "the end of the window")
    eventually(lambda: "over for good" in stack.ask("GET", f"/jobs/{own.id}/why").text, 60, "word of the end")
    refused = stack.ask("POST", f"/jobs/{own.id}:cancel")
    assert refused.status_code == 200
    assert stranger.finish()["phase"] == "Succeeded"
    _, second = stack.items(stranger.id, "attempts")
    assert second["fromStep"] > 0
