"""Worlds on a real Kubernetes API, with simulated pods and with real ones."""

import contextlib
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from activities.adapters.objects_folder import FolderObjects
from activities.adapters.s3 import S3Objects, S3Place
from definitions.cluster import ClusterSettings
from tests.activities.kubernetes.pods_world import PodsWorld
from tests.activities.kubernetes.simulated import CAPACITY, PLACE, TAINT, Hooks, SimulatedWorld
from tests.activities.kubernetes.world import running
from tests.support.cluster import TestCluster
from tests.support.images import Images
from tests.support.minio import REGION, Minio

Make = Callable[..., SimulatedWorld]


@pytest.fixture
def world(
    kube_nodes: TestCluster, pods_store: Minio, pod_images: Images, monkeypatch: pytest.MonkeyPatch
) -> Iterator[PodsWorld]:
    for name, value in pods_store.environment.items():
        monkeypatch.setenv(name, value)
    objects = S3Objects(S3Place(pods_store.bucket(), "", pods_store.endpoint, REGION))
    with kube_nodes.namespace() as space:
        settings = ClusterSettings(namespace=space.name, image=pod_images.training, agent_image=pod_images.perdure)
        with running(PodsWorld(kube_nodes, space, settings, objects)) as made:
            yield made


@pytest.fixture
def make_world(kube_api: TestCluster, tmp_path: Path) -> Iterator[Make]:
    """Makes a world of simulated pods, which run for the given time, or until they are deleted."""
    place = uuid.uuid4().hex[:12]
    with contextlib.ExitStack() as stack:
        stack.enter_context(kube_api.simulated_nodes(2, CAPACITY, {PLACE: place}, [TAINT]))
        space = stack.enter_context(kube_api.namespace())

        def make(run_for: str | None = None) -> SimulatedWorld:
            objects = FolderObjects(tmp_path / "objects")
            return stack.enter_context(running(SimulatedWorld(kube_api, space, objects, place, run_for)))

        yield make


@pytest.fixture
def hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hooks:
    return Hooks(tmp_path / "hooks", monkeypatch)
