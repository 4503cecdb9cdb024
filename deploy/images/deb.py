"""Reading Debian packages: what a .deb would put on disk, and what it says of itself."""

import io
import posixpath
import tarfile
from collections.abc import Iterator
from pathlib import Path

from deploy.images.tree import Entry, File, Folder, Link

MAGIC = b"!<arch>\n"
HEADER = 60
# Since Debian 12 these are links into /usr, while packages still name files below them.
MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
SET_ID = 0o6000


def entries(package: Path) -> Iterator[tuple[str, Entry]]:
    """What is in a package, by path from the root, with /usr merged. No file keeps a set-id bit."""
    with _archive(package, "data.tar") as archive:
        for member in archive:
            path = posixpath.normpath(member.name)
            if path != "." and (path := merged(path)):
                yield path, _entry(archive, member)


def control(package: Path) -> str:
    """The package's own description, as the package manager's database has it."""
    with _archive(package, "control.tar") as archive:
        for member in archive:
            if posixpath.normpath(member.name) == "control" and (content := archive.extractfile(member)):
                return content.read().decode().strip() + "\n"
    raise ValueError(f"{package} has no control file")


def merged(path: str) -> str:
    top, slash, rest = path.partition("/")
    if top not in MERGED:
        return path
    return f"usr/{path}" if slash and rest else ""


def _entry(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Entry:
    if member.isdir():
        return Folder(member.mode & ~SET_ID)
    if member.issym():
        return Link(member.linkname)
    # Follows a hard link to the file in the same package.
    content = archive.extractfile(member)
    if content is None:
        raise ValueError(f"{member.name}: neither a file, nor a folder, nor a link")
    return File(content.read(), member.mode & ~SET_ID)


def _archive(package: Path, prefix: str) -> tarfile.TarFile:
    """A part of the package: an `ar` archive whose members each have a header of 60 bytes and an even length."""
    data = package.read_bytes()
    if not data.startswith(MAGIC):
        raise ValueError(f"{package} is no Debian package")
    at = len(MAGIC)
    while at < len(data):
        name = data[at : at + 16].decode().rstrip(" /")
        size = int(data[at + 48 : at + 58])
        at += HEADER
        if name.startswith(prefix):
            return tarfile.open(fileobj=io.BytesIO(data[at : at + size]), mode="r:*")
        at += size + size % 2
    raise ValueError(f"{package} has no {prefix}")
