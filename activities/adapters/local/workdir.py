"""What has to lie ready before a rank can start: its working directory, and a checkpoint of another job."""

import os
import shutil
from pathlib import Path, PurePosixPath

from activities.ports import ObjectStore, PortError
from activities.snapshots import extract
from definitions.attempt import AttemptLaunch, AttemptRef, SeedCheckpoint, Workdir
from definitions.errors import PerdureError
from definitions.object_keys import snapshot_key
from definitions.protocol import ARTIFACT_FOLDER, CHECKPOINT_FOLDER, CONTROL_FILE

SEEDING = ".seeding"


def lay_out(workdir: Workdir, ref: AttemptRef, attempt: Path, objects: ObjectStore) -> tuple[Path, Path]:
    """Make the working directory; returns its root and the folder in it that the command starts in. Safe to repeat.

    Raises PortError: permanent with PD-3010 when the folder is not there, or with the code of a damaged snapshot.
    """
    root = attempt / "work"
    if workdir.mode == "live":
        root = Path(workdir.path or "")
    elif workdir.mode == "snapshot":
        _extract(objects, ref, workdir.sha256 or "", root)
    start = inside(root, workdir.subfolder)
    if workdir.mode == "none":
        start.mkdir(parents=True, exist_ok=True)
    if not root.is_absolute() or not start.is_dir():
        raise _missing(f"there is no folder {start} on this machine")
    return root, start


def inside(root: Path, subfolder: str) -> Path:
    """A folder of the working directory. Raises PortError(permanent, PD-3010) for one that leads out of it."""
    parts = PurePosixPath(subfolder)
    if parts.is_absolute() or ".." in parts.parts:
        raise _missing(f"{subfolder!r} leads out of the working directory")
    return Path(os.path.join(root, parts))


def prepare_run_folder(run: Path) -> None:
    for folder in (CHECKPOINT_FOLDER, ARTIFACT_FOLDER):
        (run / folder).mkdir(parents=True, exist_ok=True)


def clear_requests(run: Path) -> None:
    """Forget what an earlier attempt was asked: it would have this one save and end at once."""
    for file in (run / CONTROL_FILE, *run.glob("ack-*.json")):
        file.unlink(missing_ok=True)


def seed(launch: AttemptLaunch, checkpoint: SeedCheckpoint, source: Path, run: Path) -> None:
    """Copy another job's checkpoint into the run folder, whole or not at all. Safe to repeat.

    Raises PortError(permanent, PD-3011) when it is not there. Whether its bytes are right is judged with all others.
    """
    target = _checkpoint(run, checkpoint.folder)
    if target.is_dir():
        return
    found = _checkpoint(source, checkpoint.folder)
    if not found.is_dir():
        what = f"job {checkpoint.job} has no checkpoint {checkpoint.folder} for {launch.name} to start from"
        raise PortError(what, permanent=True, code="PD-3011")
    work = target.with_name(target.name + SEEDING)
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(found, work, symlinks=True)
    work.rename(target)


def _extract(objects: ObjectStore, ref: AttemptRef, sha256: str, root: Path) -> None:
    try:
        extract(objects, snapshot_key(ref.tenant, ref.project, sha256), sha256, root)
    except PerdureError as error:
        lasting = error.code.status < 500
        raise PortError(f"{error.detail} ({error.where})", permanent=lasting, code=error.code.code) from error


def _checkpoint(run: Path, folder: str) -> Path:
    parent, _, name = folder.rpartition("/")
    if parent != CHECKPOINT_FOLDER or name in ("", ".", "..") or name.endswith(SEEDING):
        raise PortError(f"{folder!r} does not name a checkpoint", permanent=True, code="PD-3011")
    return run / parent / name


def _missing(what: str) -> PortError:
    return PortError(what, permanent=True, code="PD-3010")
