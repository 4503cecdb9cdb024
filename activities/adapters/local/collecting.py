"""After the end of an attempt: nothing of it lives on, and what it left is kept where retention rules reach it."""

import contextlib
import shutil
import time
from pathlib import Path

from activities.adapters.local import ports, requests
from activities.adapters.local.launching import read_record
from activities.adapters.local.layout import COLLECTED_FILE, TEMPORARY, Layout, key, rank_folder
from activities.adapters.local.observing import Observer, read_collected
from activities.adapters.local.rank_spec import secret_folder
from activities.adapters.local.settings import Settings
from activities.adapters.local.shim import files, leftovers
from activities.artifacts import ArtifactLimits, keep
from activities.checkpoints import judge
from activities.digests import DigestCache
from activities.effects import crash_point
from activities.ports import ObjectStore, PortError
from activities.progress import read_progress
from definitions.attempt import AttemptLaunch, AttemptObservation, AttemptRef, Collected
from definitions.object_keys import artifact_key, log_prefix
from policies.progress import summarise

PAUSE = 0.05
GONE = ".collected"


class Collector:
    """Collects ended attempts, and ends those that have not."""

    def __init__(
        self, layout: Layout, settings: Settings, objects: ObjectStore, observer: Observer, cache: DigestCache
    ) -> None:
        self._layout = layout
        self._settings = settings
        self._objects = objects
        self._observer = observer
        self._cache = cache

    def collect(self, launch: AttemptLaunch) -> Collected:
        """Safe to repeat: what is kept has keys of its own, and an attempt that was collected is described again.

        Raises PortError: PD-3003 when processes would not die, or what the object store raises.
        """
        attempt = self._layout.attempt(launch.ref)
        attempt.mkdir(mode=0o700, parents=True, exist_ok=True)
        collected = read_collected(attempt)
        if collected is None:
            collected = self._keep(launch, attempt, self._end(launch, attempt))
            crash_point("local-collect:kept")
            files.write(str(attempt / COLLECTED_FILE), collected.model_dump_json().encode(), durable=True)
            crash_point("local-collect:written")
        self._clear(launch, attempt)
        return collected

    def collect_earlier(self, ref: AttemptRef) -> None:
        """Collect what was launched of the job before this attempt and never collected, so that two never run at once.

        Collecting was given up then, perhaps before anything was ended. Raises PortError as `collect` does.
        """
        for file in sorted(self._layout.active.glob(f"{ref.job}.*")):
            if file.suffix == TEMPORARY:
                continue
            with contextlib.suppress(FileNotFoundError):  # collected meanwhile; or listed, and never launched
                other = AttemptRef.model_validate_json(file.read_bytes())
                mine = (other.tenant, other.project, other.job) == (ref.tenant, ref.project, ref.job)
                if mine and other.number < ref.number:
                    self.collect(read_record(self._layout.attempt(other)).launch)

    def _end(self, launch: AttemptLaunch, attempt: Path) -> AttemptObservation:
        """Wait until no process of the attempt is left, for a bounded time, killing what stays."""
        ends = time.monotonic() + self._settings.end_within.total_seconds()
        while not (observation := self._observer.observe(launch.ref)).ended:
            requests.end_now(attempt)
            if time.monotonic() >= ends:
                raise PortError(f"attempt {launch.ref.number} of {launch.ref.job} does not end", code="PD-3003")
            time.sleep(PAUSE)
        leftovers.end_all(lambda: leftovers.carriers(launch.ref.token))
        return observation

    def _keep(self, launch: AttemptLaunch, attempt: Path, observation: AttemptObservation) -> Collected:
        ref = launch.ref
        run = self._layout.run_folder(ref)
        log_bytes = sum(self._keep_log(launch, attempt, rank) for rank in range(launch.ranks))
        prefix = artifact_key(ref.tenant, ref.project, ref.job, ref.number, "")
        kept = keep(self._objects, run, prefix, _artifact_limits(launch))
        progress = summarise([point for point in read_progress(run) if point.attempt == ref.number])
        return Collected(
            observation=observation,
            checkpoints=tuple(judge(run, self._cache)),
            reached_step=progress.step if progress else None,
            progress=progress,
            artifacts=len(kept.records),
            artifact_files=kept.records,
            log_bytes=log_bytes,
            problems=kept.problems,
        )

    def _keep_log(self, launch: AttemptLaunch, attempt: Path, rank: int) -> int:
        """Store a rank's log under the names that its files have; returns its bytes."""
        ref = launch.ref
        prefix = log_prefix(ref.tenant, ref.project, ref.job, ref.number, rank)
        stored = 0
        for path in sorted((rank_folder(attempt, rank) / "log").glob("*.log")):
            with path.open("rb") as file:
                stored += self._objects.put(prefix + path.name, file).bytes
        return stored

    def _clear(self, launch: AttemptLaunch, attempt: Path) -> None:
        """Remove what has been kept elsewhere; receipts and identities stay until the job is deleted."""
        for rank in range(launch.ranks):
            log = rank_folder(attempt, rank) / "log"
            if log.is_dir():
                log.rename(log.with_name(log.name + GONE))  # at once, so that no reader sees half of it
            shutil.rmtree(log.with_name(log.name + GONE), ignore_errors=True)
            files.remove_tree(str(secret_folder(self._layout, launch, rank)))
        shutil.rmtree(attempt / "work", ignore_errors=True)
        ports.release(self._layout.ports, key(launch.ref))
        self._layout.active_file(launch.ref).unlink(missing_ok=True)


def _artifact_limits(launch: AttemptLaunch) -> ArtifactLimits:
    most = launch.artifacts_max_bytes
    return ArtifactLimits() if most is None else ArtifactLimits(bytes=most, file_bytes=most)
