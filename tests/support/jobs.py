"""Jobs in the making: short builders of states, evidence and facts, so that a test says only what it is about."""

from datetime import UTC, datetime, timedelta
from typing import Any

from definitions.attempt import (
    AttemptLaunch,
    AttemptObservation,
    AttemptRef,
    CheckpointRecord,
    Collected,
    RankEvidence,
    RankState,
)
from definitions.facts import AttemptCollected, Fact, Launched, Observed, Requested, Verb
from definitions.job_state import JobState
from definitions.places import Displaced, Placed, PlacedPod, Placement
from policies.job_steps import attempt_token
from policies.lifecycle import advance, begin, moment

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SEED = "5eed" * 8


def ref(number: int = 1, job: str = "job-1") -> AttemptRef:
    return AttemptRef(tenant="default", project="default", job=job, number=number, token=attempt_token(SEED, number))


def launch_of(job: str = "job-1", **changes: Any) -> AttemptLaunch:
    given = {"ref": ref(0, job), "name": "train", "owner": "ada", "argv": ("true",), "grace": timedelta(seconds=5)}
    return AttemptLaunch(**{**given, **changes})


def new_state(job: str = "job-1", *, nodes: int = 1, launch: dict[str, Any] | None = None, **changes: Any) -> JobState:
    given = {
        "tenant": "default",
        "project": "default",
        "job": job,
        "launch": launch_of(job, nodes=nodes, **(launch or {})),
        "seed": SEED,
    }
    return JobState(**{**given, **changes})


def rank(number: int = 0, **changes: Any) -> RankEvidence:
    given = {"rank": number, "node": f"node-{number}", "state": RankState.EXITED, "exit_code": 0, "ended_at": NOW}
    return RankEvidence(**{**given, **changes})


def observed(state: JobState, *ranks: RankEvidence, at: datetime = NOW, ended: bool = True) -> AttemptObservation:
    assert state.ref is not None
    return AttemptObservation(ref=state.ref, at=at, ranks=ranks, ended=ended)


def checkpoint(step: int, *, token: str = "t", complete: bool = True, **changes: Any) -> CheckpointRecord:
    folder = f"checkpoints/step-{step:010d}.{token}"
    given = {"step": step, "token": token, "attempt": 1, "folder": folder, "complete": complete, "saved_at": NOW}
    return CheckpointRecord(**{**given, **changes})


def asked(verb: Verb, request_id: str = "r1", **changes: Any) -> Requested:
    return Requested(verb=verb, request_id=request_id, actor="ada", at=NOW, **changes)


def after(state: JobState, *facts: Fact, at: datetime = NOW) -> JobState:
    """Feed facts to the policy one after another."""
    for fact in facts:
        state = advance(state, fact, moment(fact, at)).state
    return state


def started(state: JobState, at: datetime = NOW) -> JobState:
    """A fresh state, run up to Running."""
    state = begin(state, at).state
    return after(state, Launched(attempt=state.attempt, at=at))


def places(state: JobState, *nodes: str, attempt: int | None = None, **changes: Any) -> Placed:
    """Places for the next attempt of a job that waits, one per node of the job unless nodes are named."""
    named = nodes or tuple(f"node-{number}" for number in range(state.launch.nodes))
    placement = Placement(pool="local", decision=1, pods=tuple(PlacedPod(node=name) for name in named))
    given = {"attempt": attempt or state.attempt + 1, "at": NOW, "asked_at": state.queued_at, "placement": placement}
    return Placed(**{**given, **changes})


def placed(state: JobState, at: datetime = NOW) -> JobState:
    """A fresh state with a ticket, run up to Running."""
    state = begin(state, at).state
    state = after(state, places(state), at=at)
    return after(state, Launched(attempt=state.attempt, at=at))


def displaced(state: JobState, why: str = "job big needs its places", **changes: Any) -> Displaced:
    return Displaced(**{"attempt": state.attempt, "at": NOW, "reason": why, **changes})


def due(state: JobState) -> datetime:
    """When the next attempt of a waiting job begins."""
    assert state.wake_at is not None
    return state.wake_at


def ended(state: JobState, *ranks: RankEvidence, at: datetime = NOW, **collected: Any) -> JobState:
    """A running state whose attempt ends with this evidence and is collected."""
    seen = observed(state, *ranks, at=at)
    state = after(state, Observed(observation=seen), at=at)
    given = Collected(observation=seen, **collected)
    return after(state, AttemptCollected(attempt=state.attempt, collected=given), at=at)
