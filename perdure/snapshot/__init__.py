"""Snapshots: the bytes of a working folder, kept with a job, so that every attempt, clone and fork runs the same ones.

`take` looks and reads, and writes nothing; `Snapshot.pack` writes the archive into a file that the caller opened.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from perdure.codes import BAD_CONFIGURATION
from perdure.errors import PerdureError, SnapshotRefused
from perdure.snapshot import archive, git, manifest, walk
from perdure.snapshot.git import GitState
from perdure.snapshot.manifest import Entry
from perdure.snapshot.walk import Limits, readable

__all__ = ["Entry", "GitState", "Limits", "Snapshot", "SnapshotRefused", "limits_from", "readable", "take"]

Progress = Callable[[int, int], None]  # (bytes done, bytes in all)


@dataclass(frozen=True)
class Snapshot:
    """A folder's files as they were when it was taken. `sha256` names it: the digest of its manifest."""

    root: Path
    sha256: str
    entries: tuple[Entry, ...]
    git: GitState | None

    @property
    def bytes(self) -> int:
        return sum(entry.bytes for entry in self.entries)

    @property
    def files(self) -> int:
        return len(self.entries)

    def pack(self, target: BinaryIO, progress: Progress | None = None) -> None:
        """Write the archive. Raises SnapshotRefused when a file has changed since the snapshot was taken."""
        archive.write(
            self.root, self.entries, manifest.canonical(self.entries), target, _counting(progress, self.bytes)
        )


def take(folder: Path, *, limits: Limits | None = None, progress: Progress | None = None) -> Snapshot:
    """Find and read what the folder holds, less what `.gitignore` and `.perdureignore` leave out.

    Raises SnapshotRefused, naming what stands in the way: too much, a file that keeps changing, a link that leaves.
    """
    root = folder.resolve()
    found = walk.find(root, limits or Limits())
    count = _counting(progress, sum(each.bytes for each in found))
    entries = tuple(manifest.describe(root, each, count) for each in found)
    digest = hashlib.sha256(manifest.canonical(entries)).hexdigest()
    return Snapshot(root, digest, entries, git.state_of(root))


def limits_from(environment: Mapping[str, str]) -> Limits:
    """The limits, with PERDURE_SNAPSHOT_MAX_BYTES in place of the default one for bytes, and without PERDURE_HOME."""
    own = Path(environment.get("PERDURE_HOME") or "~/.perdure").expanduser().resolve()
    raw = environment.get("PERDURE_SNAPSHOT_MAX_BYTES")
    if raw is None:
        return Limits(own=own)
    if not raw.isascii() or not raw.isdigit():
        detail = f"PERDURE_SNAPSHOT_MAX_BYTES is {raw!r}, which is not a number of bytes"
        raise PerdureError(BAD_CONFIGURATION, detail, where="PERDURE_SNAPSHOT_MAX_BYTES")
    return Limits(bytes=int(raw), own=own)


def _counting(progress: Progress | None, total: int) -> manifest.Progress:
    done = 0

    def count(read: int) -> None:
        nonlocal done
        done += read
        if progress is not None:
            progress(min(done, total), total)

    return count
