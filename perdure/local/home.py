"""The one folder that holds all state of an embedded control plane, and whether a folder is fit for that."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from perdure.local.errors import LocalError

HOME_VARIABLE = "PERDURE_HOME"
PRIVATE = 0o700
# Locks and memory maps of SQLite cannot be relied on here: two machines could write one file at once.
SHARED_FILESYSTEMS = frozenset(
    (
        *("9p", "afs", "beegfs", "ceph", "cifs", "davfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4"),
        *("ocfs2", "smb3", "smbfs", "fuse.ceph", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs"),
    )
)


@dataclass(frozen=True)
class Home:
    """Where everything lies below PERDURE_HOME. Folders have mode 0700, files 0600."""

    root: Path

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def state(self) -> Path:
        return self.root / "state.json"

    @property
    def endpoint(self) -> Path:
        return self.root / "endpoint.json"

    @property
    def worker_ready(self) -> Path:
        return self.root / "worker.ready"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    def log(self, process: str) -> Path:
        return self.logs / f"{process}.log"


def locate(environ: Mapping[str, str]) -> Home:
    """The home that the environment names, or `~/.perdure`; nothing is made."""
    given = environ.get(HOME_VARIABLE)
    return Home(Path(given).expanduser().absolute() if given else Path("~/.perdure").expanduser())


def require_fit(home: Home) -> None:
    """Refuse (PD-4003) a folder that is not ours, cannot be written, or is shared between machines. Writes nothing."""
    root = home.root
    if root.exists():
        if not root.is_dir():
            raise LocalError("PD-4003", f"{root} is not a folder")
        if root.stat().st_uid != os.geteuid():
            raise LocalError("PD-4003", f"{root} belongs to user id {root.stat().st_uid}, not to you ({os.geteuid()})")
    there = next(path for path in (root, *root.parents) if path.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        raise LocalError("PD-4003", f"{there} cannot be written by you")
    kind = filesystem_of(there.resolve(), Path("/proc/self/mountinfo").read_text())
    if kind in SHARED_FILESYSTEMS:
        raise LocalError("PD-4003", f"{root} lies on a file system shared between machines ({kind})")


def prepare(home: Home) -> None:
    """Make the folder and its logs folder, private to the user. Safe to repeat."""
    for folder in (home.root, home.logs):
        folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE)
        folder.chmod(PRIVATE)


def filesystem_of(path: Path, mountinfo: str) -> str | None:
    """The type of the file system that holds an absolute path, by the kernel's table of mounts."""
    found: tuple[int, str | None] = (-1, None)
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        point = _unescape(before.split()[4])
        # `>=`: a later mount on the same point hides the earlier one.
        if path.is_relative_to(point) and len(point) >= found[0]:
            found = (len(point), after.split()[0])
    return found[1]


def _unescape(field: str) -> str:
    """The kernel writes blanks, tabs, newlines and backslashes in mount points as octal escapes."""
    for escape, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(escape, character)
    return field
