"""Fixtures of the client's and the command line's tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure import Client
from tests.perdure.live import Live, live_api


@pytest.fixture
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live_api(tmp_path_factory.mktemp("live")) as running:
        yield running


@pytest.fixture
def client(live: Live) -> Iterator[Client]:
    with live.client() as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a program in it, which is the present one."""
    (tmp_path / "train.py").write_text("print('hello')\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path
