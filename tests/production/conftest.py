"""One engine, one database server and one bucket for the tests of this folder, and a control plane on them."""

from collections.abc import Iterator

import pytest

from tests.support.debian_postgres import Postgres, running_debian_postgres
from tests.support.minio import Minio
from tests.support.production import Engine, ProductionStack, make_engine_databases, running_engine
from tests.support.stack import running


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with running_debian_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def engine(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    databases = make_engine_databases(postgres, "temporal")
    with running_engine(tmp_path_factory.mktemp("engine"), postgres, databases) as server:
        yield server


@pytest.fixture(scope="session")
def stack(
    engine: Engine, postgres: Postgres, minio: Minio, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ProductionStack]:
    home = tmp_path_factory.mktemp("production") / "home"
    with running(ProductionStack(home, engine, postgres, minio, PERDURE_SWEEP="1s")) as started:
        yield started
