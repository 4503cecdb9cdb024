"""Fixtures of the command line's tests."""

import pytest

from tests.perdure.cli.calling import Cli
from tests.perdure.live import Live


@pytest.fixture
def cli(live: Live, monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(live, monkeypatch)


@pytest.fixture
def job(cli: Cli) -> str:
    """The id of a job called `digits` that was accepted."""
    return cli.ok(
        "run",
        "--workdir",
        "none",
        "--name",
        "digits",
        "--label",
        "team=vision",
        "-o",
        "name",
        "--json",
        "id",
        "--",
        "true",
    ).split('"')[3]
