"""Which files a snapshot leaves out: `.gitignore` as git reads it, and `.perdureignore` in the same language.

Rules belong to the folder that holds them. A path is judged by the nearest folder that has an opinion; within a folder
the last matching line wins, and `.perdureignore` is read after `.gitignore`, so that it can keep what git ignores.
Nothing below an ignored folder can be kept: the walk never goes there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pathspec.patterns.gitignore.base import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

GIT = ".gitignore"
OURS = ".perdureignore"
# pathspec marks with this group the slash after a matched folder, and matches what lies below that folder as well.
FOLDER_MARK = "ps_d"


@dataclass(frozen=True)
class Level:
    """The rules of one folder. `prefix` is its path below the top, ending in a slash, or empty."""

    prefix: str
    patterns: tuple[GitIgnoreSpecPattern, ...]

    def verdict(self, path: str) -> bool | None:
        """True: ignore; False: keep; None: no line says anything about this very path."""
        own = path[len(self.prefix) :]
        for pattern in reversed(self.patterns):
            if _matches_itself(pattern, own):
                return bool(pattern.include)
        return None


@dataclass(frozen=True)
class Rules:
    """What is ignored, as seen from one folder: its own level last. Paths are relative to `top`, with slashes."""

    top: Path
    files: tuple[str, ...] = (GIT, OURS)
    levels: tuple[Level, ...] = ()

    def enter(self, folder: str) -> Rules:
        """The rules inside `folder` ("" is the top). Raises OSError when an ignore file cannot be read."""
        patterns = tuple(pattern for name in self.files for pattern in _read(self.top / folder / name))
        if not patterns:
            return self
        level = Level(f"{folder}/" if folder else "", patterns)
        return Rules(self.top, self.files, (*self.levels, level))

    def ignores(self, path: str, *, is_folder: bool) -> bool:
        asked = f"{path}/" if is_folder else path
        for level in reversed(self.levels):
            verdict = level.verdict(asked)
            if verdict is not None:
                return verdict
        return False


def rules_for(root: Path, top: Path, files: tuple[str, ...] = (GIT, OURS)) -> Rules:
    """The rules that hold in `root` because of it and of the folders above it, up to `top`.

    A root that is itself ignored from above is read alone: whoever submits from a build folder means that folder.
    """
    rules = Rules(top, files)
    walked = ""
    for part in ("", *root.relative_to(top).parts):
        walked = f"{walked}/{part}" if walked else part
        if walked and rules.ignores(walked, is_folder=True):
            return Rules(root, files).enter("")
        rules = rules.enter(walked)
    return rules


def ignored_on_the_way(path: str, root: Path, files: tuple[str, ...]) -> bool:
    """Whether a file below `root` is ignored, itself or by a folder on the way, by these ignore files alone."""
    rules = Rules(root, files).enter("")
    parts = path.split("/")
    for depth in range(1, len(parts)):
        folder = "/".join(parts[:depth])
        if rules.ignores(folder, is_folder=True):
            return True
        rules = rules.enter(folder)
    return rules.ignores(path, is_folder=False)


def _read(file: Path) -> Iterable[GitIgnoreSpecPattern]:
    try:
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return
    for line in content.decode("utf-8-sig", "surrogateescape").split("\n"):
        try:
            pattern = GitIgnoreSpecPattern(line.removesuffix("\r"))
        except GitIgnorePatternError:
            continue  # git, too, lets such a line match nothing
        if pattern.include is not None:
            yield pattern


def _matches_itself(pattern: GitIgnoreSpecPattern, path: str) -> bool:
    """Whether a line names this path, and not only a folder above it.

    What lies below a folder is not judged by the lines that name the folder: the walk has judged the folder already.
    """
    found = pattern.match_file(path)
    if found is None:
        return False
    match: re.Match[str] = found.match
    if FOLDER_MARK not in match.re.groupindex or match.group(FOLDER_MARK) is None:
        return match.end() < len(path) or not path.endswith("/")  # `a/**` is what lies in a, not a
    if match.start(FOLDER_MARK) == match.start():
        return path.endswith("/")  # the whole pattern is "any folder"
    return match.end(FOLDER_MARK) == len(path)
