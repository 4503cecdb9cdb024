"""What the API needs of the world besides the store, as Protocols. workers/api_adapters.py holds the real ones.

Methods of async Protocols run in the event loop and must not block; the others are called in threads and may.
Refusals are `PerdureError`s with a code; of the engine only the errors defined here may come through.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import BinaryIO, Protocol

from definitions.api_system import Finding
from definitions.attempt import AttemptRef
from definitions.cluster_calls import Answer, ClusterCall, NodeDone, NodeOrder
from definitions.facts import Requested
from definitions.job_state import RequestOutcome
from definitions.progress import ProgressPoint
from definitions.session import SessionWork
from definitions.wire import Wire


class JobClosed(Exception):
    """The job's workflow has ended, or has not been started yet; `started` tells which."""

    def __init__(self, *, started: bool) -> None:
        super().__init__("the workflow has ended" if started else "the workflow has not begun")
        self.started = started


class EngineAway(Exception):
    """The workflow engine cannot be reached. The request was not handed over."""


class NoAnswerYet(Exception):
    """The request was handed over, or may have been; no answer came in time. Repeating it by the same id is safe."""


class RequestRefused(Exception):
    """The job's own rules refused the request in its present phase; the text is the reason for people."""


class JobOperator(Protocol):
    """Asks a running job for something."""

    async def request(self, tenant: str, job: str, request: Requested) -> RequestOutcome:
        """Hand over a request and wait for the answer. Safe to repeat by `request_id`.

        Raises JobClosed, EngineAway, NoAnswerYet, RequestRefused.
        """


class ClusterSilent(Exception):
    """The cluster's worker did not take the question, or did not answer it in time."""


class NodeBusy(Exception):
    """Something else is being done to the node."""


class ClusterAsker(Protocol):
    """Reaches clusters, through their workers."""

    async def ask(self, call: ClusterCall) -> Answer:
        """One question, which only looks. Raises EngineAway, ClusterSilent, PerdureError with the cluster's refusal."""

    async def order(self, order: NodeOrder, request_id: str) -> NodeDone:
        """Have something done to a node. Safe to repeat by `request_id`.

        Raises EngineAway, NodeBusy, NoAnswerYet when it goes on, or PerdureError with the cluster's refusal.
        """


class Doctor(Protocol):
    """Looks at the deployment as this process sees it."""

    async def examine(self) -> Sequence[Finding]:
        """Every part once, each within seconds. What is wrong is a finding, never an error."""


class PayloadOpener(Protocol):
    """Opens what the engine keeps sealed, in the form in which the engine's own tools send it."""

    def open(self, body: bytes) -> bytes:
        """Payloads in JSON, opened. Raises PerdureError: PD-4105 without keys, PD-4106 for another form, PD-4102."""


class BlobReader(Protocol):
    """Reads what was stored; writing is the business of those who own the objects."""

    def get(self, key: str) -> BinaryIO:
        """Open a blob. Raises PerdureError when there is none."""

    def delete(self, key: str) -> bool:
        """Remove a blob; False when there was none. Safe to repeat."""


class KeptSnapshot(Wire):
    """A snapshot that was verified and stored."""

    bytes: int
    files: int
    object_key: str


class SnapshotKeeper(Protocol):
    """Takes in snapshots of folders."""

    def keep(self, tenant: str, project: str, sha256: str, archive: BinaryIO) -> KeptSnapshot:
        """Verify every file of a gzip tar against its manifest, and the manifest against `sha256`; then store it.

        Raises PerdureError saying what does not fit. Safe to repeat: the key is the content's digest.
        """


class Line(Protocol):
    """One line of a log, secrets masked. `cursor` continues after it, for one (attempt, rank)."""

    @property
    def at(self) -> datetime: ...

    @property
    def text(self) -> str: ...

    @property
    def cursor(self) -> str: ...


class LogReader(Protocol):
    """Reads the lines of a rank, wherever they lie: still in its folder, or already in the object store."""

    def read(
        self,
        ref: AttemptRef,
        rank: int,
        *,
        cursor: str | None = None,
        limit: int = 1000,
        tail: int | None = None,
        since: datetime | None = None,
    ) -> Sequence[Line]:
        """Up to `limit` lines after `cursor`, or, without one, the last `tail` lines; none older than `since`.

        No log, no lines.
        """


class RunFiles(Protocol):
    """Reads what a job writes into its run folder."""

    def progress(self, tenant: str, project: str, job: str) -> Sequence[ProgressPoint]:
        """Every readable line, oldest first. Damaged lines are left out; no folder, no lines."""


class SessionStarter(Protocol):
    """Has the worker of a cluster open a session."""

    async def start(self, work: SessionWork, cluster: str) -> None:
        """Hand it over; the worker dials back. Raises EngineAway."""
