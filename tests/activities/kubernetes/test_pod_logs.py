"""Places in a pod's log: pages, ranks, rotation, and reading on in the kept files."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.pod_logs import PodLogs
from activities.adapters.kubernetes.tracking import Attempt, SeenPod
from activities.adapters.objects_folder import FolderObjects
from activities.ports import LogLine, PortError
from activities.progress import kept_progress
from definitions.attempt import AttemptLaunch
from definitions.object_keys import log_prefix
from policies.progress import parse_points
from tests.activities.runtime_world import launch_of
from tests.support.jobs import NOW

LINES = [
    (0, "2026-01-01T00:00:00.000001Z", "one"),
    (1, "2026-01-01T00:00:00.000001Z", "of the other"),
    (0, "2026-01-01T00:00:00.000001Z", "two"),
    (0, "2026-01-01T00:00:00.000001Z", ""),
    (0, "2026-01-01T00:00:01.500000Z", "four"),
    (0, "2026-01-01T00:00:02.000000Z", "five"),
]


class Pods:
    """A cluster's answer for the log of one pod, `dropped` bytes of which a kubelet has rotated away."""

    def __init__(self) -> None:
        self.log = "".join(f"{stamp} {rank} {text}\n" for rank, stamp, text in LINES).encode()
        self.dropped = 0
        self.error: PortError | None = None

    def logs(self, _pod: str, _container: str, **_options: object) -> "Chunks":
        if self.error is not None:
            raise self.error
        return Chunks(self.log[self.dropped :])


class Chunks:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def __iter__(self) -> Iterator[bytes]:
        return iter([self._data[start : start + 7] for start in range(0, len(self._data), 7)])

    def close(self) -> None:
        pass


@pytest.fixture
def launch() -> AttemptLaunch:
    return launch_of(("true",), processes_per_node=2)


@pytest.fixture
def attempt(launch: AttemptLaunch) -> Attempt:
    pod = {
        "metadata": {"name": "p", "uid": "u", "annotations": {"batch.kubernetes.io/job-completion-index": "0"}},
        "status": {},
    }
    return Attempt(launch.ref, pods={"u": SeenPod(pod, NOW)})


@pytest.fixture
def pods() -> Pods:
    return Pods()


@pytest.fixture
def objects(tmp_path: Path) -> FolderObjects:
    return FolderObjects(tmp_path)


@pytest.fixture
def logs(pods: Pods, objects: FolderObjects) -> PodLogs:
    client: KubeClient = pods  # type: ignore[assignment]
    return PodLogs(client, objects)


def texts(lines: list[LogLine]) -> list[str]:
    return [line.text for line in lines]


def test_what_ranks_reported_is_kept_beside_their_logs_and_is_no_line_of_any(
    logs: PodLogs, pods: Pods, objects: FolderObjects, launch: AttemptLaunch, attempt: Attempt
) -> None:
    points = [json.dumps({"step": n, "time": "2026-01-01T00:00:00Z", "metrics": {"loss": n}}) for n in range(3)]
    for some in (points[:2], points[2:]):
        pods.log += f"2026-01-01T00:00:03.000000Z + {chr(31).join(some)}\n".encode()
    ref = launch.ref
    read = logs.reports("p")
    kept = logs.keep(attempt, launch)
    assert [point.step for point in parse_points(read)] == [0, 1, 2]
    found = kept_progress(objects, ref.tenant, ref.project, ref.job)
    assert [(point.step, point.metrics) for point in found] == [(n, {"loss": n}) for n in range(3)]
    assert kept.last_lines() == {0: ("one", "two", "", "four", "five"), 1: ("of the other",)}
    assert logs.last_lines(attempt, launch) == kept.last_lines()
    assert texts(logs.read(ref, 0, attempt, 2, None, 10)) == ["one", "two", "", "four", "five"]


def test_lines_of_one_rank_come_in_pages_of_any_size(logs: PodLogs, launch: AttemptLaunch, attempt: Attempt) -> None:
    for size in (1, 2, 3, 10):
        found: list[LogLine] = []
        while some := logs.read(launch.ref, 0, attempt, 2, found[-1].cursor if found else None, size):
            found += some
        assert texts(found) == ["one", "two", "", "four", "five"]
    assert texts(logs.read(launch.ref, 1, attempt, 2, None, 10)) == ["of the other"]


def test_a_place_stays_good_when_the_kubelet_drops_the_beginning(
    logs: PodLogs, pods: Pods, launch: AttemptLaunch, attempt: Attempt
) -> None:
    *_, last = logs.read(launch.ref, 0, attempt, 2, None, 4)
    pods.dropped = pods.log.index(b"2026-01-01T00:00:01.5")
    assert texts(logs.read(launch.ref, 0, attempt, 2, last.cursor, 10)) == ["five"]


def test_every_place_stays_good_when_the_log_moves_to_the_store(
    logs: PodLogs, objects: FolderObjects, launch: AttemptLaunch, attempt: Attempt
) -> None:
    ref = launch.ref
    live = logs.read(ref, 0, attempt, 2, None, 10)
    kept = "".join(f"{stamp} {text}\n" for rank, stamp, text in LINES if rank == 0)
    objects.put(f"{log_prefix(ref.tenant, ref.project, ref.job, ref.number, 0)}000001.log", io.BytesIO(kept.encode()))
    for place, line in enumerate(live):
        rest = logs.read(ref, 0, None, 2, line.cursor, 10)
        assert texts(rest) == texts(live)[place + 1 :]
    first, *_ = logs.read(ref, 0, None, 2, None, 10)
    assert texts(logs.read(ref, 0, None, 2, first.cursor, 10)) == ["two", "", "four", "five"]


def test_logs_of_pods_without_a_volume_are_kept_as_ranks_have_them(
    logs: PodLogs, launch: AttemptLaunch, attempt: Attempt
) -> None:
    kept = logs.keep(attempt, launch)
    assert kept.problems == []
    assert kept.last_lines() == {0: ("one", "two", "", "four", "five"), 1: ("of the other",)}
    assert texts(logs.read(launch.ref, 0, None, 2, None, 10)) == ["one", "two", "", "four", "five"]
    assert texts(logs.read(launch.ref, 1, None, 2, None, 10)) == ["of the other"]


def test_a_log_that_cannot_be_read_is_a_problem_and_no_failure(
    logs: PodLogs, pods: Pods, launch: AttemptLaunch, attempt: Attempt
) -> None:
    pods.error = PortError("its node does not answer")
    kept = logs.keep(attempt, launch.model_copy(update={"nodes": 2}))
    assert kept.problems == [
        "the log of node 1 went with its pod",
        "the log of pod p cannot be read: its node does not answer",
    ]


@pytest.mark.parametrize("words", ["is waiting to start: PodInitializing", "is not available"])
def test_a_container_that_has_not_begun_has_no_lines(
    logs: PodLogs, pods: Pods, launch: AttemptLaunch, attempt: Attempt, words: str
) -> None:
    pods.error = PortError(f'container "main" in pod "p" {words}')
    assert logs.read(launch.ref, 0, attempt, 2, None, 10) == []
