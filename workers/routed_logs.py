"""Logs of any job: of this machine's, of those that run on a cluster, and of those whose logs were collected.

What runs on a cluster is asked of its worker, for all ranks in one workflow, which is removed again: log lines are not
to be kept in the engine's histories. Who follows a log asks again and again, so ranks that had nothing new are left
alone for a moment.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from datetime import datetime

from sqlalchemy import Engine

from api.ports import ClusterAsker, Line, LogReader, QuestionUnknown, RanksRead
from definitions.attempt import AttemptRef
from definitions.cluster import LOCAL_CLUSTER
from definitions.cluster_calls import Answer, ClusterCall, LogsAsk, RankLine, RankLogsAsk, RankPlace
from store import attempts, jobs
from store.engine import reading
from workers.live_asks import LiveAsks

QUIET = 2.0  # seconds in which a rank that had nothing new is not asked again
REMEMBERED = 4096  # ranks
MOST_RANKS = 256  # of one question
MOST_TAILS = 20_000  # lines that the worker has to remember for one question
OLD_FOR = 60.0  # seconds after which a worker is asked again whether it knows the question by now
UNREAD = "the log was not read"
Key = tuple[str, int, str | None]  # of an attempt's token a rank's place


class RoutedLogs:
    """The API's `LogReader`. Read in threads; `loop` is where the engine's client lives."""

    def __init__(
        self, engine: Engine, kept: LogReader, clusters: ClusterAsker, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._engine = engine
        self._kept = kept
        self._asks = LiveAsks(clusters, loop)
        self._quiet: OrderedDict[Key, float] = OrderedDict()
        self._old: dict[str, float] = {}  # clusters whose workers answer for one rank at a time -> until when

    def read(
        self, ref: AttemptRef, places: Sequence[RankPlace], *, limit: int, since: datetime | None = None
    ) -> RanksRead:
        cluster = self._live_on(ref)
        if cluster is None:
            return self._kept.read(ref, places, limit=limit, since=since)
        now = time.monotonic()
        wanted = [place for place in places if self._quiet.get(_key(ref, place), 0.0) <= now]
        lines: dict[int, list[Line]] = {}
        ends: set[tuple[int, str]] = set()
        for some in _questions(wanted):
            answer = self._answer(cluster, RankLogsAsk(ref=ref, ranks=some, limit=limit, since=since))
            for line in answer.rank_lines:
                lines.setdefault(line.rank, []).append(line)
            if answer.more:
                ends.add((answer.rank_lines[-1].rank, answer.rank_lines[-1].cursor))
                continue
            for place in some:
                if place.rank not in lines:
                    self._leave_alone(_key(ref, place))
        return RanksRead(lines, frozenset(ends))

    def _live_on(self, ref: AttemptRef) -> str | None:
        """The cluster whose worker has the lines; None where they are in the object store, or on this machine."""
        with reading(self._engine) as session:
            job = jobs.get(session, ref.tenant, ref.project, ref.job)
            attempt = attempts.get(session, ref.tenant, ref.project, ref.job, ref.number)
        if job is None or job.cluster == LOCAL_CLUSTER or (attempt is not None and attempt.ended_at is not None):
            return None
        return job.cluster

    def _answer(self, cluster: str, ask: RankLogsAsk) -> Answer:
        if self._old.get(cluster, 0.0) <= time.monotonic():
            try:
                return self._asks.ask(ClusterCall(cluster=cluster, ask=ask), UNREAD)
            except QuestionUnknown:
                self._old[cluster] = time.monotonic() + OLD_FOR
        return Answer(rank_lines=tuple(line for place in ask.ranks for line in self._of_one(cluster, ask, place)))

    def _of_one(self, cluster: str, ask: RankLogsAsk, place: RankPlace) -> Iterator[RankLine]:
        """What a worker of an earlier version says of one rank."""
        asked = LogsAsk(ref=ask.ref, limit=ask.limit, since=ask.since, **place.model_dump())
        for line in self._asks.ask(ClusterCall(cluster=cluster, ask=asked), UNREAD).lines:
            yield RankLine(rank=place.rank, at=line.at, text=line.text, cursor=line.cursor)

    def _leave_alone(self, key: Key) -> None:
        self._quiet[key] = time.monotonic() + QUIET
        self._quiet.move_to_end(key)
        while len(self._quiet) > REMEMBERED:
            self._quiet.popitem(last=False)


def _questions(places: Sequence[RankPlace]) -> Iterator[tuple[RankPlace, ...]]:
    """As few as possible, each of a size that a worker can answer."""
    longest = max((place.tail or 0 for place in places), default=0)
    most = max(min(MOST_RANKS, MOST_TAILS // max(longest, 1)), 1)
    for start in range(0, len(places), most):
        yield tuple(places[start : start + most])


def _key(ref: AttemptRef, place: RankPlace) -> Key:
    return ref.token, place.rank, place.cursor
