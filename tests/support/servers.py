"""Servers that tests start: bound to the life of the test process, and waited for when they are stopped."""

import ctypes
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
STOPS_WITHIN = 20.0


def start_server(
    command: Sequence[str], log: Path, environment: Mapping[str, str], **options: Any
) -> "subprocess.Popen[bytes]":
    """Start a server that writes all it says into `log`, and dies with us. `options`: further ones of Popen."""
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            preexec_fn=die_with_parent,
            **options,
        )


def stop_server(process: "subprocess.Popen[bytes]", number: signal.Signals = signal.SIGTERM) -> None:
    """Ask a server to end and wait for it; kill it when it does not."""
    if process.poll() is None:
        process.send_signal(number)
    try:
        process.wait(STOPS_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOPS_WITHIN)


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
