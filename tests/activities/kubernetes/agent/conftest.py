"""Gangs of pods that end with their test and leave no process behind."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from definitions.attempt import AttemptLaunch
from tests.activities.kubernetes.agent.world import Gang

MakeGang = Callable[..., Gang]


@pytest.fixture
def gang(tmp_path: Path) -> Iterator[MakeGang]:
    made: list[Gang] = []

    def make(launch: AttemptLaunch, **settings: Any) -> Gang:
        folder = tmp_path / f"gang-{len(made)}"
        folder.mkdir()
        made.append(Gang(folder, launch, **settings))
        return made[-1]

    yield make
    for one in made:
        one.end()
