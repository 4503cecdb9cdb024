"""The Runtime of one Kubernetes cluster. Every method delegates to the file that bears its concern."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.collecting import Collector, claim_of
from activities.adapters.kubernetes.gates import Gates
from activities.adapters.kubernetes.informer import Informer
from activities.adapters.kubernetes.keeper import Keepers
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.launching import Launcher
from activities.adapters.kubernetes.markers import Markers
from activities.adapters.kubernetes.naming import job_labels, selector
from activities.adapters.kubernetes.observing import Observer
from activities.adapters.kubernetes.picture import Pictures
from activities.adapters.kubernetes.pod_logs import PodLogs
from activities.adapters.kubernetes.proving import Prover
from activities.adapters.kubernetes.reporting import Reports
from activities.adapters.kubernetes.requests import Requests
from activities.adapters.kubernetes.sessions import Sessions
from activities.adapters.kubernetes.tracking import Tracker
from activities.adapters.kubernetes.watcher import Watcher
from activities.checkpoints import check_folder
from activities.clock import utc_now
from activities.effects import crash_point
from activities.ports import ByteStream, LogLine, ObjectStore, PortError, RunLook, SecretValues
from definitions.attempt import (
    AttemptLaunch,
    AttemptObservation,
    AttemptRef,
    CheckpointRecord,
    Collected,
    StopRequest,
)
from definitions.cluster import ClusterSettings
from definitions.progress import ProgressPoint
from definitions.session import Exec


class KubernetesRuntime:
    """Runs attempts as pods in one namespace of a cluster. Any number of threads, and of workers, may use one.

    The informer follows what `tracking.watched()` names; it is started after this, so that nothing is missed.
    """

    def __init__(
        self,
        client: KubeClient,
        informer: Informer,
        settings: ClusterSettings,
        secrets: SecretValues,
        objects: ObjectStore,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._client = client
        self._settings = settings
        self._markers = Markers(objects)
        self._tracker = Tracker(now)
        self._pictures = Pictures(client, informer, self._tracker, now)
        self._logs = PodLogs(client, objects)
        self._keepers = Keepers(client, informer, objects, settings)
        gates = Gates(client, informer)
        prover = Prover(self._pictures, self._markers, now)
        self._observer = Observer(client, self._pictures, gates, prover, self._markers, self._logs, settings, now)
        self._requests = Requests(client, self._pictures, self._markers, self._observer, now)
        self._reports = Reports(client, self._pictures, self._markers, self._logs, objects)
        self._sessions = Sessions(client, self._pictures, self._observer)
        self._launcher = Launcher(client, self._tracker, self._markers, settings, secrets, objects, now)
        self._collector = Collector(
            client,
            self._tracker,
            self._pictures,
            self._markers,
            prover,
            self._observer,
            self._requests,
            self._keepers,
            self._logs,
            settings,
            now,
        )
        informer.subscribe(self._tracker.changed)
        informer.subscribe(gates.changed)

    def launch(self, launch: AttemptLaunch) -> AttemptObservation:
        with _port_errors():
            ref = launch.ref
            collected = self._markers.collected(ref)
            if collected is not None:
                return collected.observation
            opened = self._markers.opened(ref)
            if opened is not None:
                self._pictures.now(ref)
            else:
                plan = self._launcher.plan(launch)
                self._markers.write_launch(launch)
                crash_point("kube-launch:recorded")
                self._collector.collect_earlier(ref)
                opened = self._launcher.make(plan)
            if opened is not None:
                self._launcher.release(launch, opened)
            attempt = self._tracker.get(ref)
            if attempt is None or attempt.living_job is None:
                return self._observer.observe(ref)
            return self._observer.judge(launch, attempt)

    def observe(self, ref: AttemptRef) -> AttemptObservation:
        with _port_errors():
            return self._observer.observe(ref)

    def stop(self, ref: AttemptRef, stop: StopRequest) -> None:
        with _port_errors():
            self._requests.stop(ref, stop)

    def control(self, ref: AttemptRef, request_id: str, *, checkpoint: bool, deadline: datetime | None) -> None:
        with _port_errors():
            self._requests.control(ref, request_id, checkpoint=checkpoint, deadline=deadline)

    def collect(self, launch: AttemptLaunch) -> Collected:
        with _port_errors():
            return self._collector.collect(launch)

    def checkpoints(self, ref: AttemptRef) -> list[CheckpointRecord]:
        with _port_errors():
            found = claim_of(self._markers, ref, self._settings)
            return [] if found is None else list(self._keepers.judge(*found).checkpoints)

    def prune(self, ref: AttemptRef, folders: tuple[str, ...]) -> tuple[str, ...]:
        with _port_errors():
            for folder in folders:
                check_folder(folder)
            found = claim_of(self._markers, ref, self._settings)
            return () if found is None else self._keepers.prune(*found, folders).gone

    def forget(self, ref: AttemptRef) -> None:
        with _port_errors():
            left = self._markers.uncollected(ref)
            if left:
                numbers = ", ".join(str(each.number) for each in left)
                raise PortError(f"attempts of {ref.job} have not been collected: {numbers}", code="PD-3162")
            labels = selector(job_labels(ref.tenant, ref.project, ref.job))
            for claim in self._client.list(Kind.PERSISTENT_VOLUME_CLAIM, labels=labels):
                meta = claim["metadata"]
                self._client.delete(Kind.PERSISTENT_VOLUME_CLAIM, meta["name"], uid=meta["uid"])
            self._markers.forget(ref)

    def changes(self, stop: threading.Event) -> Iterator[AttemptObservation]:
        return Watcher(self._client, self._tracker, self._pictures, self._observer).changes(stop)

    def read_logs(self, ref: AttemptRef, rank: int, *, cursor: str | None, limit: int) -> list[LogLine]:
        with _port_errors():
            attempt = self._pictures.cached(ref)
            if attempt is None and not self._observer.is_over(ref):
                attempt = self._pictures.asked(ref)
            launch = self._observer.launch(ref)
            per_node = 1 if launch is None else launch.processes_per_node
            return self._logs.read(ref, rank, attempt, per_node, cursor, limit)

    def run_folder(self, ref: AttemptRef) -> Path | None:
        """None: it is on a volume of the cluster."""
        return None

    def exec(self, ref: AttemptRef, rank: int, wants: Exec) -> ByteStream:
        with _port_errors():
            return self._sessions.exec(ref, rank, wants)

    def connect(self, ref: AttemptRef, rank: int, port: int) -> ByteStream:
        with _port_errors():
            return self._sessions.connect(ref, rank, port)

    def look(self, ref: AttemptRef) -> RunLook | None:
        with _port_errors():
            return self._requests.look(ref)

    def progress(self, ref: AttemptRef) -> list[ProgressPoint]:
        with _port_errors():
            return self._reports.points(ref)


@contextmanager
def _port_errors() -> Iterator[None]:
    """Nothing but PortError leaves the adapter."""
    try:
        yield
    except OSError as error:
        raise PortError(str(error), code="PD-3000") from error
    except (
        ValueError,
        KeyError,
    ) as error:  # pydantic's ValidationError is one: an object that is not what it should be
        raise PortError(f"{type(error).__name__}: {error}", permanent=True, code="PD-3000") from error
