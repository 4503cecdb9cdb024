"""Worlds on a real Kubernetes API, with simulated pods and with real ones."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.adapters.s3 import S3Objects, S3Place
from definitions.cluster import ClusterSettings
from deploy.images.__main__ import build
from tests.activities.kubernetes.pods_world import PodsWorld
from tests.activities.kubernetes.world import running
from tests.support.cluster import TestCluster
from tests.support.minio import REGION, Minio, running_minio


@pytest.fixture(scope="session")
def pods_store(kube_nodes: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Minio]:
    """An S3 server where pods reach it."""
    with running_minio(tmp_path_factory.mktemp("store") / "data", kube_nodes.host_address) as server:
        yield server


@pytest.fixture(scope="session")
def pod_images(kube_nodes: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Our image and the training image, built of the code as it is now, on every node."""
    made = build(tmp_path_factory.mktemp("images"), ["training", "perdure"])
    for archive in made.values():
        kube_nodes.load_image(archive)
        archive.unlink()
    return {"training": "perdure-training:latest", "perdure": "perdure:latest"}


@pytest.fixture
def world(
    kube_nodes: TestCluster, pods_store: Minio, pod_images: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[PodsWorld]:
    for name, value in pods_store.environment.items():
        monkeypatch.setenv(name, value)
    objects = S3Objects(S3Place(pods_store.bucket(), "", pods_store.endpoint, REGION))
    with kube_nodes.namespace() as space:
        images = {"image": pod_images["training"], "agent_image": pod_images["perdure"]}
        settings = ClusterSettings(namespace=space.name, **images)
        with running(PodsWorld(kube_nodes, space, settings, objects)) as made:
            yield made
