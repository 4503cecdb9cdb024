"""What activities need of the world, as Protocols. Adapters stand in adapters/; fakes pass the same contract suites.

All calls block and are bounded; activities run in threads. Adapters raise `PortError` and nothing of their SDK's.
"""

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from definitions.attempt import AttemptLaunch, AttemptObservation, AttemptRef, CheckpointRecord, Collected, StopRequest
from definitions.cluster import ClusterReport, NodeView
from definitions.cluster_calls import NodePod, ObjectChange
from definitions.facts import AttemptSummary, Event
from definitions.job_state import JobState
from definitions.progress import ProgressPoint
from definitions.session import Exec, Frame
from definitions.wire import Wire


class PortError(Exception):
    """An outside system refused or failed. `permanent`: trying again cannot help. `code`: see definitions/errors.py."""

    def __init__(self, message: str, *, permanent: bool = False, code: str = "PD-3000") -> None:
        super().__init__(message)
        self.permanent = permanent
        self.code = code


class SecretValues(Protocol):
    def resolve(self, tenant: str, project: str, names: frozenset[str]) -> dict[str, str]:
        """Values by name. Raises PortError (permanent) naming each secret that is missing."""


class ObjectInfo(Wire):
    key: str
    bytes: int
    sha256: str


class UploadGrant(Wire):
    """Leave to store blobs by HTML form upload: POST to `url` with `fields`, a field `key`, and last the field `file`.

    `key` must begin with `prefix`, which is the store's own spelling of the prefix that was asked for; what follows is
    the rest of the blob's key. The field `x-amz-meta-sha256` may hold the file's digest, which spares hashing.
    """

    url: str
    prefix: str
    fields: dict[str, str]


class ObjectStore(Protocol):
    """Blobs by key (`tenant/project/...`). A key is written whole or not at all."""

    def put(self, key: str, data: BinaryIO, *, if_absent: bool = False) -> ObjectInfo:
        """Store a blob. With `if_absent` an existing key is left as it is and described (content-addressed keys)."""

    def get(self, key: str) -> BinaryIO:
        """Open a blob. Raises PortError(permanent, PD-3404) when there is none."""

    def stat(self, key: str) -> ObjectInfo | None: ...

    def list(self, prefix: str, *, after: str | None = None, limit: int = 1000) -> list[ObjectInfo]:
        """Up to `limit` blobs whose key starts with `prefix`, in key order, beginning after the key `after`."""

    def delete(self, key: str) -> bool:
        """Remove a blob; False when there was none. Safe to repeat."""

    def grant_read(self, key: str, lasting: timedelta) -> str | None:
        """An address that reads this one blob without credentials for so long; None where the store has none."""

    def grant_write(self, prefix: str, lasting: timedelta) -> UploadGrant | None:
        """Leave to store blobs below a prefix, and nothing else, for so long; None where the store has none."""


class LogLine(Wire):
    """One line as a rank wrote it, secrets masked. `cursor` continues after this line, for one (attempt, rank)."""

    attempt: int
    rank: int
    at: datetime
    text: str
    cursor: str


class ByteStream(Protocol):
    """An open session. One thread may receive while another sends."""

    def receive(self) -> Frame | None:
        """Wait for the next frame; None after the last. A program's last one is its status."""

    def send(self, frame: Frame) -> None:
        """Hand over a frame; nothing happens when the other end is gone."""

    def close(self) -> None:
        """End the session and what it started. Safe to repeat."""


class RunLook(Wire):
    """The end of a job's progress file, and which checkpoint folders there are, each with its number of manifests."""

    progress: str = ""
    checkpoints: tuple[tuple[str, int], ...] = ()


class Runtime(Protocol):
    """Where attempts run. tests/activities/runtime_contract.py is the suite that every adapter passes."""

    def launch(self, launch: AttemptLaunch) -> AttemptObservation:
        """Start every rank of an attempt, or none. Safe to repeat: an attempt (ref) that was launched is only observed,
        and one that was collected is not started again. Earlier attempts of the job that were not collected are first.
        May return before every rank runs (the observation says so); `changes` then tells.

        Raises PortError(permanent) when the attempt can never start as asked (its code says why).
        """

    def observe(self, ref: AttemptRef) -> AttemptObservation:
        """What is known now. Finds lost ranks (no supervisor, no receipt), and ends what is left of them."""

    def stop(self, ref: AttemptRef, stop: StopRequest) -> None:
        """Hand over a request to end; returns at once. The runtime carries it out and reports through `changes`.

        Safe to repeat: an attempt that is ending, or has ended, stays so.
        """

    def control(self, ref: AttemptRef, request_id: str, *, checkpoint: bool, deadline: datetime | None) -> None:
        """Ask the running ranks for a checkpoint, or set a new deadline. Safe to repeat by `request_id`."""

    def collect(self, launch: AttemptLaunch) -> Collected:
        """After the end: kill leftovers, move logs and artifacts to the object store, verify checkpoints.

        Safe to repeat: keys are deterministic, and what was moved stays moved.
        """

    def checkpoints(self, ref: AttemptRef) -> list[CheckpointRecord]:
        """Every checkpoint folder of the job, judged now (bytes read and hashed)."""

    def prune(self, ref: AttemptRef, folders: tuple[str, ...]) -> tuple[str, ...]:
        """Delete checkpoint folders of the job; returns those that are gone. Safe to repeat."""

    def forget(self, ref: AttemptRef) -> None:
        """Remove what the runtime keeps of a job whose attempts have all been collected (deletion). Safe to repeat."""

    def changes(self, stop: threading.Event) -> Iterator[AttemptObservation]:
        """Observations of attempts that ended (at least once each, also after a restart) until `stop` is set.

        Where `launch` returns before every rank runs, also of those that began to run, or that wait for another reason.
        """

    def read_logs(self, ref: AttemptRef, rank: int, *, cursor: str | None, limit: int) -> list[LogLine]:
        """Lines of a live or not yet collected rank, after `cursor`."""

    def run_folder(self, ref: AttemptRef) -> Path | None:
        """The job's run folder when it is on this machine."""

    def exec(self, ref: AttemptRef, rank: int, wants: Exec) -> ByteStream:
        """Start a program beside a running rank: its environment, its folder. It ends with the session or the attempt.

        Raises PortError: PD-3017 when the rank does not run, PD-3018 when the program cannot be started.
        """

    def connect(self, ref: AttemptRef, rank: int, port: int) -> ByteStream:
        """Connect to a port of a running rank's machine. Raises PortError: PD-3017, or PD-3019 when nothing listens."""

    def look(self, ref: AttemptRef) -> RunLook | None:
        """What a running attempt has written into its run folder so far; None when that cannot be seen now."""

    def progress(self, ref: AttemptRef) -> list[ProgressPoint]:
        """What the job's ranks have reported so far, those of earlier attempts too, as far as it can be seen now."""


class ClusterInspector(Protocol):
    """What a cluster says of itself. Everything only looks."""

    def check(self) -> ClusterReport:
        """Whether jobs can run there, line by line. What cannot be found out is a finding, not an error."""

    def render(self, launch: AttemptLaunch) -> tuple[dict[str, Any], ...]:
        """The very objects of an attempt, which the cluster would take. Raises PortError with its refusal. No secret's
        value is in them."""

    def compare(self, ref: AttemptRef) -> tuple[ObjectChange, ...]:
        """In what the objects of a launched attempt differ from what was made. Raises PortError (permanent) for one
        that was not launched there."""

    def nodes(self) -> tuple[NodeView, ...]:
        """Every node as it is known now, without asking the cluster again."""


class ClusterOperator(Protocol):
    """What can be done to nodes. All is safe to repeat. Raises PortError, permanent when there is no such node."""

    def cordon(self, node: str, reason: str) -> None:
        """Let nothing new start there; the reason is kept with the node."""

    def uncordon(self, node: str) -> None: ...

    def pods(self, node: str) -> tuple[NodePod, ...]:
        """Pods of ours on the node, asked for now."""

    def evict(self, pod: NodePod) -> bool:
        """Ask a pod to leave as a drain does: its job may save first. False while something forbids it for now."""


class JournalEntry(Wire):
    """What an activity writes to the store: the job's state with its new events, and the current attempt."""

    state: JobState
    events: tuple[Event, ...] = ()
    attempt: AttemptSummary | None = None
    collected: Collected | None = None


class Journal(Protocol):
    """The store as activities see it. Every write is an upsert keyed by job, attempt number, or (job, event key)."""

    def write(self, entry: JournalEntry) -> None:
        """Record state, events and attempt in one transaction. Repeats and older states change nothing."""

    def checkpoints_deleted(self, ref: AttemptRef, folders: tuple[str, ...]) -> None: ...
