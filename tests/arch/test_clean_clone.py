"""A bare clone, an empty home and nothing cached: `make setup` makes a working environment, and only once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.arch.source import ROOT
from tests.support.ports import free_port
from tests.support.processes import matching

pytestmark = [pytest.mark.clean_clone, pytest.mark.timeout(900)]
KEPT = ("PATH", "LANG", "SSL_CERT_FILE", "PIP_CERT", "PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clone") / "perdure"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    return folder


def environment(clone: Path, **more: str) -> dict[str, str]:
    home = clone.parent / "home"
    home.mkdir(exist_ok=True)
    return {name: os.environ[name] for name in KEPT if name in os.environ} | {"HOME": str(home), **more}


def make(clone: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "-C", str(clone), "--no-print-directory", *arguments]
    return subprocess.run(
        command, env=environment(clone), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
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


def test_the_demo_passes(clone: Path) -> None:
    done = make(clone, "demo", f"PYTHON={sys.executable}")
    assert done.returncode == 0, done.stdout
    assert "sha256" in done.stdout
    assert not [process for process in matching(lambda process: str(clone) in " ".join(process.cmdline()))]


def test_the_first_job_of_the_readme_runs_as_it_is_written(clone: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('trained')\n")
    ports = {f"PERDURE_{name}_PORT": str(free_port()) for name in ("API", "TEMPORAL", "UI", "METRICS")}
    given = environment(clone, PERDURE_HOME=str(tmp_path / "state"), **ports)
    given["PATH"] = f"{clone / '.venv/bin'}:{given['PATH']}"
    try:
        for line in first_job():
            command = f"make -C {clone} setup PYTHON={sys.executable}" if line == "make setup" else line
            done = subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, env=given, capture_output=True, text=True)
            assert done.returncode == 0, (line, done.stdout, done.stderr)
            if " run " in line:
                assert done.stdout.count("trained") == 2
    finally:
        subprocess.run(["perdure", "down"], env=given, check=True)


def first_job() -> list[str]:
    """The console block of the README's section about a first job."""
    section = (ROOT / "README.md").read_text().partition("## First job")[2]
    block = section.partition("```console\n")[2].partition("```")[0]
    return [line.removeprefix("$ ") for line in block.splitlines()]
