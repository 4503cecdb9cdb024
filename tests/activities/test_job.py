"""What job activities hand on, and how ports' errors reach the engine."""

from typing import cast

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.job import RuntimeActivities, StateWork, current_attempt, port_errors, slim
from activities.ports import Journal, JournalEntry, PortError, Runtime
from definitions.attempt import ArtifactRecord, AttemptLaunch, AttemptObservation, Collected, RankState
from definitions.facts import AttemptCollected, Observed
from definitions.pod_needs import PodNeeds
from definitions.progress import ProgressNow
from definitions.states import Phase
from policies.failure import judge
from policies.lifecycle import begin
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


class OneRuntime:
    """Where a launch returns what a test says."""

    def __init__(self, seen: AttemptObservation) -> None:
        self._seen = seen

    def launch(self, launch: AttemptLaunch) -> AttemptObservation:
        return self._seen


class KeptEntries:
    def __init__(self) -> None:
        self.written: list[JournalEntry] = []

    def write(self, entry: JournalEntry) -> None:
        self.written.append(entry)


@pytest.mark.parametrize(
    ("pod", "ranks", "ended", "phase", "reason"),
    [
        (PodNeeds(), (RankState.RUNNING, RankState.RUNNING), False, Phase.RUNNING, "all 2 ranks are running"),
        (PodNeeds(), (RankState.RUNNING, RankState.WAITING), False, Phase.STARTING, "waits: no node can take it"),
        (PodNeeds(), (RankState.EXITED, RankState.RUNNING), False, Phase.RUNNING, "all 2 ranks are running"),
        (PodNeeds(), (RankState.EXITED, RankState.EXITED), True, Phase.RUNNING, "all 2 ranks are running"),
        (None, (RankState.WAITING, RankState.WAITING), False, Phase.RUNNING, "all 2 ranks are running"),
    ],
)
def test_a_launch_records_whether_its_ranks_run_or_wait(
    pod: PodNeeds | None, ranks: tuple[RankState, ...], ended: bool, phase: Phase, reason: str
) -> None:
    """Processes of this machine that are behind their gate count as running: they open it themselves."""
    state = begin(new_state(nodes=2, launch={"pod": pod}), NOW).state
    evidence = tuple(rank(number, state=kind, exit_code=None) for number, kind in enumerate(ranks))
    note = "waits: no node can take it" if RankState.WAITING in ranks else ""
    seen = observed(state, *evidence, ended=ended).model_copy(update={"note": note})
    journal = KeptEntries()
    activities = RuntimeActivities(cast(Runtime, OneRuntime(seen)), cast(Journal, journal), lambda: NOW)
    result = ActivityEnvironment().run(activities.launch, StateWork(state=state))
    assert (result.fact.running, result.fact.note) == (phase is Phase.RUNNING, note)
    assert result.recorded.phase is phase
    assert [(entry.state.phase, entry.state.reason) for entry in journal.written] == [
        (Phase.STARTING, state.reason),
        (phase, reason),
    ]


def test_news_leave_the_ranks_out_and_say_since_when_they_run() -> None:
    state = started(new_state(nodes=2))
    run = [rank(n, state=RankState.RUNNING, exit_code=None, started_at=NOW.replace(hour=n)) for n in (0, 1)]
    brief = observed(state, *run, ended=False).brief()
    assert (brief.ranks, brief.running, brief.running_since) == ((), True, NOW.replace(hour=1))
    assert brief.brief() == brief
    over = observed(state, rank(0), rank(1)).brief()
    assert (over.ended, over.running) == (True, False)
