"""Snapshot archives made by hand, well-formed and not."""

import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterable

from definitions.snapshot import MANIFEST_MEMBER, SnapshotEntry, SnapshotManifest, canonical_bytes

Member = tuple[tarfile.TarInfo, bytes]


def file_entry(path: str, content: bytes = b"x", mode: int = 0o644) -> SnapshotEntry:
    return SnapshotEntry(path=path, mode=mode, bytes=len(content), sha256=hashlib.sha256(content).hexdigest())


def link_entry(path: str, link: str) -> SnapshotEntry:
    return SnapshotEntry(path=path, link=link)


def file_member(path: str, content: bytes = b"x", mode: int = 0o644) -> Member:
    member = tarfile.TarInfo(path)
    member.size, member.mode = len(content), mode
    return member, content


def odd_member(path: str, kind: bytes, target: str = "", size: int = 0) -> Member:
    """A member of any type, header only."""
    member = tarfile.TarInfo(path)
    member.type, member.linkname, member.size = kind, target, size
    return member, b""


def link_member(path: str, link: str) -> Member:
    return odd_member(path, tarfile.SYMTYPE, link)


def tar_of(members: Iterable[Member], form: int = tarfile.GNU_FORMAT) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=form) as tar:
        for member, content in members:
            tar.addfile(member, io.BytesIO(content) if content else None)
    return packed.getvalue()


def archive_of(manifest: SnapshotManifest, members: Iterable[Member]) -> tuple[io.BytesIO, str]:
    """An archive that holds this manifest and these members, whether they fit or not; and the manifest's digest."""
    content = canonical_bytes(manifest)
    packed = gzip.compress(tar_of([file_member(MANIFEST_MEMBER, content), *members]), 1)
    return io.BytesIO(packed), hashlib.sha256(content).hexdigest()


def snapshot_of(
    files: dict[str, bytes], links: dict[str, str] | None = None, mode: int = 0o644
) -> tuple[io.BytesIO, str]:
    """A proper archive of these files and links, and its name."""
    links = links or {}
    entries = [file_entry(path, content, mode) for path, content in files.items()]
    entries += [link_entry(path, link) for path, link in links.items()]
    members = {path: file_member(path, content, mode) for path, content in files.items()}
    members |= {path: link_member(path, link) for path, link in links.items()}
    entries.sort(key=lambda entry: entry.path)
    return archive_of(SnapshotManifest(entries=tuple(entries)), [members[entry.path] for entry in entries])
