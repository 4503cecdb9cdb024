"""Starting an attempt: one launcher at a time, every step repeatable, so that any other may go on for a killed one."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from activities.adapters.local import ports, workdir
from activities.adapters.local.layout import COLLECTED_FILE, LAUNCH_FILE, Layout, key, rank_folder
from activities.adapters.local.rank_spec import RankSpecs
from activities.adapters.local.settings import Settings
from activities.adapters.local.shim import files, gate, identity, receipt
from activities.adapters.local.starter import start_ranks
from activities.effects import crash_point
from activities.ports import ObjectStore, PortError, SecretValues
from definitions.attempt import AttemptLaunch
from definitions.wire import Wire
from policies.places import absent, misfit
from policies.rank_environment import ports_needed

LOCK_FILE = "launch.lock"
LOCK_PAUSE = 0.02


class LaunchRecord(Wire):
    """`launch.json`: what an attempt was launched with, written before anything of it exists."""

    launch: AttemptLaunch
    port: int


class Launcher:
    """Starts the ranks of an attempt that have not been started."""

    def __init__(self, layout: Layout, settings: Settings, secrets: SecretValues, objects: ObjectStore) -> None:
        self._layout = layout
        self._settings = settings
        self._secrets = secrets
        self._objects = objects

    def launch(self, launch: AttemptLaunch) -> None:
        """Bring every rank behind the gate, which they then open themselves. Safe to repeat, also at the same time.

        Raises PortError: permanent when the attempt can never start as asked; nothing of it has run then.
        """
        attempt = self._layout.attempt(launch.ref)
        if gate.decision(str(attempt)) is not None and (attempt / LAUNCH_FILE).exists():
            return
        _refuse(launch, self._settings.node)
        attempt.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._alone(attempt):
            if (attempt / COLLECTED_FILE).exists():
                return  # a try that everybody had given up: listed again, it would be looked after for ever
            record = self._record(launch, attempt)
            crash_point("local-launch:recorded")
            if gate.decision(str(attempt)) is not None:
                return
            waiting = [rank for rank in range(launch.ranks) if not _is_started(rank_folder(attempt, rank))]
            if waiting:
                root, start = self._prepare(launch, attempt, fresh=len(waiting) == launch.ranks)
                specs = RankSpecs(launch, self._layout, self._settings, self._secrets, record.port)
                crash_point("local-launch:prepared")
                self._start(attempt, waiting, specs, root, start)
            crash_point("local-launch:started")

    @contextmanager
    def _alone(self, attempt: Path) -> Iterator[None]:
        """Hold the launch lock; the kernel lets go of a killed launcher's."""
        ends = time.monotonic() + self._settings.lock_within.total_seconds()
        with open(attempt / LOCK_FILE, "a") as lock:
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= ends:
                        raise PortError(f"{attempt.name} is being launched elsewhere", code="PD-3001") from None
                time.sleep(LOCK_PAUSE)
            yield

    def _record(self, launch: AttemptLaunch, attempt: Path) -> LaunchRecord:
        """Write down, once, what is launched. From here on the attempt is looked after until it is collected."""
        path = attempt / LAUNCH_FILE
        active = self._layout.active_file(launch.ref)
        if not path.exists():
            files.write(str(active), launch.ref.model_dump_json().encode())
            crash_point("local-launch:listed")
            port = launch.master_port
            if port is None:
                ports.release(self._layout.ports, key(launch.ref))
                port = ports.reserve(self._layout.ports, key(launch.ref), ports_needed(launch))
            record = LaunchRecord(launch=launch, port=port)
            files.write(str(path), record.model_dump_json().encode(), durable=True)
        return read_record(attempt)

    def _prepare(self, launch: AttemptLaunch, attempt: Path, *, fresh: bool) -> tuple[Path, Path]:
        run = self._layout.run_folder(launch.ref)
        workdir.prepare_run_folder(run)
        if fresh:
            workdir.clear_requests(run)
        root, start = workdir.lay_out(launch.workdir, launch.ref, attempt, self._objects)
        crash_point("local-launch:laid-out")
        if launch.seed_checkpoint is not None:
            ref, checkpoint = launch.ref, launch.seed_checkpoint
            source = self._layout.of_job(ref.tenant, ref.project, checkpoint.job) / "run"
            workdir.seed(launch, checkpoint, source, run)
        return root, start

    def _start(self, attempt: Path, ranks: list[int], specs: RankSpecs, root: Path, start: Path) -> None:
        """Start supervisors, several at a time. One that fails fails the launch; those that stand wait at the gate."""
        within = self._settings.answer_within.total_seconds()
        problems: dict[int, str] = {}
        for begin in range(0, len(ranks), self._settings.together):
            some = ranks[begin : begin + self._settings.together]
            for rank in some:
                rank_folder(attempt, rank).mkdir(mode=0o700, exist_ok=True)
            wanted = {rank: specs.of_rank(rank, root, start) for rank in some}
            problems |= start_ranks(self._settings.python, attempt, wanted, within)
            crash_point("local-launch:rank")
        if problems:
            words = [f"rank {rank}: {problem}" for rank, problem in problems.items()]
            raise PortError("; ".join(words[:3]), code="PD-3002")


def read_record(attempt: Path) -> LaunchRecord:
    """Raises OSError when there is none: the attempt was never launched here."""
    return LaunchRecord.model_validate_json((attempt / LAUNCH_FILE).read_bytes())


def _refuse(launch: AttemptLaunch, machine: str) -> None:
    """Raises PortError(permanent) for places that cannot be had here: PD-3030, PD-3031."""
    if wrong := misfit(launch):
        raise PortError(wrong, permanent=True, code="PD-3030")
    if wrong := absent(launch, machine):
        raise PortError(wrong, permanent=True, code="PD-3031")


def _is_started(folder: Path) -> bool:
    return receipt.exists(str(folder)) or identity.is_supervised(str(folder))
