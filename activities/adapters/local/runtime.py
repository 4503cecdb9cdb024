"""The Runtime of one machine. Every method delegates to the file that bears its concern."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from activities.adapters.local import requests, sessions
from activities.adapters.local.collecting import Collector
from activities.adapters.local.launching import Launcher
from activities.adapters.local.layout import TEMPORARY, Layout
from activities.adapters.local.logs import LocalLogs
from activities.adapters.local.observing import Observer
from activities.adapters.local.settings import Settings
from activities.adapters.local.watcher import Watcher
from activities.checkpoints import judge, remove
from activities.digests import DigestCache
from activities.ports import ByteStream, LogLine, ObjectStore, PortError, RunLook, SecretValues
from activities.progress import read_progress
from activities.run_look import look
from definitions.attempt import (
    AttemptLaunch,
    AttemptObservation,
    AttemptRef,
    CheckpointRecord,
    Collected,
    StopRequest,
)
from definitions.progress import ProgressPoint
from definitions.session import Exec


class LocalRuntime:
    """Runs attempts as process trees of this machine, all ranks on it, below `home`/runs.

    Any number of threads may use one; several on the same folder see the same attempts.
    """

    def __init__(
        self, home: Path, secrets: SecretValues, objects: ObjectStore, settings: Settings | None = None
    ) -> None:
        self._settings = settings = settings or Settings()
        self._layout = Layout(home.absolute())
        self._cache = DigestCache()
        self._observer = Observer(self._layout, settings)
        self._launcher = Launcher(self._layout, settings, secrets, objects)
        self._collector = Collector(self._layout, settings, objects, self._observer, self._cache)
        self._logs = LocalLogs(home.absolute(), objects)
        with _port_errors():
            self._layout.prepare()

    def launch(self, launch: AttemptLaunch) -> AttemptObservation:
        with _port_errors():
            self._collector.collect_earlier(launch.ref)
            self._launcher.launch(launch)
            return self._observer.observe(launch.ref)

    def observe(self, ref: AttemptRef) -> AttemptObservation:
        with _port_errors():
            return self._observer.observe(ref)

    def stop(self, ref: AttemptRef, stop: StopRequest) -> None:
        with _port_errors():
            requests.stop(self._layout, ref, stop)

    def control(self, ref: AttemptRef, request_id: str, *, checkpoint: bool, deadline: datetime | None) -> None:
        with _port_errors():
            requests.control(self._layout, ref, request_id, checkpoint=checkpoint, deadline=deadline)

    def collect(self, launch: AttemptLaunch) -> Collected:
        with _port_errors():
            return self._collector.collect(launch)

    def checkpoints(self, ref: AttemptRef) -> list[CheckpointRecord]:
        with _port_errors():
            return judge(self._layout.run_folder(ref), self._cache)

    def prune(self, ref: AttemptRef, folders: tuple[str, ...]) -> tuple[str, ...]:
        with _port_errors():
            return remove(self._layout.run_folder(ref), folders)

    def forget(self, ref: AttemptRef) -> None:
        with _port_errors():
            job = self._layout.job(ref)
            for file in sorted(self._layout.active.glob(f"{ref.job}.*")):
                if file.suffix != TEMPORARY:
                    raise PortError(f"{file.name} has not been collected", code="PD-3015")
                file.unlink(missing_ok=True)
            shutil.rmtree(job, ignore_errors=True)

    def changes(self, stop: threading.Event) -> Iterator[AttemptObservation]:
        return Watcher(self._layout, self._observer).changes(stop)

    def read_logs(self, ref: AttemptRef, rank: int, *, cursor: str | None, limit: int) -> list[LogLine]:
        with _port_errors():
            return self._logs.read(ref, rank, cursor=cursor, limit=limit)

    def run_folder(self, ref: AttemptRef) -> Path | None:
        folder = self._layout.run_folder(ref)
        return folder if folder.is_dir() else None

    def exec(self, ref: AttemptRef, rank: int, wants: Exec) -> ByteStream:
        with _port_errors():
            return sessions.start(self._settings.python, self._layout, ref, rank, wants)

    def connect(self, ref: AttemptRef, rank: int, port: int) -> ByteStream:
        with _port_errors():
            return sessions.connect(self._layout, ref, rank, port)

    def look(self, ref: AttemptRef) -> RunLook | None:
        folder = self.run_folder(ref)
        return None if folder is None else look(folder)

    def progress(self, ref: AttemptRef) -> list[ProgressPoint]:
        return read_progress(self._layout.run_folder(ref))


@contextmanager
def _port_errors() -> Iterator[None]:
    """Nothing but PortError leaves the adapter."""
    try:
        yield
    except OSError as error:
        raise PortError(str(error), code="PD-3000") from error
    except ValueError as error:  # pydantic's ValidationError is one: a file of ours that cannot be read
        raise PortError(str(error), permanent=True, code="PD-3000") from error
