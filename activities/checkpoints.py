"""Checkpoints on disk: which of them are complete, what is wrong with the others, and their removal.

Nothing that a job wrote is believed: a checkpoint counts when every rank's manifest, written last, agrees with the
folder's name and with the bytes that are there now. Which one to resume from is decided in policies/checkpoints.py.
"""

import contextlib
import itertools
import math
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from activities.digests import DigestCache, NotAFile, open_regular
from definitions.attempt import CheckpointRecord
from definitions.checkpoint import RankManifest, SavedFile
from definitions.protocol import CHECKPOINT_FOLDER, manifest_file

FOLDER = re.compile(r"step-(\d{1,18})\.([0-9a-f]{32})", re.ASCII)
MANIFEST = re.compile(r"manifest-(\d{1,9})\.json", re.ASCII)
REMOVING = ".removing"
LARGEST_MANIFEST = 64 * 1024**2
MOST_PROBLEMS = 4
LONGEST_PROBLEM = 300  # characters: paths in a manifest are as long as the job likes


def judge(run_folder: Path, cache: DigestCache | None = None) -> list[CheckpointRecord]:
    """Every checkpoint folder of a run, by step (as a number) and attempt, with what is wrong with an incomplete one.

    Reads and hashes every listed file; a `cache` spares what it has hashed before and what has not changed since. Names
    that are no checkpoint's (`best`, `*.tmp`) are passed over, and so is a `checkpoints` that is itself a link.
    Only reads: safe to repeat, also while a job writes.
    """
    records = []
    for name in _names(run_folder / CHECKPOINT_FOLDER):
        if match := FOLDER.fullmatch(name):
            folder = run_folder / CHECKPOINT_FOLDER / name
            records.append(_judge_folder(folder, int(match[1]), match[2], cache or DigestCache()))
    return sorted(records, key=lambda record: (record.step, record.attempt, record.folder))


def remove(run_folder: Path, folders: tuple[str, ...]) -> tuple[str, ...]:
    """Delete checkpoint folders, named as in their records; returns those that are gone. Safe to repeat.

    A folder is renamed first, so that one whose deletion is cut short never looks like a checkpoint. Raises ValueError
    for a name that is no checkpoint's.
    """
    if (run_folder / CHECKPOINT_FOLDER).is_symlink():
        return ()  # what lies behind it is not ours
    gone = []
    for folder in folders:
        check_folder(folder)
        with contextlib.suppress(OSError):
            _take_away(run_folder / folder)
            gone.append(folder)
    for name in _names(run_folder / CHECKPOINT_FOLDER):
        if name.endswith(REMOVING):
            shutil.rmtree(run_folder / CHECKPOINT_FOLDER / name, ignore_errors=True)
    return tuple(gone)


def check_folder(folder: str) -> None:
    """Raise ValueError unless it can be the folder of a checkpoint, as in a record."""
    parent, _, name = folder.rpartition("/")
    if parent != CHECKPOINT_FOLDER or not FOLDER.fullmatch(name):
        raise ValueError(f"{folder!r} does not name a checkpoint")


def _names(folder: Path) -> list[str]:
    if folder.is_symlink():
        return []
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _judge_folder(folder: Path, step: int, token: str, cache: DigestCache) -> CheckpointRecord:
    manifests: dict[int, RankManifest] = {}
    problems: list[str] = []
    if folder.is_symlink() or not folder.is_dir():
        problems.append("it is not a folder")
    else:
        manifests, faulty = _read_manifests(folder, step, token)
        problems += [f"rank {rank}: its manifest {fault}" for rank, fault in faulty.items()]
        problems += _gaps(manifests, faulty)
        problems += _damaged_files(folder, manifests, cache)
    sizes = _sizes(folder)
    first = manifests.get(min(manifests, default=0))
    metrics = {name: value for name, value in (first.metrics if first else {}).items() if value is not None}
    return CheckpointRecord(
        step=step,
        token=token,
        attempt=first.attempt if first else 0,
        folder=f"{CHECKPOINT_FOLDER}/{folder.name}",
        complete=not problems,
        problem=_sentence(problems),
        bytes=sum(sizes),
        files=len(sizes),
        saved_at=max((manifest.saved_at for manifest in manifests.values()), default=None),
        metrics={name: value for name, value in metrics.items() if math.isfinite(value)},
    )


def _read_manifests(folder: Path, step: int, token: str) -> tuple[dict[int, RankManifest], dict[int, str]]:
    """By rank: the manifests that are this checkpoint's, and what is wrong with the others."""
    manifests: dict[int, RankManifest] = {}
    faulty: dict[int, str] = {}
    for name in _names(folder):
        if not (match := MANIFEST.fullmatch(name)):
            continue
        rank = int(match[1])
        try:
            with open_regular(folder / name) as file:
                manifest = RankManifest.model_validate_json(file.read(LARGEST_MANIFEST))
        except (OSError, ValidationError):
            faulty[rank] = "cannot be read"
            continue
        if manifest.token != token:
            faulty[rank] = "is of another attempt"
        elif (manifest.step, manifest_file(manifest.rank)) != (step, name):
            faulty[rank] = f"is of step {manifest.step}, rank {manifest.rank}"
        else:
            manifests[rank] = manifest
    return manifests, faulty


def _gaps(manifests: dict[int, RankManifest], faulty: dict[int, str]) -> Iterator[str]:
    """What keeps these from being the manifests of all ranks of one save."""
    if not manifests and not faulty:
        yield "it has no manifest: the save did not finish"
    if not manifests:
        return
    sizes = {manifest.world_size for manifest in manifests.values()}
    if len(sizes) > 1:
        yield f"its manifests do not agree on the number of ranks ({', '.join(map(str, sorted(sizes)))})"
        return
    world_size = sizes.pop()
    missing = (rank for rank in range(world_size) if rank not in manifests and rank not in faulty)
    for rank in itertools.islice(missing, MOST_PROBLEMS):
        yield f"rank {rank}: its manifest is missing"
    if surplus := [rank for rank in manifests if rank >= world_size]:
        yield f"rank {surplus[0]}: its manifest is one too many, with {world_size} ranks in all"
    if not any(manifest.files for manifest in manifests.values()):
        yield "it holds no file"


def _damaged_files(folder: Path, manifests: dict[int, RankManifest], cache: DigestCache) -> Iterator[str]:
    root = folder.resolve()
    for rank in sorted(manifests):
        for saved in manifests[rank].files:
            if problem := _file_problem(root, saved, cache):
                yield f"rank {rank}: {saved.path.removeprefix(f'rank-{rank}/')} {problem}"


def _file_problem(root: Path, saved: SavedFile, cache: DigestCache) -> str | None:
    try:
        path = root / saved.path
        if path.resolve() != path or not path.is_relative_to(root):  # a link on the way, `..`, or an absolute path
            return "is or leads through a link, or lies outside of the checkpoint"
        size = path.stat().st_size
        if size != saved.bytes:
            return f"has {size} of {saved.bytes} bytes ({100 * size // max(saved.bytes, 1)} %)"
        return None if cache.digest(path) == saved.sha256 else "has other bytes than were saved (its sha256 differs)"
    except (FileNotFoundError, NotADirectoryError):
        return "is missing"
    except NotAFile:
        return "is not a regular file"
    except (OSError, ValueError, RuntimeError) as error:
        return f"cannot be read ({error})"


def _sizes(folder: Path) -> list[int]:
    """Sizes of the regular files that the folder holds, listed or not."""
    sizes = []
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            with contextlib.suppress(OSError):
                if path.is_file() and not path.is_symlink():
                    sizes.append(path.lstat().st_size)
    return sizes


def _sentence(problems: list[str]) -> str:
    more = len(problems) - MOST_PROBLEMS
    named = (problem[:LONGEST_PROBLEM] for problem in problems[:MOST_PROBLEMS])
    return "; ".join(named) + (f"; and {more} more" if more > 0 else "")


def _take_away(folder: Path) -> None:
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
        return
    aside = folder.with_name(folder.name + REMOVING)
    shutil.rmtree(aside, ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        folder.rename(aside)
