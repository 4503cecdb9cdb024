"""Waiting: until the end, until the time is over, and through an absence of the control plane."""

from typing import Any

import pytest

from perdure import PerdureUnreachable, PerdureWaitTimeout
from perdure.client import waiting
from perdure.client._models import JobView, Phase
from perdure.client.call import Call
from perdure.client.script import Ended, Pause, advance
from perdure.codes import UNREACHABLE

AWAY = PerdureUnreachable(UNREACHABLE, "no answer")


def view(phase: Phase) -> JobView:
    fields = {"id": "0k3b", "name": "digits", "tenant": "acme", "project": "default", "owner": "ada", "mode": "batch"}
    fields |= {"phase": phase, "reason": "because", "createdAt": "2026-11-29T12:00:00Z"}
    links = {"self": "", "logs": "", "workflow": ""}
    return JobView.model_validate({**fields, "nodes": 1, "ranks": 1, "generation": 1, "links": links})


class World:
    """A clock that moves when somebody waits, and an API that answers from a list (its last answer again and again)."""

    def __init__(self, *answers: JobView | Exception) -> None:
        self.now = 0.0
        self.answers = list(answers)
        self.asked: list[str] = []

    def carry_out(self, timeout: float | None) -> JobView:
        script = waiting.waiting("digits", None, timeout)
        outcome: Any = None
        error: Exception | None = None
        try:
            while True:
                effect = advance(script, outcome, error)
                outcome, error = None, None
                if isinstance(effect, Pause):
                    self.now += effect.seconds
                    continue
                assert isinstance(effect, Call)
                self.asked.append(effect.path)
                self.now += effect.query["timeout"]
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                outcome, error = (None, answer) if isinstance(answer, Exception) else (answer, None)
        except Ended as ended:
            value: JobView = ended.value
            return value


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> World:
    made = World(*request.param)
    monkeypatch.setattr(waiting, "monotonic", lambda: made.now)
    return made


@pytest.mark.parametrize("world", [[view(Phase.RUNNING), view(Phase.BACKING_OFF), view(Phase.FAILED)]], indirect=True)
def test_it_ends_with_the_job_and_stays_with_the_job_that_had_the_name_first(world: World) -> None:
    assert world.carry_out(None).phase is Phase.FAILED
    assert world.asked == ["/v1/jobs/digits/wait", "/v1/jobs/0k3b/wait", "/v1/jobs/0k3b/wait"]


@pytest.mark.parametrize("world", [[view(Phase.RUNNING)]], indirect=True)
def test_the_time_that_is_given_is_not_exceeded(world: World) -> None:
    with pytest.raises(PerdureWaitTimeout, match="digits is still Running after 70 seconds: because") as timeout:
        world.carry_out(70)
    assert world.now == 70
    assert (timeout.value.code, timeout.value.exit_code) == ("PD-2904", 7)


@pytest.mark.parametrize("world", [[AWAY, AWAY, view(Phase.RUNNING), AWAY, view(Phase.SUCCEEDED)]], indirect=True)
def test_an_absent_control_plane_is_waited_for(world: World) -> None:
    assert world.carry_out(None).phase is Phase.SUCCEEDED


@pytest.mark.parametrize("world", [[AWAY]], indirect=True)
def test_but_not_for_ever(world: World) -> None:
    with pytest.raises(PerdureUnreachable):
        world.carry_out(None)
    assert waiting.PATIENCE < world.now < waiting.PATIENCE + 2 * waiting.LONGEST_POLL + 10


@pytest.mark.parametrize("world", [[view(Phase.SUCCEEDED)]], indirect=True)
def test_a_job_that_has_ended_is_answered_without_waiting(world: World) -> None:
    assert world.carry_out(0).phase is Phase.SUCCEEDED
    assert len(world.asked) == 1
