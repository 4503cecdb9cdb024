"""Where a job's metrics are asked for: here, at its cluster's worker, or in the object store."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from activities.adapters.objects_folder import FolderObjects
from activities.progress import keep_progress
from api.ports import ClusterSilent, EngineAway, QuestionUnknown
from definitions.cluster_calls import Answer, ClusterCall, MetricsAsk
from definitions.errors import PerdureError
from definitions.facts import AttemptSummary
from definitions.object_keys import progress_key
from definitions.progress import MetricQuery, MetricsFound, ProgressPoint
from policies.progress import wanted_series
from store import attempts
from store.engine import open_engine, session
from store.migrate import upgrade
from store.tables import JobRow
from tests.store.builders import HERE, NOW, add_job
from tests.support.api_fakes import FakeClusters
from workers.routed_metrics import MOST_QUESTIONS, RoutedMetrics

ALL = MetricQuery(limit=100, points=500)


class Clusters(FakeClusters):
    """Answers from `points`, `fits` series at a time."""

    points: list[ProgressPoint]
    fits = 100

    async def ask(self, call: ClusterCall) -> Answer:
        await super().ask(call)
        assert isinstance(call.ask, MetricsAsk)
        query = call.ask.query
        most = query.model_copy(update={"limit": min(query.limit, self.fits)})
        return Answer(metrics=wanted_series(self.points, most))


class World:
    def __init__(self, url: str, folder: Path) -> None:
        self.engine: Engine = open_engine(url)
        self.runs, self.objects = folder / "runs", FolderObjects(folder / "objects")
        self.clusters = Clusters()
        self.clusters.points = [ProgressPoint(step=3, at=NOW, metrics={"live": 1.0})]

    def job(self, cluster: str, *attempts_ended: bool) -> str:
        """A job with such attempts, with other metrics at each place where they could be looked for."""
        row = add_job(self.engine, cluster=cluster)
        with session(self.engine) as active:
            for number, ended in enumerate(attempts_ended, start=1):
                summary = AttemptSummary(number=number, token="a" * 32, started_at=NOW, ended_at=NOW if ended else None)
                attempts.record(active, active.get_one(JobRow, row.id), summary, 1)
        folder = self.runs.joinpath(*HERE, row.id, "run")
        folder.mkdir(parents=True)
        folder.joinpath("progress.jsonl").write_bytes(reported("here"))
        keep_progress(self.objects, progress_key(*HERE, row.id, 1), reported("kept"))
        return row.id

    async def series(self, job: str, query: MetricQuery = ALL) -> MetricsFound:
        reader = RoutedMetrics(self.engine, self.runs, self.objects, self.clusters, asyncio.get_running_loop())
        return await asyncio.to_thread(reader.series, *HERE, job, query)


@pytest.fixture
def world(sqlite_url: str, tmp_path: Path) -> Iterator[World]:
    upgrade(sqlite_url)
    made = World(sqlite_url, tmp_path)
    yield made
    made.engine.dispose()


def reported(metric: str) -> bytes:
    return json.dumps({"step": 7, "time": "2026-01-01T00:00:00Z", "metrics": {metric: 0.5}}).encode() + b"\n"


@pytest.mark.parametrize(
    ("cluster", "ended", "name"),
    [
        ("local", [False], "here"),
        ("local", [True], "here"),
        ("north", [], "kept"),
        ("north", [True], "kept"),
        ("north", [True, False], "live"),
    ],
)
async def test_a_cluster_is_asked_while_an_attempt_runs_there_and_only_then(
    world: World, cluster: str, ended: list[bool], name: str
) -> None:
    found = await world.series(world.job(cluster, *ended))
    assert [line.name for line in found.series] == [name]
    assert len(world.clusters.asked) == (name == "live")


async def test_a_job_that_is_not_there_has_reported_nothing(world: World) -> None:
    assert await world.series("0" * 26) == MetricsFound()


async def test_a_page_that_no_answer_holds_is_filled_by_several(world: World) -> None:
    names = [f"m{number:02d}" for number in range(30)]
    world.clusters.points = [ProgressPoint(step=1, at=NOW, metrics=dict.fromkeys(names, 1.0))]
    world.clusters.fits = 3
    job = world.job("north", False)
    some = await world.series(job, ALL.model_copy(update={"after": "m04", "limit": 10}))
    assert ([line.name for line in some.series], some.more) == (names[5:15], True)
    assert len(world.clusters.asked) == 4
    world.clusters.fits = 1
    many = await world.series(job)
    assert ([line.name for line in many.series], many.more) == (names[:MOST_QUESTIONS], True)


@pytest.mark.parametrize(
    ("failure", "code"), [(ClusterSilent(), "PD-2103"), (EngineAway(), "PD-2040"), (QuestionUnknown(), "PD-2103")]
)
async def test_a_worker_that_cannot_be_asked_is_named(world: World, failure: Exception, code: str) -> None:
    world.clusters.fails = failure
    with pytest.raises(PerdureError) as refused:
        await world.series(world.job("north", False))
    assert refused.value.code.code == code
