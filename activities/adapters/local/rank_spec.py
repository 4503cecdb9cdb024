"""What the supervisors of one rank are handed. Values of secrets are in it: it goes through a pipe and nowhere else."""

import os
from pathlib import Path, PurePosixPath
from typing import Any

from activities.adapters.local.environment import Folders, process_environment
from activities.adapters.local.layout import Layout, key
from activities.adapters.local.settings import Settings
from activities.ports import PortError, SecretValues
from definitions.attempt import AttemptLaunch, Readiness, RestartRule, SecretRef
from definitions.states import Mode
from policies.places import place_of

SHARED_MEMORY = Path("/dev/shm")


class RankSpecs:
    """Makes the specification of each rank of one launch. The secrets are resolved once.

    Raises PortError: what `SecretValues` raises for a secret that is missing, PD-3012 for a path of a secret file.
    """

    def __init__(
        self, launch: AttemptLaunch, layout: Layout, settings: Settings, secrets: SecretValues, port: int
    ) -> None:
        self._launch = launch
        self._layout = layout
        self._settings = settings
        self._port = port
        self._values = secrets.resolve(launch.ref.tenant, launch.ref.project, secret_names(launch))
        self._files = secret_files(launch, self._values)

    def of_rank(self, rank: int, root: Path, start: Path) -> dict[str, Any]:
        """`root`: the working directory; `start`: the folder in it that the command runs in."""
        launch, settings = self._launch, self._settings
        run = self._layout.run_folder(launch.ref)
        folder = secret_folder(self._layout, launch, rank) if self._files else None
        folders = Folders(run=run, work=root, secrets=folder)
        place = place_of(launch, rank)
        return {
            **common_spec(launch, rank, self._values, self._files),
            "run_folder": str(run),
            "node": settings.node if place is None else place.node,
            "env": process_environment(launch, rank, settings.node, self._port, folders, self._values),
            "cwd": str(start),
            "secret_folder": None if folder is None else str(folder),
            "gate_within": settings.gate_within.total_seconds(),
            "log_size": settings.log_size,
            "log_files": settings.log_files,
            "notify": str(self._layout.notify),
            "key": key(launch.ref),
        }


def common_spec(launch: AttemptLaunch, rank: int, values: dict[str, str], files: dict[str, str]) -> dict[str, Any]:
    """What a rank is handed wherever it runs. `values`: of secrets; `files`: what `secret_files` made of them."""
    return {
        "rank": rank,
        "ranks": launch.ranks,
        "token": launch.ref.token,
        "argv": list(launch.argv),
        "masked": list(values.values()),
        "secret_files": files,
        "service": launch.mode is Mode.SERVICE,
        "deadline": None if launch.deadline is None else launch.deadline.timestamp(),
        "time_limit": None if launch.time_limit is None else launch.time_limit.total_seconds(),
        "grace": launch.grace.total_seconds(),
        "hang_after": None if launch.hang_after is None else launch.hang_after.total_seconds(),
        "restart": _restart(launch.restart or RestartRule()),
        "readiness": None if launch.readiness is None else _readiness(launch.readiness),
    }


def secret_names(launch: AttemptLaunch) -> frozenset[str]:
    in_env = {value.secret for value in launch.env.values() if isinstance(value, SecretRef)}
    return frozenset(in_env | {file.secret for file in launch.secret_files})


def secret_folder(layout: Layout, launch: AttemptLaunch, rank: int) -> Path:
    """In memory where the machine offers it, else beside the rank's other files."""
    if SHARED_MEMORY.is_dir() and os.access(SHARED_MEMORY, os.W_OK | os.X_OK):
        return SHARED_MEMORY / f"perdure-{os.getuid()}-{launch.ref.token}-{rank}"
    return layout.attempt(launch.ref) / f"rank-{rank}" / "secrets"


def secret_files(launch: AttemptLaunch, values: dict[str, str]) -> dict[str, str]:
    """Content by path in the folder of secret files. Raises PortError(PD-3012) for a path that leads elsewhere."""
    files: dict[str, str] = {}
    for file in launch.secret_files:
        path = PurePosixPath(file.path)
        others = [PurePosixPath(other) for other in files]
        taken = any(path == other or path in other.parents or other in path.parents for other in others)
        if path.is_absolute() or ".." in path.parts or not path.parts or taken:
            raise PortError(f"a secret cannot be written to {file.path!r}", permanent=True, code="PD-3012")
        files[str(path)] = values[file.secret]
    return files


def _restart(rule: RestartRule) -> dict[str, Any]:
    return {
        "first": rule.first_delay.total_seconds(),
        "longest": rule.longest_delay.total_seconds(),
        "limit": rule.limit,
    }


def _readiness(rule: Readiness) -> dict[str, Any]:
    return {
        "file": rule.file,
        "tcp_port": rule.tcp_port,
        "http_port": rule.http_port,
        "http_path": rule.http_path,
        "initial_delay": rule.initial_delay.total_seconds(),
        "period": rule.period.total_seconds(),
        "failure_threshold": rule.failure_threshold,
    }
