"""The test run itself: real exit statuses, no hidden skips in CI, and a truthful tally."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PASSES = "def test_one(): pass\n"
FAILS = "def test_two(): assert False\n"
SKIPS = "import pytest\n@pytest.mark.skip(reason='not here')\ndef test_three(): pass\n"
XFAILS = "import pytest\n@pytest.mark.xfail(strict=True)\ndef test_four(): assert False\n"
TEARDOWN = "import atexit\natexit.register(print, 'interpreter teardown')\n"
ONE_PROCESS = ["-p", "no:xdist"]
TWO_PROCESSES = ["-n", "2"]


def session(folder: Path, body: str, extra: list[str], ci: str) -> tuple[subprocess.CompletedProcess[str], Path]:
    """Run pytest with our plugins over one file in an empty project."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(body)
    tally = folder / "tally"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    environment |= {"CI": ci, "PERDURE_TEST_TALLY": str(tally)}
    command = [sys.executable, "-m", "pytest", "-p", "tests.plugin_leave", "-p", "tests.plugin_tally", *extra]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    return done, tally


@pytest.mark.parametrize(
    ("extra", "body", "ci", "status", "closing", "tally"),
    [
        pytest.param(ONE_PROCESS, PASSES, "true", 0, "1 passed", (1, 0, 0), id="pass"),
        pytest.param(ONE_PROCESS, PASSES + FAILS, "", 1, "1 failed, 1 passed", (1, 1, 0), id="fail"),
        pytest.param(ONE_PROCESS, PASSES + SKIPS, "", 0, "1 passed, 1 skipped", (1, 0, 1), id="skip"),
        pytest.param(ONE_PROCESS, PASSES + SKIPS, "true", 1, "1 passed, 1 skipped", (1, 0, 1), id="skip in CI"),
        pytest.param(ONE_PROCESS, PASSES + XFAILS, "true", 1, "1 passed, 1 xfailed", (1, 0, 1), id="xfail in CI"),
        pytest.param(ONE_PROCESS, SKIPS, "true", 1, "1 skipped", (0, 0, 1), id="only skips in CI"),
        pytest.param(ONE_PROCESS, "", "true", 5, "no tests ran", (0, 0, 0), id="empty"),
        pytest.param(ONE_PROCESS, "def broken(:\n", "", 2, "1 error", (0, 1, 0), id="syntax error"),
        pytest.param(TWO_PROCESSES, PASSES + FAILS, "", 1, "1 failed, 1 passed", (1, 1, 0), id="fail, two processes"),
        pytest.param(TWO_PROCESSES, PASSES + SKIPS, "true", 1, "1 skipped", (1, 0, 1), id="skip in CI, two processes"),
    ],
)
def test_a_session_ends_with_its_real_status_and_counts(
    tmp_path: Path, extra: list[str], body: str, ci: str, status: int, closing: str, tally: tuple[int, int, int]
) -> None:
    done, file = session(tmp_path, body, extra, ci)
    assert done.returncode == status, done.stdout + done.stderr
    assert closing in done.stdout.splitlines()[-1]
    found = json.loads(file.read_text())
    assert (found["passed"], found["failed"], found["skipped"]) == tally
    assert len(found["failures"]) == found["failed"]


def test_a_skip_in_ci_is_named(tmp_path: Path) -> None:
    done, _ = session(tmp_path, SKIPS, ONE_PROCESS, "true")
    assert "not run in CI, so this session fails" in done.stdout
    assert "test_it.py:2" in done.stdout or "test_it.py::test_three" in done.stdout


@pytest.mark.parametrize("extra", [ONE_PROCESS, TWO_PROCESSES], ids=["alone", "two processes"])
def test_the_interpreter_is_never_taken_down(tmp_path: Path, extra: list[str]) -> None:
    done, _ = session(tmp_path, TEARDOWN + PASSES, [*extra, "-s"], "")
    assert done.returncode == 0
    assert "interpreter teardown" not in done.stdout + done.stderr
