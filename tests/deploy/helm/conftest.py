"""The chart through the real helm."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy.testcluster import tools
from deploy.testcluster.progress import to_stderr

CHART = Path(__file__).parents[3] / "deploy" / "helm" / "perdure"
Helm = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """`helm` with a home of its own."""
    program, home = tools.program("helm", to_stderr), tmp_path_factory.mktemp("helm")

    def run(*arguments: str | Path, check: bool = True, given: str | None = None) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [str(program), *map(str, arguments)],
            env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
            input=given,
            capture_output=True,
            text=True,
            timeout=600,
        )
        if check and done.returncode:
            raise AssertionError(
                f"helm {' '.join(map(str, arguments))} -> {done.returncode}\n{done.stdout}\n{done.stderr}"
            )
        return done

    return run
