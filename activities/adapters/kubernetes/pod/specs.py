"""What the agent of one pod and the ranks in it are started with. Holds values of secrets."""

import json
from pathlib import Path
from typing import Any

from activities.adapters.kubernetes.agent.places import Places
from activities.adapters.local.environment import Folders, job_environment
from activities.adapters.local.rank_spec import common_spec, secret_files, secret_names
from activities.adapters.local.settings import Settings
from activities.adapters.local.shim import files
from activities.ports import PortError
from definitions import protocol
from definitions.pod_launch import PodLaunch
from definitions.states import Mode
from policies.rank_environment import rank_environment

LATER = 60.0  # seconds after the agents, who see all pods, a rank closes the gate by itself
LOOPBACK = "127.0.0.1"  # the only pod's ranks need no name to find each other
NOBODY = ".nobody"  # the pipe in which the local runtime hears of ends: here the agent is told by the kernel


class PodSpecs:
    """Specifications of pod `index`, on the node `node`. Raises PortError for a secret that is missing (PD-3204)."""

    def __init__(self, pod: PodLaunch, places: Places, index: int, node: str) -> None:
        if not 0 <= index < len(pod.hosts):
            raise PortError(f"pod {index} of {len(pod.hosts)}", permanent=True, code="PD-3200")
        self._pod = pod
        self._launch = pod.launch
        self._places = places
        self._index = index
        self._node = node
        local = pod.launch.processes_per_node
        self._ranks = range(index * local, (index + 1) * local)
        self._values = _secrets(pod, Path(places.secret))
        self._files = secret_files(pod.launch, self._values)

    def known(self) -> dict[str, Any]:
        """What everybody in the pod may know: `pod.json`."""
        return {
            "token": self._launch.ref.token,
            "index": self._index,
            "ranks": list(self._ranks),
            "readiness": self._launch.readiness is not None,
        }

    def all(self, root: Path, start: Path, message: Path) -> dict[str, Any]:
        """`specs.json`. `root`: the working directory; `start`: the folder that the command runs in."""
        pod, launch = self._pod, self._launch
        return {
            "token": launch.ref.token,
            "number": launch.ref.number,
            "index": self._index,
            "hosts": list(pod.hosts),
            "gang_port": pod.gang_port,
            "gate_within": pod.gate_within.total_seconds(),
            "names_within": pod.names_within.total_seconds(),
            "save_within": None if pod.save_within is None else pod.save_within.total_seconds(),
            "grace": launch.grace.total_seconds(),
            "shared": pod.shared_data,
            "service": launch.mode is Mode.SERVICE,
            "message_file": str(message),
            "ranks": [self._of_rank(rank, root, start) for rank in self._ranks],
        }

    def _of_rank(self, rank: int, root: Path, start: Path) -> dict[str, Any]:
        pod, launch, places = self._pod, self._launch, self._places
        folder = places.secrets_of(rank) if self._files else None
        folders = Folders(run=Path(places.run), work=root, secrets=None if folder is None else Path(folder))
        settings = Settings()
        first = pod.hosts[0] if len(pod.hosts) > 1 else LOOPBACK
        place = rank_environment(launch, rank, pod.hosts[self._index], first, pod.port, pod.hosts)
        place[protocol.NODE] = self._node
        spec = {
            **common_spec(launch, rank, self._values, self._files),
            "run_folder": places.run,
            "node": self._node,
            "env": job_environment(launch, folders, self._values, place),
            "cwd": str(start),
            "secret_folder": folder,
            "gate_within": pod.gate_within.total_seconds() + LATER,
            "log_size": settings.log_size,
            "log_files": settings.log_files,
            "notify": f"{places.attempt}/{NOBODY}",
            "key": launch.ref.token,
            "here": list(self._ranks),
            "log_folder": places.log_folder(launch.ref.number, launch.ref.token, rank),
        }
        if not pod.shared_data and self._index > 0:
            spec["hang_after"] = None  # progress is written by the first rank, where this one cannot see it
        return spec


def write_private(path: Path, value: dict[str, Any]) -> None:
    """For this user alone; whole or not at all."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    files.write(str(path), json.dumps(value).encode(errors="surrogateescape"))


def _secrets(pod: PodLaunch, folder: Path) -> dict[str, str]:
    """Values by name, from the files of the attempt's Secret."""
    values, missing = {}, []
    for name in sorted(secret_names(pod.launch)):
        try:
            values[name] = (folder / pod.secrets[name]).read_bytes().decode(errors="surrogateescape")
        except (KeyError, OSError):
            missing.append(name)
    if missing:
        raise PortError(f"no secret {', '.join(missing)} in the pod", permanent=True, code="PD-3204")
    return values
