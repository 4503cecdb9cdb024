"""An auditor that believes nobody: it reads what the jobs themselves wrote, and /proc; not our tables alone.

A witness job writes one line per happening into its marker file: what, attempt token, attempt, rank, pid, start time of
the process, boot id. A line is one write to a file opened for appending, so a kill leaves whole lines.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

WITNESS = Path(__file__).with_name("witness.py")


@dataclass(frozen=True)
class Mark:
    """One line of a witness."""

    what: str  # start, end, child, overlap
    token: str
    attempt: int
    rank: int
    pid: int
    started: int  # clock ticks since boot, field 22 of /proc/<pid>/stat
    boot: str

    def alive(self) -> bool:
        return self.boot == boot_id() and start_ticks(self.pid) == self.started


class Auditor:
    """Reads the markers of all witness jobs below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def command(self, name: str, *options: str) -> list[str]:
        """The argv of a witness job that leaves its marks under `name`."""
        return ["python3", "-I", "-S", str(WITNESS), str(self.folder / name), *options]

    def marks(self, name: str) -> list[Mark]:
        try:
            lines = (self.folder / name).read_text().splitlines()
        except FileNotFoundError:
            return []
        return [_mark(line) for line in lines]

    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def doubles(self, name: str) -> list[tuple[str, int]]:
        """(token, rank) pairs that were started more than once, and ranks that ran beside an earlier attempt."""
        marks = self.marks(name)
        starts = Counter((mark.token, mark.rank) for mark in marks if mark.what == "start")
        doubled = [pair for pair, count in starts.items() if count > 1]
        return doubled + [(mark.token, mark.rank) for mark in marks if mark.what == "overlap"]

    def attempts(self, name: str) -> list[int]:
        return sorted({mark.attempt for mark in self.marks(name) if mark.what == "start"})

    def finished(self, name: str, ranks: int = 1) -> bool:
        """Whether the last attempt's ranks all came to their end."""
        marks = self.marks(name)
        last = max((mark.attempt for mark in marks), default=0)
        return {mark.rank for mark in marks if mark.what == "end" and mark.attempt == last} == set(range(ranks))

    def orphans(self, names: Iterable[str] | None = None) -> list[Mark]:
        """Every process that ever left a mark and still lives; a daemon with a cleared environment is one too."""
        chosen = self.names() if names is None else names
        return [mark for name in chosen for mark in self.marks(name) if mark.alive()]


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_ticks(pid: int) -> int | None:
    """When a process started; None when it is gone or only a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in ("Z", "X") else int(fields[19])


def shims(home: Path) -> list[psutil.Process]:
    """Every supervisor and watcher that works below this home."""
    found = []
    for process in psutil.process_iter():
        try:
            if any(str(home) in part for part in process.cmdline()) and "shim" in " ".join(process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


def _mark(line: str) -> Mark:
    what, token, attempt, rank, pid, started, boot = line.split()
    return Mark(what, token, int(attempt), int(rank), int(pid), int(started), boot)
