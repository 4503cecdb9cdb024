"""Fixtures that every part's tests share. Each pytest-xdist process has servers of its own."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from tests.support.audit import Auditor
from tests.support.cluster import TestCluster, build_needed, running_cluster
from tests.support.images import Images, built_images, load_images
from tests.support.minio import Minio, running_minio
from tests.support.postgres import fresh_database, running_postgres
from tests.support.temporal import TemporalServer, running_temporal

# A slow machine must not fail a property, and a run in CI must be the same run when it is repeated.
settings.register_profile("perdure", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("perdure")

# A shell has what it starts in the background ignore interrupts, and children inherit that; tests interrupt theirs.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Before any test's clock runs, make what takes minutes the first time."""
    build_needed(session.config, session.items)


@pytest.fixture(scope="session")
def temporal_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TemporalServer]:
    """A real engine in memory, shared by this process's tests: use workflow ids and task queues of your own."""
    with running_temporal(tmp_path_factory.mktemp("temporal")) as server:
        yield server


@pytest.fixture
async def temporal_client(temporal_server: TemporalServer) -> Client:
    """A client of `temporal_server` with the data converter that all of the project's clients use."""
    return await Client.connect(
        temporal_server.address, namespace=temporal_server.namespace, data_converter=pydantic_data_converter
    )


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The maintenance URL of a real PostgreSQL server, shared by this process's tests."""
    with running_postgres() as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """An empty PostgreSQL database of this test alone, as an SQLAlchemy URL."""
    with fresh_database(postgres_server) as url:
        yield url


@pytest.fixture(scope="session")
def minio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Minio]:
    """A real S3 server, shared by this process's tests: make a bucket of your own."""
    with running_minio(tmp_path_factory.mktemp("minio") / "data") as server:
        yield server


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """An SQLite file of this test alone (not made yet), as an SQLAlchemy URL."""
    return f"sqlite:///{tmp_path / 'test.db'}"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest) -> str:
    """Runs the test twice: on an empty SQLite file and on an empty PostgreSQL database."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture(scope="session")
def auditor(tmp_path_factory: pytest.TempPathFactory) -> Auditor:
    """Reads afterwards what really ran, from marks that jobs leave in a folder of this process's tests."""
    return Auditor(tmp_path_factory.mktemp("marks"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working directory of a user's own."""
    made = tmp_path / "project"
    made.mkdir()
    return made


@pytest.fixture(scope="session")
def kube_api() -> Iterator[TestCluster]:
    """A real Kubernetes control plane with simulated nodes (marker `kube`); make a namespace of your own in it."""
    with running_cluster(real=False) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kube_nodes() -> Iterator[TestCluster]:
    """A real Kubernetes control plane with two real nodes (marker `pods`); make a namespace of your own in it."""
    with running_cluster(real=True) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def pods_store(kube_nodes: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Minio]:
    """A real S3 server where pods reach it (marker `pods`); make a bucket of your own."""
    with running_minio(tmp_path_factory.mktemp("store") / "data", kube_nodes.host_address) as server:
        yield server


@pytest.fixture(scope="session")
def pod_images(kube_nodes: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> Images:
    """Our image and the training image of the code as it is now, on every real node (marker `pods`)."""
    built = built_images(tmp_path_factory.mktemp("images"))
    images = load_images(kube_nodes, built)
    for image in built.values():
        image.file.unlink()
    return images
