"""A snapshot: the bytes of a working folder, named by the digest of its manifest.

The manifest is a list of entries, each path once, sorted by path (by code point, which is the order of the UTF-8 bytes
too):

    a file     {"bytes": 120, "mode": 493, "path": "bin/train", "sha256": "<64 hex digits>"}
    a link     {"link": "../data/small", "path": "bin/data"}

`mode` holds the nine permission bits only. Folders have no entries: those of the paths are made with mode 0755, and an
empty folder is not kept. Canonical bytes of a manifest, exactly:

    json.dumps({"entries": [...], "version": 1}, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()

that is ASCII, no white space, keys in order, no key that does not apply. The snapshot's name is their sha256 in hex.

The archive is a gzip-compressed tar in GNU format (`tarfile.GNU_FORMAT`; no pax headers). Its first member is a regular
file `.perdure-manifest.json` with the canonical bytes. Then comes one member per entry, in the manifest's order and
under the entry's path: a regular file with its size and mode, or a symbolic link (size 0). There is no other member,
and nothing after the end of the archive but zeros. Owners and times are not looked at; write 0. Two archives of one
manifest may differ in compression, which changes nothing: the manifest is what is named.

A path is relative, in UTF-8, at most 4,096 bytes and 100 segments of at most 255 bytes; no segment is empty, `.` or
`..`; no NUL; no entry lies below another entry; `.perdure-manifest.json` is taken. A link is relative, may climb by
`..` only in its beginning and not out of the tree. It may dangle.
"""

import hashlib
import itertools
import json
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_serializer, model_validator

from definitions.wire import Wire

MANIFEST_MEMBER = ".perdure-manifest.json"
LONGEST_PATH = 4096
LONGEST_SEGMENT = 255
MOST_SEGMENTS = 100  # bounds the work that a hostile manifest can cause

Sha256 = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]


class SnapshotEntry(Wire):
    """One file (`mode`, `bytes`, `sha256`) or one symbolic link (`link`)."""

    path: str
    mode: int | None = Field(default=None, ge=0, le=0o777)
    bytes: int | None = Field(default=None, ge=0)
    sha256: Sha256 | None = None
    link: str | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        file_fields = (self.mode, self.bytes, self.sha256)
        if self.link is not None and any(value is not None for value in file_fields):
            raise ValueError(f"{self.path!r} is both a file and a link")
        if self.link is None and any(value is None for value in file_fields):
            raise ValueError(f"{self.path!r} lacks mode, bytes or sha256")
        problem = path_problem(self.path) or (link_problem(self.path, self.link) if self.link is not None else None)
        if problem:
            raise ValueError(problem)
        return self

    @model_serializer
    def _only_what_applies(self) -> dict[str, Any]:
        return {name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None}


class SnapshotManifest(Wire):
    version: Literal[1] = 1
    entries: tuple[SnapshotEntry, ...]

    @model_validator(mode="after")
    def _check(self) -> Self:
        problem = order_problem(tuple(entry.path for entry in self.entries))
        if problem:
            raise ValueError(problem)
        return self

    @property
    def total_bytes(self) -> int:
        return sum(entry.bytes or 0 for entry in self.entries)


class SnapshotLimits(Wire):
    """What an upload may hold. `ratio` is unpacked size over archive size, looked at beyond `ratio_from` bytes."""

    files: int = 50_000
    bytes: int = 2 * 1024**3
    file_bytes: int = 1024**3
    manifest_bytes: int = 32 * 1024**2
    ratio: int = 200
    ratio_from: int = 64 * 1024**2


class SnapshotInfo(Wire):
    """A verified snapshot: its name, what it holds unpacked, and the size of its archive."""

    sha256: str
    bytes: int
    files: int
    archive_bytes: int


def canonical_bytes(manifest: SnapshotManifest) -> bytes:
    """The bytes whose sha256 names the snapshot."""
    body = manifest.model_dump(mode="json")
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def manifest_digest(manifest: SnapshotManifest) -> str:
    return hashlib.sha256(canonical_bytes(manifest)).hexdigest()


def path_problem(path: str) -> str | None:
    """Why an entry may not have this path; None when it may."""
    if not path or path.startswith("/"):
        return f"path {path!r} is not relative"
    if "\0" in path:
        return f"path {path!r} holds a NUL"
    try:
        encoded = path.encode()
    except UnicodeEncodeError:
        return f"path {path!r} is not UTF-8"
    segments = path.split("/")
    if any(segment in ("", ".", "..") for segment in segments):
        return f"path {path!r} has an empty, '.' or '..' segment"
    if len(segments) > MOST_SEGMENTS:
        return f"path {path[:60]!r}... is too deep"
    if len(encoded) > LONGEST_PATH or any(len(segment.encode()) > LONGEST_SEGMENT for segment in segments):
        return f"path {path[:60]!r}... is too long"
    if path == MANIFEST_MEMBER:
        return f"path {path!r} is taken by the archive's own manifest"
    return None


def link_problem(path: str, link: str) -> str | None:
    """Why a link at `path` may not point to `link`; None when it may.

    `..` is allowed in the beginning only: behind a folder that is itself a link it would climb from where that link
    leads, which the spelling does not show.
    """
    if not link or link.startswith("/") or "\0" in link:
        return f"link {path!r} -> {link!r} is not relative"
    try:
        too_long = len(link.encode()) > LONGEST_PATH
    except UnicodeEncodeError:
        return f"link {path!r} -> {link!r} is not UTF-8"
    if too_long:
        return f"link {path!r} -> {link[:60]!r}... is too long"
    segments = [segment for segment in link.split("/") if segment not in ("", ".")]
    climbs = next((at for at, segment in enumerate(segments) if segment != ".."), len(segments))
    if ".." in segments[climbs:] or climbs > path.count("/"):
        return f"link {path!r} -> {link!r} may lead out of the tree"
    return None


def order_problem(paths: tuple[str, ...]) -> str | None:
    """Why these paths cannot be the entries of one manifest in this order; None when they can."""
    known = set(paths)
    for before, path in itertools.pairwise(paths):
        if before == path:
            return f"path {path!r} is there twice"
        if before > path:
            return f"path {path!r} is not in its sorted place"
    for path in paths:
        parts = path.split("/")
        for depth in range(1, len(parts)):
            if (folder := "/".join(parts[:depth])) in known:
                return f"path {path!r} lies below the entry {folder!r}"
    return None
