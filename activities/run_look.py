"""What a job has written into its run folder so far, cheap enough to be asked for every second."""

from pathlib import Path

from activities.ports import RunLook
from definitions.protocol import CHECKPOINT_FOLDER, PROGRESS_FILE

TAIL = 256 * 1024  # bytes of the progress file: the newest points say all that a row shows


def look(run: Path) -> RunLook:
    """Never raises for what is missing: a job that has written nothing has nothing to show."""
    return RunLook(progress=_tail(run / PROGRESS_FILE), checkpoints=_checkpoints(run / CHECKPOINT_FOLDER))


def _tail(file: Path) -> str:
    """The end of the file, from a line's beginning on."""
    try:
        with file.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(0, size - TAIL))
            content = stream.read(TAIL)
    except OSError:
        return ""
    return (content if size <= TAIL else content.partition(b"\n")[2]).decode(errors="replace")


def _checkpoints(folder: Path) -> tuple[tuple[str, int], ...]:
    """It changes when a checkpoint becomes complete: the manifest of each rank is written last."""
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
    except OSError:
        return ()
    return tuple((name, len(list((folder / name).glob("manifest-*.json")))) for name in names)
