"""What the ranks of an attempt report, seen through the agents of their pods, through logs, and in what is kept."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.markers import Markers, Opened
from activities.adapters.kubernetes.picture import Pictures
from activities.adapters.kubernetes.pod_logs import PodLogs
from activities.adapters.kubernetes.reporting import Reports
from activities.adapters.kubernetes.streams import ExecResult
from activities.adapters.kubernetes.tracking import Attempt, SeenPod
from activities.adapters.objects_folder import FolderObjects
from activities.ports import PortError
from activities.progress import keep_progress
from definitions.attempt import AttemptRef
from definitions.object_keys import progress_key
from tests.support.jobs import NOW

REF = AttemptRef(tenant="t", project="p", job="j", number=2, token="a" * 32)
Answers = dict[str, Callable[[dict[str, Any]], ExecResult]]


def points(*names: str) -> str:
    return "".join(
        json.dumps({"step": 1, "time": "2026-01-01T00:00:00Z", "attempt": 2, "metrics": {name: 1}}) + "\n"
        for name in names
    )


def tells(*names: str) -> Callable[[dict[str, Any]], ExecResult]:
    """An agent beside a progress file with these metrics."""
    return lambda asked: ExecResult(0, json.dumps({"progress": points(*names)[-asked["most"] :]}).encode(), b"")


def old(*names: str) -> Callable[[dict[str, Any]], ExecResult]:
    """One of an earlier version, which knows only the shorter question."""

    def answer(asked: dict[str, Any]) -> ExecResult:
        if asked["do"] != "look":
            return ExecResult(1, b'{"code": "PD-3205", "message": "cannot be asked"}', b"")
        return ExecResult(0, json.dumps({"progress": points(*names), "checkpoints": []}).encode(), b"")

    return answer


def away(asked: dict[str, Any]) -> ExecResult:
    raise PortError("its node does not answer", code="PD-3113")


class Cluster:
    """Pods by name, each with what its agent answers, or None for one that has ended; it is also the picture of it."""

    def __init__(
        self, answers: dict[str, Callable[[dict[str, Any]], ExecResult] | None], later: Attempt | None
    ) -> None:
        self.answers = answers
        self.later = later
        self.asked_pods: list[str] = []
        self.logged = ""

    def exec(self, pod: str, _container: str, argv: list[str], **_more: object) -> ExecResult:
        self.asked_pods.append(pod)
        answer = self.answers[pod]
        assert answer is not None
        return answer(json.loads(argv[-1]))

    def logs(self, _pod: str, _container: str, **_options: object) -> "Log":
        return Log(self.logged)

    def now(self, _ref: AttemptRef) -> Attempt:
        return attempt_of(
            {name: "terminated" if answer is None else "running" for name, answer in self.answers.items()}
        )

    def asked(self, ref: AttemptRef) -> Attempt:
        return self.later or self.now(ref)


class Log(list[bytes]):
    def __init__(self, text: str) -> None:
        super().__init__([text.encode()])

    def close(self) -> None:
        pass


def attempt_of(states: dict[str, str]) -> Attempt:
    pods = {}
    for index, (name, state) in enumerate(states.items()):
        annotations = {"batch.kubernetes.io/job-completion-index": str(index)}
        status = {"containerStatuses": [{"name": "main", "state": {state: {}}}]}
        pod = {"metadata": {"name": name, "uid": name, "annotations": annotations}, "status": status}
        pods[name] = SeenPod(pod, NOW)
    return Attempt(REF, pods=pods)


@pytest.fixture
def objects(tmp_path: Path) -> FolderObjects:
    made = FolderObjects(tmp_path)
    keep_progress(made, progress_key("t", "p", "j", 1), points("kept").encode())
    return made


def names(cluster: Cluster, objects: FolderObjects, *, claim: str | None = None) -> list[str]:
    client: KubeClient = cluster  # type: ignore[assignment]
    pictures: Pictures = cluster  # type: ignore[assignment]
    markers = Markers(objects)
    markers.open(REF, Opened(job_uid="j", secret_uid="s", claim=claim))
    reports = Reports(client, pictures, markers, PodLogs(client, objects), objects)
    return [name for point in reports.points(REF) for name in point.metrics]


def test_run_folders_of_all_pods_count(objects: FolderObjects) -> None:
    own = Cluster({"a": tells("a"), "b": old("b1", "b2"), "c": tells("c")}, None)
    assert names(own, objects) == ["kept", "a", "b1", "b2", "c"]


def test_a_run_folder_that_pods_share_is_read_once(objects: FolderObjects) -> None:
    shared = Cluster({"ended": None, "a": tells("a"), "b": tells("a")}, None)
    assert names(shared, objects, claim="volume") == ["kept", "a"]
    assert shared.asked_pods == ["a"]


def test_a_pod_that_has_ended_before_the_others_tells_by_its_log(objects: FolderObjects) -> None:
    cluster = Cluster({"a": None, "b": tells("b")}, None)
    cluster.logged = f"2026-01-01T00:00:00.000000Z + {points('a').strip()}\n2026-01-01T00:00:01.000000Z 0 a line\n"
    assert names(cluster, objects) == ["kept", "a", "b"]


def test_what_cannot_be_seen_of_some_pods_is_left_out(objects: FolderObjects) -> None:
    assert names(Cluster({"a": away, "b": tells("b")}, None), objects) == ["kept", "b"]


def test_that_nothing_can_be_seen_is_said_unless_it_has_ended_just_then(objects: FolderObjects) -> None:
    with pytest.raises(PortError, match="its node does not answer"):
        names(Cluster({"a": away}, None), objects)
    assert names(Cluster({"a": away}, attempt_of({"a": "terminated"})), objects) == ["kept"]


def test_pods_that_have_not_begun_are_not_asked(objects: FolderObjects) -> None:
    cluster = Cluster({"a": tells("a")}, None)
    cluster.now = lambda _ref: attempt_of({"a": "waiting"})  # type: ignore[method-assign]
    assert names(cluster, objects) == ["kept"]
    assert cluster.asked_pods == []
