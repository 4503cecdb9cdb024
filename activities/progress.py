"""Reading a job's progress file, of which only the newest part matters once it has grown."""

import os
from pathlib import Path

from activities.digests import open_regular
from definitions.progress import ProgressPoint
from definitions.protocol import PROGRESS_FILE
from policies.progress import parse_points

WHOLE = 16 * 1024**2


def read_progress(run_folder: Path, most: int = WHOLE) -> list[ProgressPoint]:
    """The points in the last `most` bytes of the progress file, oldest first; none without a readable file."""
    try:
        with open_regular(run_folder / PROGRESS_FILE) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(size - most, 0))
            return parse_points(file.read(most))
    except OSError:
        return []
