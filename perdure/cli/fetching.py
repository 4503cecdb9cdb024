"""Fetching an artifact: into a file beside its target, checked, then moved into place."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from perdure.codes import NO_DESTINATION, UNREADABLE_ANSWER
from perdure.errors import PerdureError

if TYPE_CHECKING:
    from perdure.client import Run


def save(run: Run, path: str, target: Path, attempt: int | None) -> int:
    """Write an artifact to `target`, whole or not at all. Returns its size.

    Raises PerdureError when the target is there already (PD-2920) or the bytes are not those that were kept (PD-2902).
    """
    if target.exists():
        raise PerdureError(NO_DESTINATION, f"{target} is there already", where=str(target))
    try:
        with tempfile.TemporaryDirectory(prefix=".perdure-", dir=target.parent) as folder:
            fetched = Path(folder, "artifact")
            size = _fetch(run, path, fetched, attempt)
            os.link(fetched, target)  # unlike a rename it never replaces what appeared meanwhile
    except OSError as error:
        raise PerdureError(NO_DESTINATION, f"{target}: {error.strerror}", where=str(target)) from error
    return size


def print_file(run: Run, path: str, attempt: int | None) -> None:
    """Write an artifact to standard output, once all of it was checked."""
    with tempfile.TemporaryDirectory(prefix="perdure-") as folder:
        fetched = Path(folder, "artifact")
        _fetch(run, path, fetched, attempt)
        with fetched.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _fetch(run: Run, path: str, into: Path, attempt: int | None) -> int:
    run.download_artifact(path, into, attempt=attempt)
    wanted = _digest_of(run, path, attempt)
    with into.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if wanted is not None and found != wanted:
        raise PerdureError(UNREADABLE_ANSWER, f"{path} came damaged: its digest is {found}, not {wanted}", where=path)
    return into.stat().st_size


def _digest_of(run: Run, path: str, attempt: int | None) -> str | None:
    """The digest under which the artifact was kept: of the attempt, else of the newest one that left it."""
    same = [each for each in run.artifacts() if each.path == path and attempt in (None, each.attempt)]
    return max(same, key=lambda each: each.attempt).sha256 if same else None
