"""Every subsystem explains itself where its code is."""

import pytest

from tests.arch.source import FIRST_PARTY, ROOT

FOLDERS = (*FIRST_PARTY, "bench", "deploy", "examples", "tests")
FEWEST_WORDS = 60


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_has_a_readme_that_says_something(folder: str) -> None:
    readme = ROOT / folder / "README.md"
    assert readme.is_file(), f"{folder}/README.md is missing: model, invariants, failure table, how to test"
    assert len(readme.read_text().split()) >= FEWEST_WORDS
