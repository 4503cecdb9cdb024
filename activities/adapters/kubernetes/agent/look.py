"""What a job has written into its run folder so far: as activities/run_look.py says it, with the standard library."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TAIL = 256 * 1024  # bytes of the progress file
PROGRESS_FILE, CHECKPOINT_FOLDER = "progress.jsonl", "checkpoints"
MARK = b"+"  # in place of a rank, before lines of the progress file in a container's output
SEPARATOR = b"\x1f"  # between them; JSON spells it otherwise


def progress(run: str, most: int) -> str:
    """The last `most` bytes of the progress file, from a line's beginning on."""
    return _tail(f"{run}/{PROGRESS_FILE}", most)


def look(run: str) -> dict[str, Any]:
    """The fields of `RunLook`. Never fails for what is missing: a job that has written nothing has nothing to show."""
    return {"progress": progress(run, TAIL), "checkpoints": _checkpoints(f"{run}/{CHECKPOINT_FOLDER}")}


def _tail(path: str, most: int) -> str:
    """The end of the file, from a line's beginning on."""
    try:
        # What lies there is the job's own work: a named pipe would make us wait.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - most))
            content = file.read(most)
    except OSError:
        return ""
    return (content if size <= most else content.partition(b"\n")[2]).decode(errors="replace")


def _checkpoints(folder: str) -> list[tuple[str, int]]:
    """Each folder with its number of manifests, which are written last."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    except OSError:
        return []
    return [(name, _manifests(f"{folder}/{name}")) for name in names]


def _manifests(folder: str) -> int:
    try:
        names = os.listdir(folder)
    except OSError:
        return 0
    return sum(name.startswith("manifest-") and name.endswith(".json") for name in names)
