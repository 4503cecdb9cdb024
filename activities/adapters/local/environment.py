"""The environment of a job's process: clean, so that nothing of the control plane's reaches it."""

import os
import pwd
from datetime import UTC, datetime
from pathlib import Path

from definitions import protocol
from definitions.attempt import AttemptLaunch, SecretRef
from definitions.wire import Wire
from policies.places import device_environment, place_of
from policies.rank_environment import rank_environment

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Folders(Wire):
    """Absolute paths that a process is told."""

    run: Path
    work: Path
    secrets: Path | None = None


def process_environment(
    launch: AttemptLaunch, rank: int, node: str, port: int, folders: Folders, secrets: dict[str, str]
) -> dict[str, str]:
    """All variables of one rank on the machine `node`. The user's win over what we suggest, not over the protocol's,
    the rank's, and the devices that the scheduler gave it."""
    place = place_of(launch, rank)
    told = rank_environment(launch, rank, node, "127.0.0.1", port) | device_environment(place)
    told[protocol.NODE] = node if place is None else place.node
    return _of_account() | launch.base_env | job_environment(launch, folders, secrets, told)


def job_environment(
    launch: AttemptLaunch, folders: Folders, secrets: dict[str, str], place: dict[str, str]
) -> dict[str, str]:
    """What a rank is told wherever it runs: the user's variables, the protocol's, and those of its `place`."""
    user = {
        name: secrets[value.secret] if isinstance(value, SecretRef) else value for name, value in launch.env.items()
    }
    return user | _protocol(launch, folders) | place


def _of_account() -> dict[str, str]:
    """What every program may expect. TMPDIR is the machine's own: sockets in it must have short paths."""
    account = pwd.getpwuid(os.getuid())
    values = {
        "PATH": DEFAULT_PATH,
        "HOME": os.environ.get("HOME", account.pw_dir),
        "USER": account.pw_name,
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
        "PYTHONUNBUFFERED": "1",  # so that lines reach the log when they are written, and those before a SIGKILL too
    }
    zone = os.environ.get("TZ")
    return values if zone is None else values | {"TZ": zone}


def _protocol(launch: AttemptLaunch, folders: Folders) -> dict[str, str]:
    ref = launch.ref
    told = {
        protocol.JOB: ref.job,
        protocol.JOB_NAME: launch.name,
        protocol.TENANT: ref.tenant,
        protocol.PROJECT: ref.project,
        protocol.ATTEMPT: str(ref.number),
        protocol.ATTEMPT_TOKEN: ref.token,
        protocol.RUN_DIR: str(folders.run),
        protocol.WORK_DIR: str(folders.work),
    }
    if folders.secrets is not None:
        told[protocol.SECRETS_DIR] = str(folders.secrets)
    if launch.resume_from is not None:
        told[protocol.RESUME_FROM] = str(folders.run / launch.resume_from)
    if launch.resume_step is not None:
        told[protocol.RESUME_STEP] = str(launch.resume_step)
    if launch.checkpoint_every is not None:
        told[protocol.CHECKPOINT_EVERY] = f"{launch.checkpoint_every.total_seconds():g}"
    if launch.pod is not None and launch.pod.save_directory is not None:
        told[protocol.SAVE_DIR] = str(folders.run / launch.pod.save_directory)  # an absolute one stays as it is
    if launch.deadline is not None:
        told[protocol.DEADLINE] = _moment(launch.deadline)
    return told


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
