"""The log files of the embedded stack: bounded without the writers' help, and quoted when a start fails."""

import os
import shutil
from pathlib import Path

LIMIT = 20 * 1024 * 1024
KEPT = 3


def rotate(folder: Path, limit: int = LIMIT) -> None:
    """Move what exceeds `limit` bytes into `<name>.1` (then .2, .3) and empty the file.

    The writers append to an open file and are not asked: what one writes in the instant between copy and emptying is
    lost, which a log of this size can bear.
    """
    for log in sorted(folder.glob("*.log")):
        if log.stat().st_size <= limit:
            continue
        for number in range(KEPT, 1, -1):
            older = log.with_name(f"{log.name}.{number - 1}")
            if older.exists():
                older.replace(log.with_name(f"{log.name}.{number}"))
        shutil.copyfile(log, log.with_name(f"{log.name}.1"))
        os.truncate(log, 0)


def tail(log: Path, lines: int = 10) -> str:
    """The last lines of a log, for a message; empty when there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 8192))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
