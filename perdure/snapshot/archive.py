"""The archive of a snapshot: a gzip-compressed tar that is the same bytes for the same files, wherever it is made."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from pathlib import Path
from typing import BinaryIO, cast

from perdure.codes import CHANGING_FILE
from perdure.errors import SnapshotRefused
from perdure.snapshot.manifest import Entry, Progress, open_kept
from perdure.snapshot.walk import MANIFEST_NAME

LEVEL = 1  # the upload is short and the machine is the user's: speed counts more than the last per cent


def write(root: Path, entries: tuple[Entry, ...], manifest: bytes, target: BinaryIO, progress: Progress) -> None:
    """Write the archive. Raises SnapshotRefused when a file is no longer what the manifest says."""
    with (
        gzip.GzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=target, mtime=0) as packed,
        tarfile.open(fileobj=cast(BinaryIO, packed), mode="w", format=tarfile.GNU_FORMAT, encoding="utf-8") as tar,
    ):
        tar.addfile(_member(MANIFEST_NAME, 0o644, len(manifest)), io.BytesIO(manifest))
        for entry in entries:
            if entry.link is not None:
                tar.addfile(_link(entry.path, entry.link))
            else:
                _add(tar, root, entry, progress)


def _add(tar: tarfile.TarFile, root: Path, entry: Entry, progress: Progress) -> None:
    with open_kept(root, entry.path) as file:
        reader = _Checked(file, progress)
        try:
            tar.addfile(_member(entry.path, entry.mode, entry.bytes), cast(BinaryIO, reader))
        except OSError as error:
            if reader.read_bytes >= entry.bytes:
                raise
            raise _changed(root, entry) from error  # shorter than it was: tarfile met its end too early
        if reader.digest.hexdigest() != entry.sha256 or file.read(1):
            raise _changed(root, entry)


class _Checked:
    """A file that hashes and counts what is read from it."""

    def __init__(self, file: BinaryIO, progress: Progress) -> None:
        self.file = file
        self.progress = progress
        self.digest = hashlib.sha256()
        self.read_bytes = 0

    def read(self, size: int = -1) -> bytes:
        chunk = self.file.read(size)
        self.digest.update(chunk)
        self.read_bytes += len(chunk)
        self.progress(len(chunk))
        return chunk


def _changed(root: Path, entry: Entry) -> SnapshotRefused:
    detail = f"{entry.path} changed between being listed and being packed"
    return SnapshotRefused(CHANGING_FILE, detail, where=str(root / entry.path), paths=[entry.path])


def _member(name: str, mode: int, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.mode, member.size, member.mtime = mode, size, 0
    return member


def _link(name: str, target: str) -> tarfile.TarInfo:
    member = _member(name, 0o777, 0)
    member.type, member.linkname = tarfile.SYMTYPE, target
    return member
