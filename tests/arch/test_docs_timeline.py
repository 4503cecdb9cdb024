"""The picture in the README is drawn from a recorded run, and shows all of it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from definitions.states import Phase
from docs.makers.recording import Recording
from docs.makers.timeline import SOURCE, draw

BEGIN = datetime(2026, 1, 31, 12, tzinfo=UTC)


def moment(seconds: float) -> str:
    return (BEGIN + timedelta(seconds=seconds)).isoformat()


def phase(seconds: float, name: str, reason: str) -> dict[str, Any]:
    data = {"phase": name}
    return {"seq": 1, "at": moment(seconds), "actor": "perdure", "kind": "phase", "reason": reason, "data": data}


@pytest.fixture
def run() -> Recording:
    job: dict[str, Any] = {
        "id": "0" * 26,
        "name": "a<b",
        "tenant": "t",
        "project": "p",
        "owner": "ada",
        "mode": "batch",
    }
    links = {"self": "x", "logs": "x", "workflow": "x"}
    job |= {"phase": "Succeeded", "reason": "", "nodes": 1, "ranks": 1, "generation": 1}
    first = {
        "number": 1,
        "token": "t",
        "startedAt": moment(1),
        "endedAt": moment(5),
        "failure": "signal",
        "reason": "k",
    }
    second = {"number": 2, "token": "u", "startedAt": moment(6), "endedAt": moment(9), "fromStep": 40, "reason": "fine"}
    return Recording.model_validate(
        {
            "job": {**job, "createdAt": moment(0), "endedAt": moment(10), "links": links},
            "attempts": [first, second],
            "events": [
                phase(1, "Running", "it runs & runs"),
                phase(5, "Starting", "again"),
                phase(10, "Succeeded", "ok"),
            ],
            "checkpoints": [
                {"step": 40, "folder": "f", "attempt": 1, "token": "t", "complete": True, "savedAt": moment(4)}
            ],
            "marks": [{"at": moment(5), "text": "killed <here>"}],
        }
    )


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("}text")]


def test_phases_follow_each_other_without_a_gap_from_acceptance_to_the_end(run: Recording) -> None:
    seconds = [(name, (a - BEGIN).seconds, (b - BEGIN).seconds) for name, a, b in run.phases()]
    assert seconds == [(Phase.PENDING, 0, 1), (Phase.RUNNING, 1, 5), (Phase.STARTING, 5, 10)]


def test_everything_is_drawn_and_nothing_breaks_the_markup(run: Recording) -> None:
    shown = texts(draw(run))
    assert "a<b: 1 rank, 2 attempts, Succeeded after 10.0 s" in shown
    for said in ("killed <here>", "it runs & runs", "from the start: k", "from step 40: fine", "5.0 s"):
        assert said in shown


def test_a_place_on_the_drawing_grows_with_time(run: Recording) -> None:
    bars = [e.attrib for e in ElementTree.fromstring(draw(run)).iter() if e.tag.endswith("}rect")][1:]
    attempts = [(float(bar["x"]), float(bar["x"]) + float(bar["width"])) for bar in bars[-2:]]
    assert attempts[0][0] < attempts[0][1] < attempts[1][0] < attempts[1][1]


def test_the_recorded_run_survived_and_its_second_attempt_began_from_a_verified_checkpoint() -> None:
    recording = Recording.model_validate_json(Path(SOURCE).read_text())
    assert recording.job.phase is Phase.SUCCEEDED
    assert len(recording.attempts) == 2
    first, second = recording.attempts
    assert first.failure is not None
    assert second.from_step in {c.step for c in recording.checkpoints if c.complete and c.attempt == first.number}
    assert len(recording.marks) >= 3
