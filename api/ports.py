"""What the API needs of the world besides the store, as Protocols. workers/api_adapters.py holds the real ones.

Methods of async Protocols run in the event loop and must not block; the others are called in threads and may.
Refusals are `PerdureError`s with a code; of the engine only the errors defined here may come through.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO, Protocol

from definitions.api_system import Finding
from definitions.attempt import AttemptRef
from definitions.cluster_calls import Answer, ClusterCall, NodeDone, NodeOrder, RankPlace
from definitions.facts import Requested
from definitions.job_state import RequestOutcome
from definitions.progress import MetricQuery, MetricsFound
from definitions.reservation_calls import WindowAnswer, WindowAsked
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


class ReservationAsker(Protocol):
    """Asks for a change of a booked window."""

    async def ask(self, tenant: str, reservation: str, asked: WindowAsked) -> WindowAnswer:
        """Hand it over and wait for the answer; a refusal by the reservation's own terms is one, too. Safe to repeat by
        `request_id`.

        Raises EngineAway, NoAnswerYet.
        """


class ClusterSilent(Exception):
    """The cluster's worker did not take the question, or did not answer it in time."""


class QuestionUnknown(ClusterSilent):
    """The cluster's worker is of a version that does not know the question."""


class NodeBusy(Exception):
    """Something else is being done to the node."""


class ClusterAsker(Protocol):
    """Reaches clusters, through their workers."""

    async def ask(self, call: ClusterCall) -> Answer:
        """One question, which only looks.

        Raises EngineAway, ClusterSilent, QuestionUnknown, PerdureError with the cluster's refusal.
        """

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


@dataclass(frozen=True)
class RanksRead:
    """Lines by rank. `ends`: where something was cut off, as (rank, cursor) of the last line before: what other ranks
    wrote later must not be shown until that was read too. Whoever reads on from all places comes to the end."""

    lines: Mapping[int, Sequence[Line]]
    ends: frozenset[tuple[int, str]] = frozenset()


class LogReader(Protocol):
    """Reads the lines of ranks, wherever they lie: still in their folders, or already in the object store."""

    def read(
        self, ref: AttemptRef, places: Sequence[RankPlace], *, limit: int, since: datetime | None = None
    ) -> RanksRead:
        """The next lines of each rank from its place on, up to `limit` of one; none older than `since`.

        No log, no lines.
        """


class MetricReader(Protocol):
    """Reads what jobs reported of themselves, wherever that lies."""

    def series(self, tenant: str, project: str, job: str, query: MetricQuery) -> MetricsFound:
        """The series that were asked for, or the first of them. Damaged lines are left out; nothing reported, none."""


class SessionStarter(Protocol):
    """Has the worker of a cluster open a session."""

    async def start(self, work: SessionWork, cluster: str) -> None:
        """Hand it over; the worker dials back. Raises EngineAway."""
