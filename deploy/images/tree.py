"""A file tree in memory, from which layers are written: the same content always gives the same bytes."""

import io
import os
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, cast

from deploy.images.streams import Digested, Writable

TIME = 946_684_800  # 2000-01-01T00:00:00Z: one time for every file, for a zip knows none before 1980
EXECUTABLE = 0o755
PLAIN = 0o644


@dataclass(frozen=True)
class Folder:
    mode: int = 0o755
    owner: int = 0


@dataclass(frozen=True)
class File:
    data: bytes | Path
    mode: int = PLAIN

    def read(self) -> bytes:
        return self.data if isinstance(self.data, bytes) else self.data.read_bytes()


@dataclass(frozen=True)
class Link:
    target: str


Entry = Folder | File | Link


class Tree:
    """Entries by path, relative to the root and without `..`. A later entry replaces an earlier one."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}

    def __getitem__(self, path: str) -> Entry:
        return self._entries[path]

    def __setitem__(self, path: str, entry: Entry) -> None:
        _require_safe(path)
        self._entries[path] = entry

    def __contains__(self, path: str) -> bool:
        return path in self._entries

    def under(self, folder: str) -> Iterator[tuple[str, Entry]]:
        """What lies below a folder, in order, by its path from there."""
        start = folder.rstrip("/") + "/" if folder else ""
        for path in sorted(self._entries):
            if path.startswith(start):
                yield path.removeprefix(start), self._entries[path]

    def file(self, path: str) -> bytes:
        """The bytes of a file, also through a link to another name in the same folder."""
        entry = self._entries[path]
        if isinstance(entry, Link):
            return self.file(str(PurePosixPath(path).parent / entry.target))
        if isinstance(entry, Folder):
            raise IsADirectoryError(path)
        return entry.read()

    def below(self, folder: str) -> "Tree":
        """The same files, all of them below a folder."""
        moved = Tree()
        for path, entry in self._entries.items():
            moved[f"{folder}/{path}"] = entry
        return moved

    def digest(self) -> str:
        """A digest of what would be written."""
        stream = Digested()
        self.write(stream)
        return stream.digest

    def take(self, folder: Path, to: str) -> None:
        """Add what is on disk below `folder`; owners and times are not taken, of modes only who may execute."""
        for path in sorted(folder.rglob("*")):
            name = str(PurePosixPath(to) / path.relative_to(folder).as_posix())
            if path.is_symlink():
                self[name] = Link(os.readlink(path))
            elif path.is_dir():
                self[name] = Folder()
            else:
                self[name] = File(path, EXECUTABLE if path.stat().st_mode & stat.S_IXUSR else PLAIN)

    def extract(self, folder: Path) -> None:
        """Write the tree to disk, where nothing of it may be yet."""
        folder.mkdir(parents=True)
        for path, entry in self._complete():
            target = folder / path
            match entry:
                case Folder():
                    target.mkdir()
                case Link():
                    target.symlink_to(entry.target)
                case File():
                    target.write_bytes(entry.read())
                    target.chmod(entry.mode)

    def write(self, stream: Writable) -> None:
        """Write a tar: sorted, one time, owned by root but for the folders that say otherwise."""
        # A tar that is written as a stream only ever calls `write`.
        with tarfile.open(fileobj=cast(IO[bytes], stream), mode="w|", format=tarfile.PAX_FORMAT) as tar:
            for path, entry in self._complete():
                _write_entry(tar, path, entry)

    def _complete(self) -> Iterator[tuple[str, Entry]]:
        """Every entry, and every folder above one, with folders before what is in them."""
        missing = {str(above) for path in self._entries for above in PurePosixPath(path).parents} - {"."}
        whole = {path: Folder() for path in missing} | self._entries
        return iter(sorted(whole.items()))


def _require_safe(path: str) -> None:
    parts = PurePosixPath(path).parts
    if not parts or path != "/".join(parts) or ".." in parts or "\0" in path:
        raise ValueError(f"no path of a layer: {path!r}")


def _write_entry(tar: tarfile.TarFile, path: str, entry: Entry) -> None:
    member = tarfile.TarInfo(path)
    member.mtime = TIME
    match entry:
        case Folder():
            member.type, member.mode = tarfile.DIRTYPE, entry.mode
            member.uid = member.gid = entry.owner
            tar.addfile(member)
        case Link():
            member.type, member.mode, member.linkname = tarfile.SYMTYPE, 0o777, entry.target
            tar.addfile(member)
        case File(data=bytes() as data):
            member.size, member.mode = len(data), entry.mode
            tar.addfile(member, io.BytesIO(data))
        case File(data=Path() as source):
            member.size, member.mode = source.stat().st_size, entry.mode
            with source.open("rb") as content:
                tar.addfile(member, content)
