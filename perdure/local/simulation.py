"""Simulations run in a child process: they need the scheduler, which the command line never imports."""

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import IO, Any

from perdure.errors import PerdureApiError
from perdure.local import _boot, stack
from perdure.local.errors import LocalError

MODULE = "simulator.process"
LIBRARIES = ("numpy", "numba", "matplotlib")
LAST_LINES = 5  # of what a child that broke off has said

Progress = Callable[[str, int, int], None]


def simulate(asked: Mapping[str, Any], progress: Progress | None = None) -> dict[str, Any]:
    """Carry out a simulation and return its answer. `progress` is called with what is done, and jobs over, and all.

    Raises LocalError (PD-4013, PD-4016), and the simulator's own refusals as PerdureApiError.
    """
    _require_simulator()
    with tempfile.TemporaryFile() as said, _child(said) as child:
        assert child.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended already, and has said why
            child.stdin.write(json.dumps(asked))
            child.stdin.close()
        answer = _answer(child, progress)
        if answer is None:
            raise LocalError("PD-4016", f"it ended with status {child.wait()}: {_last(said)}")
    return answer


def _require_simulator() -> None:
    missing = [folder for folder in _boot.FOLDERS if not (_boot.ROOT / folder / "__init__.py").is_file()]
    missing += [library for library in LIBRARIES if find_spec(library) is None]
    if missing:
        raise LocalError("PD-4013", f"there is no {', '.join(missing)} here")


@contextlib.contextmanager
def _child(said: IO[bytes]) -> Iterator["subprocess.Popen[str]"]:
    """It works in the same folder, so that paths mean the same, and is killed when nobody waits for it any more."""
    child = subprocess.Popen(
        [*stack.boot_command(), MODULE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=said,
        text=True,
        env=stack.environment_of(os.environ),
    )
    with child:
        try:
            yield child
        finally:
            child.kill()


def _answer(child: "subprocess.Popen[str]", progress: Progress | None) -> dict[str, Any] | None:
    """What the child answers; None when it ends without."""
    assert child.stdout is not None
    for line in child.stdout:
        told = json.loads(line)
        if "refused" in told:
            raise PerdureApiError.from_problem(told["refused"], 400)
        if "answer" in told:
            found: dict[str, Any] = told["answer"]
            return found
        if progress is not None:
            step = told["progress"]
            progress(step["what"], step["done"], step["total"])
    return None


def _last(said: IO[bytes]) -> str:
    said.seek(0)
    lines = said.read().decode(errors="replace").strip().splitlines()
    return "\n".join(lines[-LAST_LINES:]) or "it said nothing"
