"""Gangs of pods and an object store, which end with their test and leave no process behind."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from activities.adapters.kubernetes.pod import download
from definitions.attempt import AttemptLaunch
from tests.activities.kubernetes.agent.bucket import Bucket, running_bucket
from tests.activities.kubernetes.agent.world import Gang

MakeGang = Callable[..., Gang]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fetch that breaks off begins again soon."""
    monkeypatch.setattr(download, "FIRST_PAUSE", 0.01)


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    with running_bucket() as running:
        yield running


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
