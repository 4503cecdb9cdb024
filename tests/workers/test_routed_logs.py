"""Where the lines of a job's log are asked for: here, at its cluster's worker, or in the object store."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from api.ports import ClusterSilent, EngineAway, QuestionUnknown, RanksRead
from definitions.attempt import AttemptRef
from definitions.cluster_calls import Answer, ClusterCall, LiveLine, RankLine, RankLogsAsk, RankPlace
from definitions.errors import PerdureError
from definitions.facts import AttemptSummary
from store import attempts
from store.engine import session
from store.tables import JobRow
from tests.store.builders import HERE, NOW, add_job
from tests.support.api_fakes import FakeClusters, FakeLogs
from workers import routed_logs
from workers.routed_logs import RoutedLogs

TOKEN = "a" * 32


class World:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.kept, self.clusters = FakeLogs(), FakeClusters()
        self.logs: RoutedLogs | None = None
        self.clusters.answers["rank-logs"] = Answer(rank_lines=(RankLine(rank=0, at=NOW, text="live", cursor="1"),))

    def job(self, cluster: str, *, ended: bool = False) -> AttemptRef:
        row = add_job(self.engine, cluster=cluster)
        summary = AttemptSummary(number=1, token=TOKEN, started_at=NOW, ended_at=NOW if ended else None)
        with session(self.engine) as active:
            attempts.record(active, active.get_one(JobRow, row.id), summary, 1)
        self.kept.lines[(row.id, 1, 0)] = [(NOW, "kept")]
        return AttemptRef(tenant=HERE[0], project=HERE[1], job=row.id, number=1, token=TOKEN)

    async def found(self, ref: AttemptRef, *places: RankPlace, **asked: Any) -> RanksRead:
        if self.logs is None:
            self.logs = RoutedLogs(self.engine, self.kept, self.clusters, asyncio.get_running_loop())
        reader = self.logs
        return await asyncio.to_thread(lambda: reader.read(ref, places, **{"limit": 1000, **asked}))

    async def read(self, ref: AttemptRef, cursor: str | None = None) -> list[str]:
        """What rank 0 wrote."""
        found = await self.found(ref, RankPlace(rank=0, cursor=cursor))
        return [line.text for line in found.lines.get(0, ())]


async def test_lines_are_asked_of_a_worker_while_a_job_runs_on_its_cluster_and_only_then(engine: Engine) -> None:
    for cluster, ended, text in (("local", False, "kept"), ("north", False, "live"), ("north", True, "kept")):
        with session(engine) as active:
            active.query(JobRow).update({"live_name": None})
        world = World(engine)
        assert await world.read(world.job(cluster, ended=ended)) == [text]


async def test_what_is_wanted_reaches_the_worker(engine: Engine) -> None:
    world = World(engine)
    since = NOW - timedelta(hours=1)
    places = (RankPlace(rank=0, cursor="c"), RankPlace(rank=1, tail=3))
    ref = world.job("north")
    await world.found(ref, *places, limit=7, since=since)
    (call,) = world.clusters.asked
    assert (call.cluster, call.ask) == ("north", RankLogsAsk(ref=ref, ranks=places, limit=7, since=since))


async def test_a_rank_that_had_nothing_new_is_left_alone_for_a_moment(engine: Engine) -> None:
    world = World(engine)
    world.clusters.answers["rank-logs"] = Answer()
    ref = world.job("north")
    for _ in range(5):
        assert await world.read(ref, cursor="1") == []
    assert len(world.clusters.asked) == 1
    await world.read(ref, cursor="2")
    assert len(world.clusters.asked) == 2


async def test_all_ranks_are_one_question_and_very_many_are_a_few(engine: Engine) -> None:
    world = World(engine)
    world.clusters.answers["rank-logs"] = Answer()
    ref = world.job("north")
    for ranks, tail, questions in ((16, None, 1), (1000, None, 4), (16, 100, 1), (16, 10_000, 8)):
        world.clusters.asked.clear()
        places = [RankPlace(rank=rank, cursor=None if tail else f"{ranks}", tail=tail) for rank in range(ranks)]
        world.logs = None
        await world.found(ref, *places)
        asked = [place for call in world.clusters.asked for place in ranks_of(call)]
        assert (len(world.clusters.asked), asked) == (questions, places)


async def test_where_an_answer_was_cut_off_is_told_and_no_rank_counts_as_quiet(engine: Engine) -> None:
    world = World(engine)
    full = world.clusters.answers["rank-logs"].model_copy(update={"more": True})
    world.clusters.answers["rank-logs"] = full
    ref, places = world.job("north"), [RankPlace(rank=rank) for rank in range(2)]
    for _ in range(2):
        assert (await world.found(ref, *places)).ends == {(0, "1")}
    assert [ranks_of(call) for call in world.clusters.asked] == [tuple(places)] * 2


async def test_a_worker_of_an_earlier_version_is_asked_rank_by_rank_and_tried_again_later(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(engine)
    old = OldClusters(answers={"logs": Answer(lines=(LiveLine(at=NOW, text="live", cursor="1"),))})
    world.clusters = old
    ref, places = world.job("north"), [RankPlace(rank=rank, cursor=f"{rank}") for rank in range(2)]
    for _ in range(2):
        found = await world.found(ref, *places)
        assert {rank: [line.text for line in lines] for rank, lines in found.lines.items()} == {
            0: ["live"],
            1: ["live"],
        }
    assert [call.ask.kind for call in old.asked] == ["rank-logs", "logs", "logs", "logs", "logs"]
    monkeypatch.setattr(routed_logs, "OLD_FOR", 0.0)
    world.logs = None
    await world.found(ref, *places)
    await world.found(ref, *places)
    assert [call.ask.kind for call in old.asked[5:]] == ["rank-logs", "logs", "logs"] * 2


class OldClusters(FakeClusters):
    """Clusters whose workers know only the first kind of question about logs."""

    async def ask(self, call: ClusterCall) -> Answer:
        answer = await super().ask(call)
        if call.ask.kind == "rank-logs":
            raise QuestionUnknown
        return answer


def ranks_of(call: ClusterCall) -> tuple[RankPlace, ...]:
    assert isinstance(call.ask, RankLogsAsk)
    return call.ask.ranks


@pytest.mark.parametrize(("failure", "code"), [(ClusterSilent(), "PD-2103"), (EngineAway(), "PD-2040")])
async def test_a_worker_that_cannot_be_asked_is_named(engine: Engine, failure: Exception, code: str) -> None:
    world = World(engine)
    world.clusters.fails = failure
    with pytest.raises(PerdureError) as refused:
        await world.read(world.job("north"))
    assert refused.value.code.code == code
