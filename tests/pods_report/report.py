"""Provokes every end, and says of each what was concluded, in whose words, and who wrote them."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from activities.ports import PortError
from definitions.attempt import AttemptLaunch, AttemptObservation, RankEvidence
from definitions.pod import PodCause
from definitions.states import FailureClass
from definitions.wire import Wire
from policies.failure import first_failure, judge
from tests.activities.runtime_world import until_ended
from tests.pods_report import nodes_act
from tests.pods_report.provocations import PROVOCATIONS, Provocation
from tests.pods_report.sources import source, writers
from tests.pods_report.stage import Stage
from tests.support.polling import eventually

AT_A_TIME = 4
UNIT_TEST = "unit test"
EVIDENCE = "tests/policies/test_pod_evidence.py::test_the_end_of_a_pod_says_its_cause_its_class_and_its_sentence"
FAILURE = "tests/policies/test_failure.py::test_evidence_decides_the_class_and_the_sentence"
# What nobody can bring about here on purpose, with the test that decides it from facts.
UNPROVOKED: Mapping[str, tuple[FailureClass, PodCause | None, str]] = {
    "pod gone unseen": (FailureClass.INFRASTRUCTURE, PodCause.LOST, EVIDENCE),
    "disk of the run folder full": (FailureClass.DISK_FULL, None, FAILURE),
}
Say = Callable[[str], None]


class Row(Wire):
    """One end. `words`: the sentence that a user reads. `source`: a component of the cluster, or `unit test`."""

    name: str
    how: str
    failure: FailureClass | None
    cause: PodCause | None = None
    words: str
    source: str
    writers: tuple[str, ...] = ()


def rows(stage: Stage, say: Say) -> list[Row]:
    """Every end in the order of the tables; those that need a node's kubelet come last, one at a time."""

    def played(provocation: Provocation) -> Row:
        row = play(stage, provocation)
        say(f"{row.name}: {row.failure or 'not seen'}")
        return row

    with ThreadPoolExecutor(AT_A_TIME) as pool:
        found = list(pool.map(played, PROVOCATIONS))
    found += [played(provocation) for provocation in nodes_act.PROVOCATIONS]
    return found + [
        Row(name=name, how="from facts alone", failure=failure, cause=cause, words=test, source=UNIT_TEST)
        for name, (failure, cause, test) in UNPROVOKED.items()
    ]


def play(stage: Stage, provocation: Provocation) -> Row:
    """Bring one end about. What does not come to pass is a row too, with the reason in place of the words."""
    launch = provocation.launch()
    if provocation.admission is not None:
        stage.admissions[launch.ref.token] = provocation.admission
    try:
        with _cleared(stage, launch):
            provocation.first(stage, launch)
            stage.runtime.launch(launch)
            seen = provocation.then(stage, launch)
            if seen is None:
                seen = until_ended(stage, launch.ref) if provocation.ends else _waiting(stage, launch)
    except (AssertionError, PortError) as error:
        seen = None
        words = f"not seen: {error}"
    names = writers(stage.pods_seen(launch.ref).values())
    told = {"name": provocation.name, "how": provocation.how, "source": source(names), "writers": names}
    if seen is None:
        return Row(failure=None, words=words, **told)
    if not provocation.ends:
        return Row(failure=provocation.failure, cause=_cause(seen), words=seen.note, **told)
    judged = judge(seen, launch.mode)
    return Row(failure=judged.failure, cause=_cause(seen), words=judged.reason, **told)


@contextmanager
def _cleared(stage: Stage, launch: AttemptLaunch) -> Iterator[None]:
    try:
        yield
    finally:
        stage.runtime.collect(launch)


def _waiting(stage: Stage, launch: AttemptLaunch) -> AttemptObservation:
    """The attempt as soon as something is said of what holds it up."""

    def held() -> AttemptObservation | None:
        seen = stage.runtime.observe(launch.ref)
        return seen if _cause(seen) is not None else None

    return eventually(held, stage.patience, "what holds it up is told")


def _cause(seen: AttemptObservation) -> PodCause | None:
    rank: RankEvidence | None = first_failure(seen) or next(iter(seen.ranks), None)
    return None if rank is None else rank.cause
