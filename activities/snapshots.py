"""Snapshots: verified when they arrive, stored under their digest, verified again when they are laid out for a run."""

import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from activities.ports import ObjectStore
from activities.snapshot_archive import keep_nothing, read_archive
from definitions.errors import PerdureError
from definitions.object_keys import snapshot_key
from definitions.snapshot import SnapshotEntry, SnapshotInfo, SnapshotLimits

# The sizes were judged at upload, and the digest binds them: at extraction only what the manifest announces counts.
AS_UPLOADED = SnapshotLimits(files=10**9, bytes=2**60, file_bytes=2**60, ratio=10**4)


def verify_upload(archive: BinaryIO, sha256: str, limits: SnapshotLimits | None = None) -> SnapshotInfo:
    """Read an archive to its end and check every member against its manifest, and the manifest against `sha256`.

    Raises PerdureError, PD-3400 to PD-3405. Writes nothing.
    """
    start = archive.tell()
    manifest = read_archive(archive, sha256, limits or SnapshotLimits(), keep_nothing)
    size = archive.tell() - start
    return SnapshotInfo(sha256=sha256, bytes=manifest.total_bytes, files=len(manifest.entries), archive_bytes=size)


def store_upload(
    objects: ObjectStore,
    tenant: str,
    project: str,
    sha256: str,
    archive: BinaryIO,
    limits: SnapshotLimits | None = None,
) -> SnapshotInfo:
    """Verify a seekable archive, then store it. Safe to repeat: the key is the content's own name.

    Raises PerdureError as `verify_upload` does, and PortError when the store fails.
    """
    start = archive.tell()
    info = verify_upload(archive, sha256, limits)
    archive.seek(start)
    objects.put(snapshot_key(tenant, project, sha256), archive, if_absent=True)
    return info


def extract(objects: ObjectStore, key: str, sha256: str, target: Path) -> None:
    """Lay out a stored snapshot as the folder `target`, every byte verified. `target` appears whole or not at all.

    Safe to repeat: a folder that is there already and not empty is left as it is. Raises PerdureError (PD-3400 to
    PD-3405 for a damaged archive, PD-3408 when the folder cannot be written) and PortError of the store.
    """
    lay_out(lambda: objects.get(key), sha256, target)


def lay_out(open_archive: Callable[[], BinaryIO], sha256: str, target: Path) -> None:
    """As `extract`, wherever the archive's bytes come from; what `open_archive` raises passes through."""
    try:
        if target.is_dir() and any(target.iterdir()):
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        work = target.parent / f".{target.name}.{secrets.token_hex(8)}"
        work.mkdir(mode=0o700)
    except OSError as error:
        raise _cannot_write(target, error) from error
    try:
        layout = _Layout(work)
        with open_archive() as archive:
            read_archive(archive, sha256, AS_UPLOADED, layout.add)
        layout.make_links()
        _move(work, target)
    except OSError as error:
        raise _cannot_write(target, error) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


class _Layout:
    """Writes entries below a folder that nobody else knows yet.

    Links are made last: until then no path can lead through one. No entry lies below another, so none does later.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folders = {root}
        self._links: list[tuple[Path, str]] = []

    def add(self, entry: SnapshotEntry, chunks: Iterator[bytes]) -> None:
        path = self._root / entry.path
        self._make_folder(path.parent)
        if entry.link is not None:
            self._links.append((path, entry.link))
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(path, flags, 0o600), "wb") as file:
            for chunk in chunks:
                file.write(chunk)
            os.fchmod(file.fileno(), entry.mode or 0)

    def make_links(self) -> None:
        for path, link in self._links:
            path.symlink_to(link)

    def _make_folder(self, folder: Path) -> None:
        if folder in self._folders:
            return
        self._make_folder(folder.parent)
        folder.mkdir()
        folder.chmod(0o755)
        self._folders.add(folder)


def _move(work: Path, target: Path) -> None:
    work.chmod(0o755)
    try:
        work.rename(target)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        # Another extraction of the same attempt was faster; its folder is as good as ours.


def _cannot_write(target: Path, error: OSError) -> PerdureError:
    return PerdureError("PD-3408", f"the snapshot cannot be laid out: {error.strerror or error}", where=str(target))
