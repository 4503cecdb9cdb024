"""The world of the local runtime: a folder, an object store in it, secrets in memory, and this machine's processes."""

import contextlib
from datetime import timedelta
from pathlib import Path

import psutil

from activities.adapters.local import LocalLogs, LocalRuntime, Settings
from activities.adapters.objects_folder import FolderObjects
from activities.ports import PortError
from definitions.attempt import AttemptRef, StopRequest, Workdir
from definitions.places import PlacedPod
from tests.support.processes import matching


class FixedSecrets:
    """Secrets of tenant `t`, project `p`."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def resolve(self, tenant: str, project: str, names: frozenset[str]) -> dict[str, str]:
        missing = sorted(names - set(self.values)) if (tenant, project) == ("t", "p") else sorted(names)
        if missing:
            raise PortError(f"no secret {', '.join(missing)}", permanent=True, code="PD-3710")
        return {name: self.values[name] for name in names}


class LocalWorld:
    patience = 30.0

    def __init__(self, home: Path, settings: Settings | None = None) -> None:
        self.home = home
        self.settings = settings or Settings()
        self.secrets = FixedSecrets()
        self.objects = FolderObjects(home / "objects")
        self.runtime = LocalRuntime(home, self.secrets, self.objects, self.settings)
        self.logs = LocalLogs(home, self.objects)
        self.places = (PlacedPod(node=self.settings.node), PlacedPod(node="sim-1", devices=(0, 1), simulated=True))
        self.missing_workdir = Workdir(mode="live", path=str(home / "no-such-folder"))

    def set_secret(self, name: str, value: str) -> None:
        self.secrets.values[name] = value

    def living(self, marker: str) -> list[int]:
        return mentioning(marker)

    def read(self, ref: AttemptRef, path: str) -> str | None:
        folder = self.runtime.run_folder(ref)
        with contextlib.suppress(FileNotFoundError):
            return (folder / path).read_text() if folder else None
        return None

    def attempt(self, ref: AttemptRef) -> Path:
        return self.home / "runs" / ref.tenant / ref.project / ref.job / "attempts" / f"{ref.number}-{ref.token}"

    def rank(self, ref: AttemptRef, rank: int = 0) -> Path:
        return self.attempt(ref) / f"rank-{rank}"

    def end(self) -> None:
        """Stop every attempt that has not been collected, so that a test that failed leaves nothing either."""
        for file in (self.home / "runs" / ".active").iterdir():
            ref = AttemptRef.model_validate_json(file.read_bytes())
            self.runtime.stop(ref, StopRequest(reason="test is over", grace=timedelta(0)))

    def supervisors(self) -> list[int]:
        """Watchers and supervisors that work in this world."""
        return mentioning(str(self.home))


def mentioning(text: str) -> list[int]:
    """Living processes with a text in their command line."""

    def does(process: psutil.Process) -> bool:
        with contextlib.suppress(psutil.Error):
            return any(text in part for part in process.cmdline())
        return False

    return [process.pid for process in matching(does)]
