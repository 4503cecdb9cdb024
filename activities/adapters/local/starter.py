"""Talking to the process that starts pairs of supervisors."""

import json
import subprocess
from pathlib import Path
from typing import Any

SHIM = Path(__file__).with_name("shim") / "__main__.py"
FINE = ("started", "held", "ended", "lost")


def start_ranks(python: str, attempt: Path, specs: dict[int, dict[str, Any]], within: float) -> dict[int, str]:
    """Start the pairs of these ranks. Returns what went wrong, by rank; empty when all are up.

    Safe to repeat: a rank that is supervised, or that has ended, is left as it is.
    """
    try:
        process = subprocess.Popen(
            [python, "-I", "-S", str(SHIM), str(attempt)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={},
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        return dict.fromkeys(specs, f"its supervisor could not be started: {error}")
    what = "it ended without an answer"
    try:
        output, _ = process.communicate(json.dumps(list(specs.values())).encode(), timeout=within)
    except subprocess.TimeoutExpired:
        what = f"no answer within {within:g} s"
        process.kill()
        output, _ = process.communicate()
    text = output.decode(errors="replace")
    answers = _answers(text)
    said = {rank: answers.get(rank, f"{what}: {text[-300:]}") for rank in specs}
    return {rank: answer for rank, answer in said.items() if answer not in FINE}


def _answers(output: str) -> dict[int, str]:
    found = {}
    for line in output.splitlines():
        rank, _, answer = line.partition(" ")
        if rank.isdecimal():
            found[int(rank)] = answer
    return found
