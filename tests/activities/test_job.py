"""What job activities hand on, and how ports' errors reach the engine."""

import pytest
from temporalio.exceptions import ApplicationError

from activities.job import current_attempt, port_errors, slim
from activities.ports import PortError
from definitions.attempt import ArtifactRecord, Collected
from definitions.facts import AttemptCollected, Observed
from definitions.progress import ProgressNow
from policies.failure import judge
from tests.support.jobs import NOW, after, checkpoint, ended, new_state, observed, rank, started

LINES = tuple(f"{number:02d} " + "x" * 120 for number in range(20))
LARGEST_PAYLOAD = 512 * 1024  # bytes from which on the engine's client warns


def test_the_evidence_of_a_thousand_ranks_fits_into_a_history_and_says_the_same() -> None:
    ranks = [rank(number, exit_code=1, last_lines=LINES) for number in range(1024)]
    files = tuple(ArtifactRecord(path=f"f{n}", bytes=1, sha256="0" * 64, object_key="k" * 80) for n in range(5000))
    whole = Collected(
        observation=observed(started(new_state(nodes=1024)), *ranks), artifacts=5000, artifact_files=files
    )
    handed_on = slim(whole)
    assert len(whole.model_dump_json()) > LARGEST_PAYLOAD
    assert len(handed_on.model_dump_json()) < LARGEST_PAYLOAD
    assert judge(handed_on.observation) == judge(whole.observation)
    assert handed_on.artifacts == 5000


def test_whatever_a_job_left_fits_into_a_history_and_decides_the_same() -> None:
    running = started(new_state())
    killed = rank(0, exit_code=None, signal=9, last_lines=LINES)
    seen = observed(running, killed)
    points = [checkpoint(step, metrics={f"m{n}": 0.5 for n in range(20)}) for step in range(5000)]
    points += [checkpoint(9000 + n, complete=False, problem="p" * 1200) for n in range(500)]
    whole = Collected(
        observation=seen,
        checkpoints=tuple(points),
        reached_step=9500,
        progress=ProgressNow(step=9500, at=NOW, metrics={f"metric-{n}": 0.5 for n in range(50_000)}),
        problems=tuple(f"link-{n}: left out, it is a link" for n in range(50_000)),
    )
    handed_on = slim(whole)
    assert len(handed_on.model_dump_json()) < 64 * 1024
    collecting = after(running, Observed(observation=seen))
    both = [after(collecting, AttemptCollected(attempt=1, collected=each)) for each in (whole, handed_on)]
    assert both[0] == both[1]
    assert both[0].resume_step == 4999


@pytest.mark.parametrize("permanent", [True, False])
def test_a_ports_error_becomes_the_engines_with_its_code(permanent: bool) -> None:
    with pytest.raises(ApplicationError) as raised, port_errors():
        raise PortError("no such snapshot", permanent=permanent, code="PD-3404")
    assert (raised.value.type, raised.value.message) == ("PD-3404", "no such snapshot")
    assert raised.value.non_retryable is permanent


def test_the_row_of_an_attempt_is_how_it_began_until_it_has_ended() -> None:
    running = started(new_state())
    begun = current_attempt(running)
    assert begun is not None
    assert (begun.number, begun.ended_at, begun.started_at) == (1, None, running.attempt_started_at)
    over = current_attempt(ended(running, rank(0)))
    assert over is not None
    assert over.ended_at is not None
    assert current_attempt(new_state()) is None
