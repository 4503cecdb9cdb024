"""A user's own modules under the names of our folders are never taken for ours: in the working directory, on the
search path and installed, all at once. The user's jobs see the user's."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.perdure.local.shadows import environment_with_shadows, write_shadows
from tests.support.stack import Stack, running_stack

pytestmark = pytest.mark.faults
COMMAND = "#!{python}\nfrom perdure.cli.main import run\nrun()\n"


class ShadowedUser:
    """A user whose environment has shadows installed, and whose shell stands in a folder with more of them."""

    def __init__(self, folder: Path) -> None:
        self.python = environment_with_shadows(folder / "env")
        self.program = self.python.with_name("perdure")
        self.program.write_text(COMMAND.format(python=self.python))
        self.program.chmod(0o755)
        self.here = folder / "project"
        self.searched = folder / "searched"
        for place in (self.here, self.searched):
            place.mkdir()
            write_shadows(place)

    @property
    def environment(self) -> dict[str, str]:
        path = f"{self.python.parent}{os.pathsep}{os.environ['PATH']}"
        return {"PYTHONPATH": str(self.searched), "PATH": path, "VIRTUAL_ENV": str(self.python.parents[1])}

    def run(self, stack: Stack, *arguments: str) -> "subprocess.CompletedProcess[str]":
        environment = stack.environment | self.environment
        command = [str(self.program), *arguments]
        return subprocess.run(command, cwd=self.here, env=environment, capture_output=True, text=True, timeout=120)


@pytest.fixture
def user(tmp_path: Path) -> ShadowedUser:
    return ShadowedUser(tmp_path)


@pytest.fixture
def stack(tmp_path: Path, user: ShadowedUser) -> Iterator[Stack]:
    """The user's own `perdure up`, from the user's own folder."""
    stack = Stack(tmp_path / "home")
    up = user.run(stack, "up", "--detach")
    assert up.returncode == 0, up.stderr
    try:
        yield stack
    finally:
        down = user.run(stack, "down")
        assert down.returncode == 0, down.stderr


def test_everything_of_ours_runs_and_a_job_sees_the_users_modules(stack: Stack, user: ShadowedUser) -> None:
    status = stack.status()
    assert {entry["state"] for entry in status["processes"]} == {"ready"}
    assert {entry["restarts"] for entry in status["processes"]} == {0}
    fine = user.run(stack, "run", "--wait", "--", "python", "-c", "print('ran')")
    assert fine.returncode == 0, fine.stderr
    own = user.run(stack, "run", "--wait", "--name", "own", "--retries", "0", "--", "python", "-c", "import store")
    assert own.returncode == 1, own.stderr
    told = user.run(stack, "jobs", "logs", "own")
    assert "the user's own code was taken for ours" in told.stdout


def test_the_client_works_where_shadows_are_imported_first(user: ShadowedUser, tmp_path: Path) -> None:
    with running_stack(tmp_path / "other") as stack:
        script = "from perdure.client import Client; print(Client.from_env().system.version().name)"
        done = subprocess.run(
            [str(user.python), "-c", script],
            cwd=user.here,
            env=stack.environment | user.environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.stdout.strip() == "perdure", done.stderr
