"""The keeper: reads a job's volume when no pod of the job runs, keeps what is worth it, and deletes what it is told to.

Everything on the volume was written by the job, or could have been: no link is followed, no name trusted.
"""

import contextlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from activities.adapters.kubernetes.agent.places import RECEIPT, Places
from activities.adapters.kubernetes.pod.tasks import KeeperError, KeeperInput, KeeperOutcome, Task
from activities.adapters.kubernetes.pod.uploads import GrantedUploads
from activities.artifacts import ArtifactLimits, KeptArtifacts, keep
from activities.checkpoints import judge, remove
from activities.digests import open_regular
from activities.ports import PortError
from activities.progress import keep_run_progress, read_progress
from definitions.attempt import AttemptLaunch, RankEvidence
from definitions.object_keys import artifact_key, log_prefix, progress_key
from policies.progress import summarise

INPUT_FILE = "keeper.json"
LOG_FILE = re.compile(r"\d{6}\.log", re.ASCII)
LOG_FOLDER = re.compile(r"(\d{1,9})-[0-9a-f]{32}", re.ASCII)
MOST_LOG_FILES = 32  # the newest: a rank keeps half as many
LARGEST_RECEIPT = 256 * 1024
NOT_VALID, FAILED = "PD-3205", "PD-3206"


def answer(places: Places) -> KeeperOutcome:
    """Do what `keeper.json` asks for. Never raises: what went wrong is part of the answer. Safe to repeat."""
    try:
        asked = KeeperInput.model_validate_json(Path(places.secret, INPUT_FILE).read_bytes())
        return TASKS[asked.task](places, asked)
    except PortError as error:
        return _failed(error.code, str(error), permanent=error.permanent)
    except ValueError as error:
        return _failed(NOT_VALID, str(error), permanent=True)
    except OSError as error:
        return _failed(FAILED, f"the volume cannot be read: {error}")


def _collect(places: Places, asked: KeeperInput) -> KeeperOutcome:
    launch = asked.launch
    if launch is None or asked.upload is None:
        raise ValueError("nothing to collect, or no leave to store it")
    run = _run_folder(places)
    with contextlib.closing(GrantedUploads(asked.upload)) as store:
        log_bytes = sum(_keep_log(places, launch, rank, store) for rank in range(launch.ranks))
        kept = _keep_artifacts(launch, run, store)
        if run is not None:
            ref = launch.ref
            keep_run_progress(store, progress_key(ref.tenant, ref.project, ref.job, None), run)
    points = read_progress(run) if run is not None else []
    progress = summarise([point for point in points if point.attempt == launch.ref.number])
    _remove_older_logs(places, launch)
    return KeeperOutcome(
        receipts=tuple(_receipts(places, launch)),
        checkpoints=tuple(judge(run)) if run is not None else (),
        reached_step=progress.step if progress else None,
        progress=progress,
        artifact_files=kept.records,
        log_bytes=log_bytes,
        problems=kept.problems,
    )


def _judge(places: Places, _asked: KeeperInput) -> KeeperOutcome:
    run = _run_folder(places)
    return KeeperOutcome(checkpoints=tuple(judge(run)) if run is not None else ())


def _prune(places: Places, asked: KeeperInput) -> KeeperOutcome:
    run = _run_folder(places)
    return KeeperOutcome(gone=remove(run, asked.folders) if run is not None else ())


TASKS = {Task.COLLECT: _collect, Task.JUDGE: _judge, Task.PRUNE: _prune}


def _run_folder(places: Places) -> Path | None:
    """The run folder; none when a job has put something else in its place."""
    run = Path(places.run)
    return run if run.is_dir() and not run.is_symlink() else None


def _keep_artifacts(launch: AttemptLaunch, run: Path | None, store: GrantedUploads) -> KeptArtifacts:
    if run is None:
        return KeptArtifacts((), ("there is no run folder",))
    ref, most = launch.ref, launch.artifacts_max_bytes
    limits = ArtifactLimits()
    if most is not None:
        limits = ArtifactLimits(bytes=most, file_bytes=min(most, limits.file_bytes))  # what a form may carry
    return keep(store, run, artifact_key(ref.tenant, ref.project, ref.job, ref.number, ""), limits)


def _keep_log(places: Places, launch: AttemptLaunch, rank: int, store: GrantedUploads) -> int:
    """Store a rank's log under the names that its files have; returns its bytes."""
    ref = launch.ref
    prefix = log_prefix(ref.tenant, ref.project, ref.job, ref.number, rank)
    stored = 0
    folder = _rank_folder(places, launch, rank)
    names = [] if folder is None else sorted(file.name for file in folder.iterdir() if LOG_FILE.fullmatch(file.name))
    for name in names[-MOST_LOG_FILES:]:
        try:
            file = open_regular(Path(folder or "", name))
        except OSError:
            continue  # something of the job's, in place of a log
        with file:
            stored += store.put(prefix + name, file).bytes
    return stored


def _receipts(places: Places, launch: AttemptLaunch) -> Iterator[RankEvidence]:
    """Those that are of this attempt and can be read. They tell more than the termination message has room for."""
    for rank in range(launch.ranks):
        folder = _rank_folder(places, launch, rank)
        if folder is None:
            continue
        try:
            with open_regular(folder / RECEIPT) as file:
                value = json.loads(file.read(LARGEST_RECEIPT))
            found = RankEvidence.model_validate(value)
        except (OSError, ValueError, ValidationError):
            continue
        if found.rank == rank and value.get("token") == launch.ref.token:
            yield found


def _rank_folder(places: Places, launch: AttemptLaunch, rank: int) -> Path | None:
    path = Path(places.log_folder(launch.ref.number, launch.ref.token, rank))
    # Resolved, a path in which nothing is a link stays what it is below the volume.
    return (
        path
        if path.is_dir() and path.resolve() == Path(places.data).resolve() / path.relative_to(places.data)
        else None
    )


def _remove_older_logs(places: Places, launch: AttemptLaunch) -> None:
    """Logs of attempts before this one: those were collected, and nobody will ask for them here again."""
    logs = Path(places.logs)
    if logs.is_symlink() or not logs.is_dir():
        return
    for folder in logs.iterdir():
        match = LOG_FOLDER.fullmatch(folder.name)
        if match and int(match[1]) < launch.ref.number and not folder.is_symlink():
            shutil.rmtree(folder, ignore_errors=True)


def _failed(code: str, message: str, *, permanent: bool = False) -> KeeperOutcome:
    return KeeperOutcome(error=KeeperError(code=code, message=message, permanent=permanent))
