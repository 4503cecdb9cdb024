"""One real control plane for the tests of this folder, started as a user starts it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.audit import Auditor
from tests.support.stack import Stack, running_stack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("stack") / "home", PERDURE_SWEEP="1s") as running:
        yield running


@pytest.fixture(scope="session")
def auditor(tmp_path_factory: pytest.TempPathFactory) -> Auditor:
    return Auditor(tmp_path_factory.mktemp("marks"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working directory of a user's own."""
    made = tmp_path / "project"
    made.mkdir()
    return made
