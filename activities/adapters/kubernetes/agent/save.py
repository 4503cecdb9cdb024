"""Runs the job's own program that saves: `python -I -S <root>/bin/agent/save.py PROGRAM [ARGUMENT...]`.

The kubelet starts it when the pod is to leave, before it tells the agent to end. It becomes the program, in environment
and folder of the pod's first rank; the folder that the program saves into is made first.
"""

from __future__ import annotations

import json
import os
import sys

FOLDER = "PERDURE_SAVE_DIR"
SESSION = "save"


def main() -> None:
    binaries = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    attempt = f"{os.path.dirname(binaries)}/attempt"
    with open(f"{attempt}/pod.json") as file:
        rank = f"{attempt}/rank-{json.load(file)['ranks'][0]}"
    folder = _told(rank)
    if folder:
        os.makedirs(folder, exist_ok=True)
    enter = [f"{binaries}/python", "-I", "-S", f"{binaries}/shim/enter.py", rank, SESSION]
    os.execv(enter[0], [*enter, *sys.argv[1:]])


def _told(rank: str) -> str:
    """The folder as the rank was told it; empty when it names none, or has ended."""
    try:
        with open(f"{rank}/identity.json") as file:
            pid = int(json.load(file)["command"]["pid"])
        with open(f"/proc/{pid}/environ", "rb") as file:
            found = [part for part in file.read().split(b"\0") if part.startswith(f"{FOLDER}=".encode())]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return found[0].decode(errors="surrogateescape").partition("=")[2] if found else ""


if __name__ == "__main__":
    main()
