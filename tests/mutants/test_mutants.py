"""Plants each fault of the catalog in a copy of the tree and runs the test that is named with it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.catalog import CATALOG, Fault
from tests.plugin_tally import FILE

pytestmark = [pytest.mark.mutants, pytest.mark.timeout(300)]
ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "build", "dist", "*.egg-info"
)
TESTS_FAILED = 1  # pytest's exit status; a test that cannot even be collected gives another one


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(ROOT, tmp_path_factory.mktemp("mutants") / "tree", ignore=LEFT_OUT))


@pytest.mark.parametrize("fault", CATALOG, ids=lambda fault: fault.name)
def test_a_planted_fault_turns_its_test_red(fault: Fault, copy: Path) -> None:
    file = copy / fault.file
    text = file.read_text()
    assert text.count(fault.right) == 1, f"{fault.file} does not hold exactly once: {fault.right}"
    file.write_text(text.replace(fault.right, fault.wrong))
    try:
        done = run(copy, fault.test)
    finally:
        file.write_text(text)
    assert done.returncode == TESTS_FAILED, f"{fault.test} did not notice {fault.name}:\n{done.stdout[-3000:]}"


def test_the_catalog_is_long_enough_and_names_are_unique() -> None:
    assert len(CATALOG) >= 12
    assert len({fault.name for fault in CATALOG}) == len(CATALOG)


def run(tree: Path, test: str) -> subprocess.CompletedProcess[str]:
    """Run one test of the copy: `-m pytest` puts the copy first on the path, before the installed tree."""
    inherited = {name: value for name, value in os.environ.items() if name != FILE}  # these runs do not count
    environment = {**inherited, "PYTHONDONTWRITEBYTECODE": "1", "CI": "false"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", test]
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, timeout=240, check=False)
