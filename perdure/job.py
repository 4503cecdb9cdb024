"""What a job may tell Perdure, and ask of it. Optional; standard library only; Python 3.8 or newer.

This one file can be copied alone into a training image. A training loop needs no more than this:

    from perdure import job

    start = job.resume()
    state = load(start.folder) if start else fresh()
    for step in range(state.step + 1, last + 1):
        train(state)
        job.progress(step, total=last, loss=state.loss)
        if job.should_checkpoint(step):
            with job.checkpoint(step, metrics={"loss": state.loss}) as folder:
                save(state, folder)

A checkpoint counts once every rank has written its manifest, which it does last: a job that is killed at any moment
before has one checkpoint less, and never a broken one. From a shell: `python job.py --help`.

Outside of Perdure all of it works too: rank 0 of 1, the run folder is `./perdure-run`, there is nothing to resume from.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import math
import os
import shutil
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Iterator, NamedTuple  # noqa: UP035 - collections.abc has no such generics in 3.8

MANIFEST_VERSION = 1
NO_TOKEN = "0" * 32
CHUNK = 1024 * 1024


class Resume(NamedTuple):
    """Where to go on from. `folder` is what this rank saved; `root` has the folders of all ranks (`rank-0`, ...)."""

    step: int
    folder: Path
    root: Path


def rank() -> int:
    """This process's number. Below torchrun, which starts several processes per rank of the job, torchrun's."""
    return _number("RANK" if _below_torchrun() else "PERDURE_RANK", 0)


def world_size() -> int:
    """How many of them there are."""
    return _number("WORLD_SIZE" if _below_torchrun() else "PERDURE_WORLD_SIZE", 1)


def run_dir() -> Path:
    """The job's folder, shared by its ranks and its attempts. Made when it is not there."""
    folder = Path(os.environ.get("PERDURE_RUN_DIR", "perdure-run")).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def deadline() -> datetime | None:
    """When this attempt will be ended at the latest, as far as is known now; None: there is no limit."""
    control = _control()
    limits = [_moment(os.environ.get("PERDURE_DEADLINE")), _moment(control.get("deadline"))]
    ends = max((limit for limit in limits if limit), default=None)  # a deadline is extended, never brought forward
    stop_by = _moment(control.get("stop_by"))
    return min((limit for limit in (ends, stop_by) if limit), default=None)


def progress(step: int, total: int | None = None, **metrics: Any) -> None:
    """Report a finished step, and numbers about it. One rank's reports are enough.

    Values are what `float()` takes; those that are not finite are left out. Without disk space it warns, once, and
    never fails the job.
    """
    line = {"step": int(step), "time": _now(), "attempt": _attempt(), "rank": rank(), "metrics": _numbers(metrics)}
    if total is not None:
        line["total"] = int(total)
    try:
        _append(run_dir() / "progress.jsonl", json.dumps(line))
    except OSError as error:
        if not _memory.warned:
            print(f"perdure: progress cannot be written: {error}", file=sys.stderr)
        _memory.warned = True


def resume() -> Resume | None:
    """The checkpoint to start from, chosen and verified by the platform; None: start afresh."""
    chosen = os.environ.get("PERDURE_RESUME_FROM")
    if not chosen:
        return None
    root = Path(chosen)
    return Resume(_number("PERDURE_RESUME_STEP", _step_in(root.name)), root / f"rank-{rank()}", root)


def should_checkpoint(step: int, ahead: int = 1) -> bool:
    """Whether to save now, after `step`: the interval is over, or the platform asks for a checkpoint.

    With several ranks all must save the same step, and clocks differ. So rank 0 decides and writes down the step
    `step + ahead` at which everybody saves; every rank, rank 0 too, only compares. This is right when no rank can call
    this for `step + ahead` before rank 0 has called it for `step`. An all-reduce in every step makes sure of that with
    `ahead=1`; ranks that meet every n steps pass `ahead=n`. A rank that missed its step costs that one checkpoint,
    which stays incomplete, and nothing else.
    """
    if world_size() == 1:
        return _is_due()
    if rank() == 0 and (_memory.save_at is None or _memory.save_at < step) and _is_due():
        _memory.save_at = step + ahead
        _write_whole(run_dir() / "save-at.json", {"token": _token(), "step": _memory.save_at})
    if rank() != 0:
        decision = _read(run_dir() / "save-at.json")
        _memory.save_at = decision.get("step") if decision.get("token") == _token() else None
    return _memory.save_at == step


@contextlib.contextmanager
def checkpoint(step: int, metrics: dict[str, Any] | None = None) -> Iterator[Path]:
    """Save this rank's part of a step: write files into the folder given; they are committed when the block ends.

    Every rank must save the same step; one that has nothing to save passes through an empty block. An exception in the
    block discards what was written. A step that this attempt has committed before stays as it is.
    """
    request = _request()
    folder = run_dir() / "checkpoints" / f"step-{step:010d}.{_token()}"
    temporary = folder / f"rank-{rank()}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        yield temporary
        if not _is_committed(folder):
            _commit(folder, temporary, step, metrics or {})
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    _memory.saved_at = time.monotonic()
    if request is not None:
        _write_whole(run_dir() / f"ack-{rank()}.json", {"id": request, "step": step, "time": _now()})


def artifact(path: str | os.PathLike[str], name: str | None = None) -> Path:
    """Copy a file to what is kept of this job; `name` (default: the file's own) may have folders."""
    source = Path(path)
    target = run_dir() / "artifacts" / (name or source.name)
    if ".." in target.parts:
        raise ValueError(f"the name {name!r} leads out of the artifacts")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = run_dir() / f".artifact-{os.getpid()}.tmp"
    shutil.copyfile(source, temporary)
    os.replace(temporary, target)
    return target


class _Memory:
    """What this process remembers between calls."""

    saved_at = time.monotonic()  # of the last checkpoint, or of the start
    save_at: int | None = None  # the step that rank 0 has last chosen
    granted: str | None = None  # the last request that every rank has acknowledged
    healed = False  # whether a line that an earlier attempt left torn has been ended
    warned = False


_memory = _Memory()


def _is_due() -> bool:
    every = float(os.environ.get("PERDURE_CHECKPOINT_EVERY") or math.inf)
    return time.monotonic() - _memory.saved_at >= every or _request() is not None


def _request() -> str | None:
    """The id of a request for a checkpoint that some rank has not acknowledged yet."""
    control = _control()
    asked = control.get("id") if control.get("checkpoint") or control.get("stop_by") else None
    if asked is None or asked == _memory.granted:
        return None
    ranks = range(world_size()) if rank() == 0 else [rank()]
    if any(_read(run_dir() / f"ack-{other}.json").get("id") != asked for other in ranks):
        return str(asked)
    _memory.granted = asked
    return None


def _is_committed(folder: Path) -> bool:
    """Outside of Perdure attempts have no token of their own, so a second run replaces what the first one saved."""
    return _token() != NO_TOKEN and (folder / f"manifest-{rank()}.json").exists()


def _commit(folder: Path, temporary: Path, step: int, metrics: dict[str, Any]) -> None:
    """Put everything on disk in the order that makes the manifest true from the moment it is there."""
    manifest, own = folder / f"manifest-{rank()}.json", folder / f"rank-{rank()}"
    files = [
        {"path": f"{own.name}/{path.relative_to(temporary).as_posix()}", "bytes": size, "sha256": sha256}
        for path, size, sha256 in _sync_tree(temporary)
    ]
    if manifest.exists():
        manifest.unlink()
        _sync_folder(folder)
    shutil.rmtree(own, ignore_errors=True)
    os.replace(temporary, own)
    for parent in (folder, folder.parent, folder.parent.parent):
        _sync_folder(parent)
    body = {"version": MANIFEST_VERSION, "step": step, "token": _token(), "attempt": _attempt(), "rank": rank()}
    body.update(world_size=world_size(), saved_at=_now(), metrics=_numbers(metrics), files=files)
    _write_whole(manifest, body)


def _sync_tree(folder: Path) -> list[tuple[Path, int, str]]:
    """Put a folder on disk, and say what is in it. Links are refused: their bytes would not be part of the save."""
    found = []
    for entry in sorted(folder.iterdir()):
        if entry.is_symlink() or not (entry.is_dir() or entry.is_file()):
            raise ValueError(f"a checkpoint holds regular files only, and {entry} is none")
        if entry.is_dir():
            found += _sync_tree(entry)
        else:
            found.append((entry, *_sync_file(entry)))
    _sync_folder(folder)
    return found


def _sync_file(path: Path) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        os.fsync(file.fileno())
        for chunk in iter(lambda: file.read(CHUNK), b""):
            digest.update(chunk)
            size += len(chunk)
    return size, digest.hexdigest()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(str(folder), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_whole(path: Path, body: dict[str, Any]) -> None:
    """A reader, and a disk after a power cut, has the old file or the new one."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with temporary.open("w") as file:
        json.dump(body, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    _sync_folder(path.parent)


def _append(path: Path, line: str) -> None:
    """One write, so that lines of several ranks never mix; a line that a killed process left torn is ended first."""
    descriptor = os.open(str(path), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        size = 0 if _memory.healed else os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        data = (("\n" if torn else "") + line + "\n").encode()
        _memory.healed = os.write(descriptor, data) == len(data)
    finally:
        os.close(descriptor)


def _read(path: Path) -> dict[str, Any]:
    try:
        body = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return body if isinstance(body, dict) else {}


def _control() -> dict[str, Any]:
    return _read(run_dir() / "control.json")


def _below_torchrun() -> bool:
    return "TORCHELASTIC_RUN_ID" in os.environ


def _number(name: str, default: int) -> int:
    return int(os.environ.get(name) or default)


def _attempt() -> int:
    return _number("PERDURE_ATTEMPT", 0)


def _token() -> str:
    return os.environ.get("PERDURE_ATTEMPT_TOKEN") or NO_TOKEN


def _step_in(name: str) -> int:
    return int(name.split(".")[0].split("-")[1])


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")  # noqa: UP017 - datetime.UTC is of 3.11


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


def _numbers(metrics: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in metrics.items() if math.isfinite(float(value))}


def _pairs(texts: list[str]) -> dict[str, float]:
    return {name: float(value) for name, _, value in (text.partition("=") for text in texts)}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="job.py", description="Talk to Perdure from a shell script.")
    commands = parser.add_subparsers(dest="command", required=True)
    commit = commands.add_parser("commit", help="copy a folder into a checkpoint and commit it for this rank")
    commit.add_argument("folder", metavar="DIR")
    commit.add_argument("--step", type=int, required=True)
    commit.add_argument("--metrics", nargs="+", default=[], metavar="NAME=NUMBER")
    report = commands.add_parser("progress", help="report a finished step")
    report.add_argument("--step", type=int, required=True)
    report.add_argument("--total", type=int, help="steps in all")
    report.add_argument("--metrics", nargs="+", default=[], metavar="NAME=NUMBER")
    start = commands.add_parser("resume", help="print this rank's folder to start from, or nothing")
    start.add_argument("--step", action="store_true", help="print the step instead")
    keep = commands.add_parser("artifact", help="copy a file to what is kept of the job")
    keep.add_argument("file")
    return parser


def main(arguments: list[str] | None = None) -> None:
    given = _parser().parse_args(arguments)
    if given.command == "commit":
        with checkpoint(given.step, metrics=_pairs(given.metrics)) as folder:
            shutil.copytree(given.folder, folder, symlinks=True, dirs_exist_ok=True)
    elif given.command == "progress":
        progress(given.step, total=given.total, **_pairs(given.metrics))
    elif given.command == "artifact":
        artifact(given.file)
    else:
        start = resume()
        print((start.step if given.step else start.folder) if start else "")


if __name__ == "__main__":
    main()
