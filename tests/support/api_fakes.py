"""Stand-ins at the API's ports. They keep what they were asked and answer what a test tells them to."""

import hashlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import BinaryIO

from api.ports import KeptSnapshot, RanksRead, ReservationAsker
from definitions.api_system import Finding, FindingStatus
from definitions.attempt import AttemptRef
from definitions.cluster_calls import Answer, ClusterCall, NodeDone, NodeOrder, RankPlace
from definitions.errors import PerdureError
from definitions.facts import Requested
from definitions.job_state import RequestOutcome
from definitions.progress import MetricQuery, MetricsFound, ProgressPoint
from definitions.reservation_calls import WindowAnswer, WindowAsked
from definitions.session import SessionWork
from definitions.states import Phase
from policies.progress import wanted_series


@dataclass
class Clock:
    """Time that passes when somebody sleeps. `then[n]` is called at the n-th sleep, to change the world meanwhile."""

    at: datetime = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
    slept: int = 0
    then: dict[int, Callable[[], object]] = field(default_factory=dict)

    def now(self) -> datetime:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)
        self.slept += 1
        if (happening := self.then.get(self.slept)) is not None:
            happening()


@dataclass
class FakeOperator:
    """Grants every request, or answers as `answer` says."""

    asked: list[tuple[str, str, Requested]] = field(default_factory=list)
    answer: Exception | RequestOutcome = field(
        default_factory=lambda: RequestOutcome(phase=Phase.CANCELLING, reason="stopping")
    )

    async def request(self, tenant: str, job: str, request: Requested) -> RequestOutcome:
        self.asked.append((tenant, job, request))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@dataclass
class FakeReservations:
    """Gives every window the end that is asked for, or answers as `answer` says. `instead` is asked in its place."""

    asked: list[tuple[str, str, WindowAsked]] = field(default_factory=list)
    answer: Exception | WindowAnswer | None = None
    instead: ReservationAsker | None = None

    async def ask(self, tenant: str, reservation: str, asked: WindowAsked) -> WindowAnswer:
        self.asked.append((tenant, reservation, asked))
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.instead is not None:
            return await self.instead.ask(tenant, reservation, asked)
        return self.answer or WindowAnswer(ends_at=asked.until or asked.at)


@dataclass
class FakeClusters:
    """Answers each kind of question as `answers` says; carries out every order, or fails as `fails` says."""

    asked: list[ClusterCall] = field(default_factory=list)
    ordered: list[tuple[NodeOrder, str]] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    fails: Exception | None = None

    async def ask(self, call: ClusterCall) -> Answer:
        self.asked.append(call)
        if self.fails is not None:
            raise self.fails
        return self.answers.get(call.ask.kind, Answer())

    async def order(self, order: NodeOrder, request_id: str) -> NodeDone:
        self.ordered.append((order, request_id))
        if self.fails is not None:
            raise self.fails
        return NodeDone(message=f"{order.verb} of {order.node} done")


@dataclass
class FakeBlobs:
    stored: dict[str, bytes] = field(default_factory=dict)

    def get(self, key: str) -> BinaryIO:
        if key not in self.stored:
            raise PerdureError("PD-3404", "there is no such object")
        return io.BytesIO(self.stored[key])

    def delete(self, key: str) -> bool:
        return self.stored.pop(key, None) is not None


@dataclass
class FakeSnapshots:
    """Takes any bytes whose sha256 is the name; real archives are the keeper's own tests."""

    kept: dict[tuple[str, str, str], bytes] = field(default_factory=dict)

    def keep(self, tenant: str, project: str, sha256: str, archive: BinaryIO) -> KeptSnapshot:
        body = archive.read()
        if hashlib.sha256(body).hexdigest() != sha256:
            raise PerdureError("PD-3401", "the archive is not what its name says")
        self.kept[(tenant, project, sha256)] = body
        return KeptSnapshot(bytes=len(body), files=1, object_key=f"{tenant}/{project}/snapshots/{sha256}.tar.gz")


@dataclass(frozen=True)
class FakeLine:
    at: datetime
    text: str
    cursor: str


@dataclass
class FakeLogs:
    """Lines by (job, attempt, rank). A cursor is the number of lines before it. `fits`: where a rank's are cut off."""

    lines: dict[tuple[str, int, int], list[tuple[datetime, str]]] = field(default_factory=dict)
    fits: int | None = None

    def read(
        self, ref: AttemptRef, places: Sequence[RankPlace], *, limit: int, since: datetime | None = None
    ) -> RanksRead:
        found = {place.rank: self._of_rank(ref, place, limit, since) for place in places}
        ends = {(rank, lines[: self.fits][-1].cursor) for rank, lines in found.items() if lines[: self.fits] != lines}
        return RanksRead({rank: lines[: self.fits] for rank, lines in found.items()}, frozenset(ends))

    def _of_rank(self, ref: AttemptRef, place: RankPlace, limit: int, since: datetime | None) -> list[FakeLine]:
        written = self.lines.get((ref.job, ref.number, place.rank), [])
        numbered = [FakeLine(at, text, str(number + 1)) for number, (at, text) in enumerate(written)]
        if place.cursor is not None:
            numbered = numbered[int(place.cursor) :]
        elif place.tail is not None:
            numbered = numbered[-place.tail :]
        return [line for line in numbered if since is None or line.at >= since][:limit]


@dataclass
class FakeMetrics:
    """Points by job."""

    points: dict[str, list[ProgressPoint]] = field(default_factory=dict)

    def series(self, tenant: str, project: str, job: str, query: MetricQuery) -> MetricsFound:
        return wanted_series(self.points.get(job, []), query)


class FakeDoctor:
    """Finds one thing well and one not."""

    async def examine(self) -> list[Finding]:
        ok, failed = FindingStatus.OK, FindingStatus.FAILED
        return [
            Finding(check="database", status=ok, detail="sqlite, schema 0001"),
            Finding(check="engine", status=failed, detail="nobody answers", code="PD-4111", remedy="Look at it."),
        ]


@dataclass
class FakeSessionStarter:
    """Starts nothing: who opens a session is told that nobody came."""

    started: list[tuple[SessionWork, str]] = field(default_factory=list)

    async def start(self, work: SessionWork, cluster: str) -> None:
        self.started.append((work, cluster))
