"""Where everything of the local runtime lies. Folders below `runs/` of PERDURE_HOME; see README.md beside this file."""

import re
from pathlib import Path

from activities.ports import PortError
from definitions.attempt import AttemptRef

COMPONENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
LAUNCH_FILE, COLLECTED_FILE = "launch.json", "collected.json"
TEMPORARY = ".tmp"  # how the name of a file ends while it is being written


class Layout:
    """Paths by attempt. Refuses names that could lead elsewhere (PD-3014)."""

    def __init__(self, home: Path) -> None:
        self.runs = home / "runs"
        self.active = self.runs / ".active"  # one file per attempt that has not been collected
        self.ports = self.runs / ".ports"  # one file per port that was given to such an attempt
        self.notify = self.runs / ".notify"  # named pipe into which supervisors tell that a rank has ended

    def prepare(self) -> None:
        for folder in (self.runs, self.active, self.ports):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def job(self, ref: AttemptRef) -> Path:
        return self.of_job(ref.tenant, ref.project, ref.job)

    def of_job(self, tenant: str, project: str, job: str) -> Path:
        for name in (tenant, project, job):
            if not COMPONENT.fullmatch(name):
                raise PortError(f"{name[:80]!r} cannot be a folder's name", permanent=True, code="PD-3014")
        return self.runs / tenant / project / job

    def run_folder(self, ref: AttemptRef) -> Path:
        return self.job(ref) / "run"

    def attempts(self, ref: AttemptRef) -> Path:
        return self.job(ref) / "attempts"

    def attempt(self, ref: AttemptRef) -> Path:
        if not COMPONENT.fullmatch(ref.token):
            raise PortError(f"{ref.token[:80]!r} cannot be a token", permanent=True, code="PD-3014")
        return self.attempts(ref) / f"{ref.number}-{ref.token}"

    def active_file(self, ref: AttemptRef) -> Path:
        return self.active / key(ref)


def key(ref: AttemptRef) -> str:
    """Names an attempt among all of this machine: tokens are random, the job's id is for people."""
    return f"{ref.job}.{ref.number}-{ref.token}"


def rank_folder(attempt: Path, rank: int) -> Path:
    return attempt / f"rank-{rank}"
