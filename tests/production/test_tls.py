"""An engine that lets in only who shows a certificate that it knows."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.temporal.config import Certificates
from tests.support.certificates import Authority
from tests.support.debian_postgres import Postgres
from tests.support.minio import Minio
from tests.support.production import Engine, ProductionStack, make_engine_databases, running_engine
from tests.support.stack import running
from workers.engine import connect_engine
from workers.settings import Settings

pytestmark = [pytest.mark.production, pytest.mark.timeout(600)]

SERVER_NAME = "engine.example"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def authority(folder: Path) -> Authority:
    return Authority(folder, "authority")


@pytest.fixture(scope="module")
def guarded(folder: Path, authority: Authority, postgres: Postgres) -> Iterator[Engine]:
    certificate, key = authority.issue(SERVER_NAME)
    files = Certificates(str(authority.file), str(certificate), str(key), SERVER_NAME)
    databases = make_engine_databases(postgres, "temporal_tls")
    with running_engine(folder / "engine", postgres, databases, files) as engine:
        yield engine


def identity(authority: Authority, trusted: Authority) -> dict[str, str]:
    """How we identify ourselves, and whom we trust."""
    certificate, key = authority.issue("perdure")
    return {
        "temporal_tls_ca": str(trusted.file),
        "temporal_tls_cert": str(certificate),
        "temporal_tls_key": str(key),
        "temporal_tls_server_name": SERVER_NAME,
    }


def test_only_who_shows_a_known_certificate_is_let_in(guarded: Engine, authority: Authority, tmp_path: Path) -> None:
    stranger = Authority(tmp_path, "stranger")
    known = identity(authority, authority)
    nothing = {name: value for name, value in known.items() if name.endswith(("_ca", "_name"))}
    refused = {
        "no TLS": {},
        "no certificate": nothing,
        "a certificate of another authority": identity(stranger, authority),
        "an engine that we do not trust": known | {"temporal_tls_ca": str(stranger.file)},
        "another name": known | {"temporal_tls_server_name": "other.example"},
    }
    let_in = [what for what, given in refused.items() if connects(guarded, given)]
    assert let_in == []
    assert connects(guarded, known)


def connects(engine: Engine, given: dict[str, str]) -> bool:
    settings = Settings.model_validate({"temporal_address": engine.address, **given})
    try:
        asyncio.run(connect_engine(settings))
    except RuntimeError as error:
        if "Failed client connect" not in str(error):
            raise
        return False
    return True


def test_a_whole_control_plane_works_over_mutual_tls(
    guarded: Engine, authority: Authority, postgres: Postgres, minio: Minio, folder: Path
) -> None:
    environment = {f"PERDURE_{name.upper()}": value for name, value in identity(authority, authority).items()}
    with running(ProductionStack(folder / "home", guarded, postgres, minio, **environment)) as stack:
        job = stack.submit({"command": ["echo", "through"]})
        assert stack.until(job)["phase"] == "Succeeded"
