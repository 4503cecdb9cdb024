"""One real control plane for the tests of this folder, started as a user starts it."""

from collections.abc import Iterator

import pytest

from tests.support.stack import Stack, running_stack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("stack") / "home", PERDURE_SWEEP="1s") as running:
        yield running
