"""Calling the command line: inside the test's process, as a process of its own, or as one with a terminal."""

import contextlib
import io
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from perdure.cli.main import main
from tests.perdure.live import PERDURE, Live


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


class Cli:
    """`cli("jobs", "list")` runs a command line against the live API in this process."""

    def __init__(self, live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
        self.live = live
        self._monkeypatch = monkeypatch
        for name in [name for name in os.environ if name.startswith("PERDURE_")]:
            monkeypatch.delenv(name)
        for name, value in live.environment.items():
            monkeypatch.setenv(name, value)

    def __call__(self, *arguments: str, input: str = "") -> Result:
        out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
        self._monkeypatch.setattr(sys, "stdin", io.StringIO(input))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(arguments)
        out.flush()
        buffer = out.buffer
        assert isinstance(buffer, io.BytesIO)
        return Result(code, buffer.getvalue().decode(), err.getvalue())

    def ok(self, *arguments: str, input: str = "") -> str:
        """Standard output of a command that must succeed."""
        result = self(*arguments, input=input)
        assert result.code == 0, result
        return result.out


def started(live: Live, *arguments: str, env: Mapping[str, str] | None = None, **given: Any) -> subprocess.Popen[str]:
    """A `perdure` process that goes on while the test does something."""
    given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **given}
    return subprocess.Popen([PERDURE, *arguments], env={**live.environment, **(env or {})}, **given)


def ended(process: subprocess.Popen[str], seconds: float = 30) -> Result:
    out, err = process.communicate(timeout=seconds)
    return Result(process.returncode, out, err)


def on_terminal(live: Live, *arguments: str, answer: str = "", env: Mapping[str, str] | None = None) -> Result:
    """A `perdure` process with a terminal for all three streams. What it prints comes back together, as `out`.

    The answer is typed once a question stands there, as people do.
    """
    parent, child = pty.openpty()
    environment = {**live.environment, "TERM": "xterm", **(env or {})}
    process = subprocess.Popen([PERDURE, *arguments], env=environment, stdin=child, stdout=child, stderr=child)
    os.close(child)
    seen = _everything(parent, time.monotonic() + 30, f"{answer}\n".encode() if answer else b"")
    os.close(parent)
    return Result(process.wait(10), seen.decode("utf-8", "replace"), "")


def _everything(terminal: int, deadline: float, answer: bytes) -> bytes:
    """What is written to a terminal until nobody has it open any more."""
    seen = b""
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 0.2)[0]:
            continue
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # the other side is closed
            return seen
        if not chunk:
            return seen
        seen += chunk
        if answer and seen.endswith((b"] ", b": ")):
            os.write(terminal, answer)
            answer = b""
    raise AssertionError(f"still open after the deadline: {seen!r}")
