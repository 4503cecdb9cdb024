"""Attempts whose pods KWOK plays: real objects, controllers and races, and no process behind them."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from activities.ports import ObjectStore
from definitions.attempt import AttemptLaunch, AttemptRef
from definitions.cluster import ClusterSettings
from definitions.pod_needs import PodNeeds, PodToleration
from tests.activities.kubernetes.world import KubernetesWorld, running
from tests.activities.runtime_world import launch_of
from tests.support.cluster import Namespace, TestCluster

PLACE = "perdure.test/place"  # label of the nodes of these tests
CAPACITY = {"cpu": "96", "memory": "1024Gi", "pods": "110", "nvidia.com/gpu": "8"}
TAINT = {"key": PLACE, "value": "simulated", "effect": "NoSchedule"}  # real pods of others find no place there
RUN_FOR = "fake.perdure.dev/run-for"


class Killed(BaseException):
    """Stands for the end of the process: no handler of ours catches it."""


class SimulatedWorld(KubernetesWorld):
    """`place`: the value of PLACE at this test's nodes. Pods run for as long as the label on all objects says."""

    def __init__(
        self, cluster: TestCluster, space: Namespace, objects: ObjectStore, place: str, run_for: str | None = None
    ) -> None:
        labels = {} if run_for is None else {RUN_FOR: run_for}
        settings = ClusterSettings(namespace=space.name, image="train:1", storage_bytes=None, labels=labels)
        super().__init__(cluster, space, settings, objects)
        self.place = place

    def launch_of(self, nodes: int = 1, **changes: object) -> AttemptLaunch:
        return launch_of(("true",), nodes=nodes, pod=self.needs(), **changes)

    def needs(self) -> PodNeeds:
        """Of pods that run on this test's nodes, where no others run."""
        return PodNeeds(node_selector={PLACE: self.place}, tolerations=(PodToleration(key=PLACE, operator="Exists"),))

    @contextmanager
    def another(self) -> Iterator["SimulatedWorld"]:
        """A second worker of the same cluster, which knows nothing yet."""
        run_for = self.settings.labels.get(RUN_FOR)
        with running(SimulatedWorld(self.cluster, self.space, self.objects, self.place, run_for)) as made:
            yield made

    def pods_ever(self, ref: AttemptRef) -> list[str]:
        """Uids of all pods of an attempt that anybody has seen."""
        attempt = self.runtime._tracker.get(ref)
        return [] if attempt is None else list(attempt.pods)


class Hooks:
    """What happens at a crash point, once: the end of the process, or something that others do meanwhile."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._actions: list[Callable[[], object]] = []
        real = os.kill
        monkeypatch.setenv("PERDURE_CRASH_DIR", str(folder))
        monkeypatch.setattr(os, "kill", lambda pid, sig: self._fire() if pid == os.getpid() and sig else real(pid, sig))

    def at(self, hook: str, action: Callable[[], object]) -> None:
        self._folder.mkdir(exist_ok=True)
        (self._folder / hook).touch()
        self._actions.append(action)

    def die_at(self, hook: str) -> None:
        def die() -> None:
            raise Killed(hook)

        self.at(hook, die)

    def fired(self, hook: str) -> bool:
        return (self._folder / f"{hook}.fired").exists()

    def _fire(self) -> None:
        self._actions.pop(0)()
