"""A trainer that SIGKILLs itself at a given moment of its saves. Standard library and a copy of the job helper only.

    python killed_trainer.py FOLDER-OF-THE-HELPER MOMENT

A moment is a piece written, or an edge of a call that changes the disk; they are counted within saves, over all of
them. What is printed reaches the parent even when the next thing is the kill.
"""

import hashlib
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

sys.path.insert(0, sys.argv[1])
import job  # type: ignore[import-not-found]

INTERVAL = 5
PIECES = 48
PIECE = 64
CHANGING = ("mkdir", "open", "fsync", "replace", "unlink", "rmdir")


class Fuse:
    """Counts moments while it is lit, and kills at the last one."""

    def __init__(self, moments: int) -> None:
        self.left = moments
        self.lit = False

    def moment(self) -> None:
        if not self.lit:
            return
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            self.moment()
            result = call(*arguments, **options)
            self.moment()
            return result

        return counted


def say(what: str, step: int) -> None:
    os.write(1, f"{what} {step}\n".encode())


def advance(state: str, step: int) -> str:
    return hashlib.sha256(f"{state}{step}".encode()).hexdigest()


def weights(state: str) -> bytes:
    return (state.encode() * PIECES)[: PIECES * PIECE]


def resumed() -> tuple[int, str]:
    start = job.resume()
    if start is None:
        return 0, ""
    state = str(json.loads((start.folder / "state.json").read_text())["state"])
    if (start.folder / "weights.bin").read_bytes() != weights(state):
        sys.exit("weights and state are of different saves")
    return start.step, state


def save(step: int, state: str, fuse: Fuse) -> None:
    fuse.lit = True
    with job.checkpoint(step) as folder:
        content = weights(state)
        with (folder / "weights.bin").open("wb", buffering=0) as file:
            for start in range(0, len(content), PIECE):
                file.write(content[start : start + PIECE])
                fuse.moment()
        (folder / "state.json").write_text(json.dumps({"state": state}))
        fuse.moment()
    fuse.lit = False


def main() -> None:
    fuse = Fuse(int(sys.argv[2]))
    for name in CHANGING:
        setattr(os, name, fuse.around(getattr(os, name)))
    step, state = resumed()
    say("resumed", step)
    while True:
        step += 1
        state = advance(state, step)
        say("reached", step)
        if step % INTERVAL == 0:
            save(step, state, fuse)
            say("saved", step)


if __name__ == "__main__":
    main()
