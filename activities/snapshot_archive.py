"""Reading a snapshot's archive as hostile input: one pass, member by member, in bounded memory.

The archive's form is in definitions/snapshot.py. Everything here raises PerdureError, PD-3400 to PD-3405. Nothing is
written: a sink gets content that a verified manifest has announced, and an error when it turns out to differ.
"""

import gzip
import hashlib
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, Protocol, Self, cast

from pydantic import ValidationError

from definitions.errors import PerdureError
from definitions.snapshot import MANIFEST_MEMBER, SnapshotEntry, SnapshotLimits, SnapshotManifest, canonical_bytes

CHUNK = 1024 * 1024
LONGEST_NAME_RECORD = 8192  # bytes of a GNU long name: more than the longest path
FRAME = 2 * tarfile.BLOCKSIZE + 2 * (tarfile.BLOCKSIZE + LONGEST_NAME_RECORD)  # most bytes around one member's content
PADDING = 1024 * 1024  # zeros that may follow the last member
PLAIN = (tarfile.REGTYPE, tarfile.SYMTYPE)
LONG_NAMES = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
KINDS = {
    tarfile.DIRTYPE: "a folder",
    tarfile.LNKTYPE: "a hard link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a named pipe",
    tarfile.XHDTYPE: "a pax header",
    tarfile.XGLTYPE: "a pax header",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
}

Sink = Callable[[SnapshotEntry, Iterator[bytes]], None]


class Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


def read_archive(archive: Readable, sha256: str, limits: SnapshotLimits, sink: Sink) -> SnapshotManifest:
    """Verify a whole archive against its manifest, and the manifest against `sha256`.

    `sink` is given every entry with its content (none for a link). The last chunk may turn out wrong: what a sink has
    made counts only once this function has returned.
    """
    packed = _Counted(archive)
    with _damage_named(), gzip.GzipFile(fileobj=cast(BinaryIO, packed), mode="rb") as unpacked:
        stream = _Bounded(unpacked, packed, limits)
        source = cast(BinaryIO, stream)  # only ever read
        with tarfile.open(fileobj=source, mode="r|", tarinfo=_PlainMember, encoding="utf-8", errors="strict") as tar:
            manifest = _manifest(tar, sha256, limits)
            stream.allow(manifest)
            for entry in manifest.entries:
                chunks = _content(tar, entry)
                sink(entry, chunks)
                for _ in chunks:  # whatever the sink did not want is verified all the same
                    pass
            if extra := tar.next():
                raise PerdureError("PD-3405", f"the archive holds {extra.name!r}, which its manifest does not")
            stream.expect_zeros_after(_end_of_data(tar))
    return manifest


def keep_nothing(entry: SnapshotEntry, chunks: Iterator[bytes]) -> None:
    """The sink of a mere verification."""


class _PlainMember(tarfile.TarInfo):
    """Refuses a header by its type before tarfile acts on it: some are read into memory whole, whatever their size."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        member = super().frombuf(buf, encoding, errors)
        plain = member.type in PLAIN or (member.type in LONG_NAMES and member.size <= LONGEST_NAME_RECORD)
        if plain and member.size >= 0:
            return member
        kind = KINDS.get(member.type, f"of type {member.type!r} and size {member.size}")
        raise PerdureError("PD-3403", f"member {member.name[:80]!r} is {kind}; only files and symbolic links are taken")


class _Counted:
    def __init__(self, source: Readable) -> None:
        self._source = source
        self.count = 0

    def read(self, size: int = -1, /) -> bytes:
        data = self._source.read(size)
        self.count += len(data)
        return data


class _Bounded:
    """The unpacked stream, which ends in an error when it grows beyond the limits."""

    def __init__(self, unpacked: Readable, packed: _Counted, limits: SnapshotLimits) -> None:
        self._unpacked = unpacked
        self._packed = packed
        self._limits = limits
        self._most = limits.manifest_bytes + PADDING
        self._count = 0
        self._last_byte = 0  # where the last byte ends that is not zero

    def read(self, size: int = -1, /) -> bytes:
        data = self._unpacked.read(size)
        if meant := len(data.rstrip(b"\0")):
            self._last_byte = self._count + meant
        self._count += len(data)
        if self._count > self._most:
            raise PerdureError("PD-3402", f"the archive unpacks to more than {self._most} bytes")
        if self._count > max(self._limits.ratio_from, self._packed.count * self._limits.ratio):
            raise PerdureError("PD-3402", f"the archive unpacks to more than {self._limits.ratio} times its size")
        return data

    def allow(self, manifest: SnapshotManifest) -> None:
        """Let through what a verified manifest announces, and no more."""
        self._most = self._count + manifest.total_bytes + len(manifest.entries) * FRAME + PADDING

    def expect_zeros_after(self, end: int) -> None:
        """Read to the very end. What is not verified must not ride along, and a cut archive must be noticed."""
        while self.read(CHUNK):
            pass
        if self._last_byte > end:
            raise PerdureError("PD-3400", "the archive goes on after its last member")


def _manifest(tar: tarfile.TarFile, sha256: str, limits: SnapshotLimits) -> SnapshotManifest:
    first = tar.next()
    if first is None or first.name != MANIFEST_MEMBER or not first.isreg():
        raise PerdureError("PD-3400", f"the archive's first member is not {MANIFEST_MEMBER}")
    if first.size > limits.manifest_bytes:
        raise PerdureError("PD-3402", f"the manifest has {first.size} bytes, more than {limits.manifest_bytes}")
    content = b"".join(_member_chunks(tar, first))
    if (found := hashlib.sha256(content).hexdigest()) != sha256:
        raise PerdureError("PD-3401", f"the manifest's sha256 is {found}, not {sha256}")
    try:
        manifest = SnapshotManifest.model_validate_json(content)
    except ValidationError as error:
        problems = "; ".join(fault["msg"] for fault in error.errors(include_url=False)[:3])
        raise PerdureError("PD-3403", f"the manifest is not valid: {problems}", where=MANIFEST_MEMBER) from error
    if canonical_bytes(manifest) != content:
        raise PerdureError("PD-3400", "the manifest is not written in its canonical form", where=MANIFEST_MEMBER)
    _check_size(manifest, limits)
    return manifest


def _check_size(manifest: SnapshotManifest, limits: SnapshotLimits) -> None:
    if len(manifest.entries) > limits.files:
        raise PerdureError("PD-3402", f"the snapshot has {len(manifest.entries)} files, more than {limits.files}")
    if manifest.total_bytes > limits.bytes:
        raise PerdureError("PD-3402", f"the snapshot has {manifest.total_bytes} bytes, more than {limits.bytes}")
    for entry in manifest.entries:
        if (entry.bytes or 0) > limits.file_bytes:
            raise PerdureError("PD-3402", f"{entry.path!r} has {entry.bytes} bytes, more than {limits.file_bytes}")


def _content(tar: tarfile.TarFile, entry: SnapshotEntry) -> Iterator[bytes]:
    """The next member's content, which must be just what the entry says."""
    member = tar.next()
    if member is None or member.name != entry.path:
        found = "ends" if member is None else f"has {member.name!r}"
        raise PerdureError("PD-3405", f"the archive {found} where {entry.path!r} should come")
    if entry.link is not None:
        if not member.issym() or member.linkname != entry.link or member.size:
            raise PerdureError("PD-3405", f"{entry.path!r} is not the link to {entry.link!r} that the manifest says")
        return
    if not member.isreg() or member.size != entry.bytes or member.mode & 0o7777 != entry.mode:
        raise PerdureError("PD-3405", f"{entry.path!r} has another type, size or mode than the manifest says")
    digest = hashlib.sha256()
    for chunk in _member_chunks(tar, member):
        digest.update(chunk)
        yield chunk
    if digest.hexdigest() != entry.sha256:
        raise PerdureError("PD-3405", f"{entry.path!r} has other bytes than the manifest says (its sha256 differs)")


def _member_chunks(tar: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    file = tar.extractfile(member)
    assert file is not None, "a regular file has content"
    left = member.size
    while left:
        chunk = file.read(min(CHUNK, left))
        if not chunk:
            raise PerdureError("PD-3400", f"the archive ends within {member.name!r}")
        left -= len(chunk)
        yield chunk


def _end_of_data(tar: tarfile.TarFile) -> int:
    last = tar.getmembers()[-1]
    return last.offset_data + -(-last.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE


@contextmanager
def _damage_named() -> Iterator[None]:
    try:
        yield
    except (gzip.BadGzipFile, zlib.error, EOFError, tarfile.TarError, UnicodeDecodeError, RecursionError) as error:
        raise PerdureError("PD-3400", f"the archive cannot be read: {error or type(error).__name__}") from error
