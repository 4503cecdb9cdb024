"""What git can say about a folder. Without git, or outside a repository, nothing is said and nothing fails."""

from __future__ import annotations

import os
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

DEADLINE = 20.0  # seconds; a network file system may make git slow, and a submit should not hang on it


@dataclass(frozen=True)
class GitState:
    """The commit that a folder was at. `dirty`: tracked files differ from it, or there are untracked ones."""

    commit: str
    branch: str | None
    dirty: bool

    def as_json(self) -> dict[str, str | bool | None]:
        return asdict(self)


def repository_of(folder: Path) -> Path | None:
    """The nearest folder upwards that holds a `.git`, or None."""
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), None)


def state_of(folder: Path) -> GitState | None:
    commit = _git(folder, "rev-parse", "--verify", "--quiet", "HEAD")
    if not commit:
        return None
    branch = _git(folder, "symbolic-ref", "--short", "--quiet", "HEAD")
    changes = _git(folder, "status", "--porcelain", "--untracked-files=normal", "--", ".")
    return GitState(commit.strip(), branch.strip() if branch else None, dirty=bool(changes))


def tracked_though_ignored(folder: Path) -> list[str]:
    """Files below `folder`, relative to it, that a rule ignores and that git tracks nevertheless."""
    listed = _git(folder, "ls-files", "-z", "--cached", "--ignored", "--exclude-standard", "--", ".")
    return [name for name in (listed or "").split("\0") if name]


def _git(folder: Path, *arguments: str) -> str | None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DEADLINE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "surrogateescape") if done.returncode == 0 else None
