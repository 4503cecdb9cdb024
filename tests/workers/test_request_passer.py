"""A request to an array on its way to the jobs: who has heard it, and who is to be asked again."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.ports import PortError
from api.ports import EngineAway, JobClosed, NoAnswerYet, RequestRefused
from definitions.facts import Requested, Verb
from definitions.job_state import JobState, RequestOutcome
from definitions.states import Phase
from tests.support.jobs import asked, new_state
from workers.request_passer import OperatorRequests

GRANTED = RequestOutcome(phase=Phase.CANCELLING, reason="stopping")


@dataclass
class Jobs:
    """An operator and an engine in one: what each job answers, and the phase that its workflow tells."""

    answers: dict[str, Exception | float | None] = field(default_factory=dict)
    phases: dict[str, Phase] = field(default_factory=dict)
    heard: list[str] = field(default_factory=list)

    async def request(self, tenant: str, job: str, request: Requested) -> RequestOutcome:
        self.heard.append(job)
        answer = self.answers.get(job)
        if isinstance(answer, Exception):
            raise answer
        if answer is not None:
            await asyncio.sleep(answer)
        return GRANTED

    def get_workflow_handle_for(self, _run: Any, workflow: str) -> "Handle":
        return Handle(self.phases.get(workflow.rpartition("/")[2]))


@dataclass
class Handle:
    phase: Phase | None

    async def query(self, _query: Any) -> JobState:
        if self.phase is None:
            raise RPCError("nobody answers", RPCStatusCode.UNAVAILABLE, b"")
        return new_state().model_copy(update={"phase": self.phase})


async def pass_on(jobs: Jobs, verb: Verb, *names: str, within: float = 5.0) -> tuple[int, ...]:
    passer = OperatorRequests(jobs, cast(Client, jobs), within)
    return await passer.hand_on("acme", dict(enumerate(names)), asked(verb))


@pytest.mark.parametrize(
    ("answer", "verb", "phase", "done"),
    [
        (None, Verb.CANCEL, None, True),
        (JobClosed(started=True), Verb.CANCEL, None, True),
        (JobClosed(started=False), Verb.CANCEL, None, False),
        (NoAnswerYet(), Verb.CANCEL, None, False),
        (RequestRefused("not running"), Verb.CHECKPOINT, Phase.QUEUED, True),
        (RequestRefused("not suspended"), Verb.RESUME, Phase.RUNNING, True),
        (RequestRefused("still being suspended"), Verb.RESUME, Phase.SUSPENDING, False),
        (RequestRefused("its attempt has just ended"), Verb.SUSPEND, Phase.COLLECTING, False),
        (RequestRefused("nobody knows"), Verb.RESUME, None, False),
    ],
)
async def test_a_job_is_asked_again_unless_it_has_heard_or_never_will_need_to(
    answer: Exception | None, verb: Verb, phase: Phase | None, done: bool
) -> None:
    jobs = Jobs({"one": answer}, {} if phase is None else {"one": phase})
    assert await pass_on(jobs, verb, "one", "two") == ((0, 1) if done else (1,))


async def test_an_engine_that_is_away_fails_the_whole_round() -> None:
    with pytest.raises(PortError) as away:
        await pass_on(Jobs({"two": EngineAway()}), Verb.CANCEL, "one", "two")
    assert (away.value.code, away.value.permanent) == ("PD-2040", False)


async def test_whoever_takes_too_long_is_asked_again_and_keeps_nobody_waiting() -> None:
    jobs = Jobs({"slow": 3600.0})
    assert await pass_on(jobs, Verb.CANCEL, "one", "slow", "two", within=0.2) == (0, 2)


async def test_many_are_asked_some_at_a_time() -> None:
    jobs = Jobs()
    names = [f"job-{number}" for number in range(64)]
    assert await pass_on(jobs, Verb.SUSPEND, *names) == tuple(range(64))
    assert sorted(jobs.heard) == sorted(names)
