"""Finding the files of a snapshot: what is there, less what is ignored, in a fixed order.

Nothing is followed and nothing is skipped silently: what cannot be kept is refused by name.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from perdure.codes import LINK_DANGLES, LINK_LEAVES, NOT_A_FILE, NOT_KEPT, TOO_MANY_BYTES, TOO_MANY_FILES, Code
from perdure.errors import SnapshotRefused
from perdure.snapshot import git
from perdure.snapshot.ignore import OURS, Rules, ignored_on_the_way, rules_for

MANIFEST_NAME = ".perdure-manifest.json"
LONGEST_PATH = 4096  # bytes
DEEPEST = 100
MOST_HOPS = 1000  # segments looked at while a link is followed; more is a circle
NAMED = 10  # how many offenders an error lists
KINDS = {
    stat.S_IFSOCK: "a socket",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFBLK: "a block device",
    stat.S_IFCHR: "a character device",
}


@dataclass(frozen=True)
class Limits:
    """The most that a snapshot may hold. `own` is the control plane's folder, with its keys: never part of one."""

    bytes: int = 512 * 1024**2
    files: int = 50_000
    own: Path | None = None


@dataclass(frozen=True)
class Found:
    """A file or link to keep. `path` is relative with slashes; `link` is a link's target as it is written."""

    path: str
    bytes: int = 0
    link: str | None = None


def find(root: Path, limits: Limits) -> list[Found]:
    """Everything below `root` that is not ignored, sorted by path.

    Raises SnapshotRefused naming every file, link or folder that cannot be kept, or the biggest when it is too much.
    """
    if limits.own is not None and root.is_relative_to(limits.own):
        raise _refused(NOT_KEPT, root, ["."], "is where the control plane keeps its keys (PERDURE_HOME)")
    walk = _Walk(root, limits)
    walk.visit("", rules_for(root, git.repository_of(root) or root))
    for path in git.tracked_though_ignored(root):
        walk.keep_tracked(path)
    found = sorted(walk.found.values(), key=lambda each: each.path.encode())
    _refuse_bad_links(root, found)
    _refuse_too_much(root, found, limits)
    return found


class _Walk:
    def __init__(self, root: Path, limits: Limits) -> None:
        self.root = root
        self.limits = limits
        self.found: dict[str, Found] = {}

    def visit(self, folder: str, rules: Rules) -> None:
        """Take what is in one folder, and in the folders below it. `rules` are those of the folder itself."""
        below: list[str] = []
        for entry in self._entries(folder):
            path = f"{folder}/{entry.name}" if folder else entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name == ".git" or rules.ignores(self._from_top(path, rules), is_folder=is_folder):
                continue
            if self.root / path == self.limits.own:
                continue
            if is_folder:
                below.append(path)
            else:
                self._keep(path, entry.stat(follow_symlinks=False))
        for path in below:
            self.visit(path, rules.enter(self._from_top(path, rules)))

    def keep_tracked(self, path: str) -> None:
        """Take a file that git tracks although a rule ignores it, unless it is gone or ours leaves it out."""
        if path in self.found or ignored_on_the_way(path, self.root, (OURS,)):
            return
        if self.limits.own is not None and (self.root / path).is_relative_to(self.limits.own):
            return
        try:
            status = (self.root / path).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return
        if not stat.S_ISDIR(status.st_mode):
            self._keep(path, status)

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.root / folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            raise _refused(NOT_KEPT, self.root, [folder or "."], f"cannot be listed: {error.strerror}") from error

    def _from_top(self, path: str, rules: Rules) -> str:
        above = self.root.relative_to(rules.top).as_posix()
        return path if above == "." else f"{above}/{path}"

    def _keep(self, path: str, status: os.stat_result) -> None:
        _refuse_bad_name(self.root, path)
        kind = stat.S_IFMT(status.st_mode)
        if kind == stat.S_IFLNK:
            self.found[path] = Found(path, link=os.readlink(self.root / path))
        elif kind == stat.S_IFREG:
            self.found[path] = Found(path, status.st_size)
        else:
            raise _refused(NOT_A_FILE, self.root, [path], f"is {KINDS.get(kind, 'not a regular file')}")
        if len(self.found) > self.limits.files:
            raise _too_many_files(self.root, list(self.found), self.limits)


def _refuse_bad_name(root: Path, path: str) -> None:
    if path == MANIFEST_NAME:
        raise _refused(NOT_KEPT, root, [path], "has the name of the snapshot's own list of files")
    try:
        length = len(path.encode())
    except UnicodeEncodeError:
        raise _refused(NOT_KEPT, root, [ascii(path)[1:-1]], "has a name that is not UTF-8") from None
    if length > LONGEST_PATH or path.count("/") >= DEEPEST:
        raise _refused(NOT_KEPT, root, [path], "lies too deep or has too long a path")


def _refuse_bad_links(root: Path, found: list[Found]) -> None:
    """A link must be relative, stay inside by its spelling alone, and lead to something that is kept."""
    links = {each.path: each.link for each in found if each.link is not None}
    leaving = [f"{path} -> {link}" for path, link in links.items() if _leaves(path, link)]
    if leaving:
        raise _refused(LINK_LEAVES, root, leaving, "leads out of the folder")
    there = {each.path for each in found if each.link is None}
    there |= {parent for each in found for parent in _parents(each.path)}
    dangling = [f"{path} -> {link}" for path, link in links.items() if not _arrives(path, links, there)]
    if dangling:
        raise _refused(LINK_DANGLES, root, dangling, "leads to nothing that is kept")


def _leaves(path: str, link: str) -> bool:
    """`..` may only stand in the beginning: behind a folder that is a link it climbs from where that link leads."""
    segments = [segment for segment in link.split("/") if segment not in ("", ".")]
    climbs = next((at for at, segment in enumerate(segments) if segment != ".."), len(segments))
    return link.startswith("/") or ".." in segments[climbs:] or climbs > path.count("/")


def _arrives(path: str, links: dict[str, str], there: set[str]) -> bool:
    """Follow a link by the entries alone, since what is ignored will not be there when the job runs."""
    waiting = path.split("/")
    at: list[str] = []
    for _ in range(MOST_HOPS):
        if not waiting:
            return True
        segment = waiting.pop(0)
        if segment in ("", ".", ".."):
            at = at[:-1] if segment == ".." else at
            continue
        here = "/".join([*at, segment])
        if here in links:
            waiting = [*links[here].split("/"), *waiting]
        elif here in there:
            at.append(segment)
        else:
            return False
    return False


def _refuse_too_much(root: Path, found: list[Found], limits: Limits) -> None:
    total = sum(each.bytes for each in found)
    if total <= limits.bytes:
        return
    biggest = sorted(found, key=lambda each: -each.bytes)[:NAMED]
    listed = ", ".join(f"{each.path} ({readable(each.bytes)})" for each in biggest)
    held = "1 file holds" if len(found) == 1 else f"{len(found)} files hold"
    detail = f"{held} {readable(total)}, the limit is {readable(limits.bytes)}; the biggest: {listed}"
    raise SnapshotRefused(TOO_MANY_BYTES, detail, where=str(root), paths=[each.path for each in biggest])


def _too_many_files(root: Path, paths: list[str], limits: Limits) -> SnapshotRefused:
    folders: dict[str, int] = {}
    for path in paths:
        top = path.split("/", 1)[0] + "/" if "/" in path else "."
        folders[top] = folders.get(top, 0) + 1
    fullest = sorted(folders, key=lambda name: -folders[name])[:NAMED]
    listed = ", ".join(f"{name} ({folders[name]})" for name in fullest)
    detail = f"more than {limits.files} files; those found so far lie in {listed}"
    return SnapshotRefused(TOO_MANY_FILES, detail, where=str(root), paths=fullest)


def _refused(code: Code, root: Path, paths: list[str], what: str) -> SnapshotRefused:
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return SnapshotRefused(code, f"{', '.join(paths[:NAMED])}{more} {what}", where=str(root), paths=paths)


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def readable(count: int) -> str:
    """A number of bytes in binary units, for people."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"
