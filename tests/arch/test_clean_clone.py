"""A bare clone, an empty home and nothing cached: `make setup` makes a working environment, and only once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.arch.source import ROOT

pytestmark = [pytest.mark.clean_clone, pytest.mark.timeout(900)]
KEPT = ("PATH", "LANG", "SSL_CERT_FILE", "PIP_CERT", "PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clone") / "perdure"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    return folder


def make(clone: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    home = clone.parent / "home"
    home.mkdir(exist_ok=True)
    environment = {name: os.environ[name] for name in KEPT if name in os.environ} | {"HOME": str(home)}
    command = ["make", "-C", str(clone), "--no-print-directory", *arguments]
    return subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )


def test_a_python_that_is_too_old_or_missing_is_refused_with_the_way_out(clone: Path) -> None:
    done = make(clone, "setup", "PYTHON=python-that-is-not-there")
    assert done.returncode != 0
    assert "no usable Python: python-that-is-not-there tried" in done.stdout
    assert "make setup PYTHON=" in done.stdout


def test_setup_shows_its_steps_and_is_not_repeated(clone: Path) -> None:
    python = f"PYTHON={sys.executable}"
    first = make(clone, "setup", python)
    assert first.returncode == 0, first.stdout
    assert [line[:9] for line in first.stdout.splitlines() if line.startswith("setup ")] == [
        "setup 1/4", "setup 2/4", "setup 3/4", "setup 4/4",
    ]  # fmt: skip
    again = make(clone, "setup", python)
    assert "setup 1/4" not in again.stdout
    probe = "import numpy, sqlalchemy, temporalio, definitions, perdure; print(perdure.__file__)"
    shown = subprocess.run([clone / ".venv/bin/python", "-I", "-c", probe], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == str(clone / "perdure" / "__init__.py")
    status = subprocess.run(["git", "status", "--porcelain"], cwd=clone, capture_output=True, text=True, check=True)
    assert status.stdout == ""


def test_help_lists_every_target(clone: Path) -> None:
    listed = make(clone).stdout
    for target in ("setup", "demo", "test", "check", "lint", "mutants", "bench", "lock", "clean"):
        assert f"make {target}" in listed
