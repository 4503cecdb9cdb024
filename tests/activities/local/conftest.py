"""A world of its own for every test, which must leave no process behind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.activities.local.world import LocalWorld
from tests.support.polling import eventually


@pytest.fixture
def world(tmp_path: Path) -> Iterator[LocalWorld]:
    made = LocalWorld(tmp_path / "home")
    yield made
    made.end()
    eventually(lambda: not made.supervisors(), 15, "no supervisor is left")
