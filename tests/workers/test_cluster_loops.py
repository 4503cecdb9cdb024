"""What a cluster's worker does beside its activities: it says that it is there, and tells of nodes that change."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from activities.ports import PortError
from definitions.cluster import NodeView
from definitions.errors import PerdureError
from store import clusters
from store.engine import reading, session
from tests.support.polling import eventually_async
from tests.support.scripted_cluster import NOW, ScriptedCluster
from workers import cluster_loops
from workers.cluster_loops import Heartbeat, NodeReporter, find_cluster


@pytest.fixture
def engine(engine: Engine) -> Engine:
    """It knows one cluster."""
    with session(engine) as active:
        clusters.create(active, "north", {"kind": "Cluster"}, "ada", NOW)
    return engine


def node(name: str, **changes: Any) -> NodeView:
    values = {"cluster": "north", "name": name, "ready": True, "schedulable": True, "seen_at": NOW}
    return NodeView.model_validate(values | changes)


def written(engine: Engine) -> dict[str, dict[str, Any]]:
    with reading(engine) as active:
        return {row.name: row.view for row in clusters.nodes(active, cluster="north", limit=50).items}


def test_a_worker_serves_only_a_cluster_that_was_added(engine: Engine) -> None:
    assert find_cluster(engine, "north").name == "north"
    with pytest.raises(PerdureError, match="no cluster 'south'") as refused:
        find_cluster(engine, "south")
    assert refused.value.code.code == "PD-2101"


async def test_it_says_that_it_is_there_and_notices_a_changed_description(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_loops, "HEARTBEAT", timedelta(milliseconds=10))
    stop, changed = asyncio.Event(), asyncio.Event()
    beating = asyncio.create_task(Heartbeat(engine, find_cluster(engine, "north"), changed.set).run(stop))
    await eventually_async(lambda: find_cluster(engine, "north").worker_seen_at is not None)
    assert not changed.is_set()
    with session(engine) as active:
        row = clusters.get(active, "north", lock=True)
        assert row is not None
        clusters.replace(active, row, {"kind": "Cluster", "spec": {}}, "ada", NOW)
    await asyncio.wait_for(changed.wait(), 10)
    stop.set()
    await beating


async def test_it_ends_when_its_cluster_is_removed_or_is_another_one_of_that_name(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_loops, "HEARTBEAT", timedelta(milliseconds=10))
    row = find_cluster(engine, "north")
    with session(engine) as active:
        clusters.remove(active, "north")
    with pytest.raises(PerdureError, match="was removed"):
        await Heartbeat(engine, row, lambda: None).run(asyncio.Event())
    with session(engine) as active:
        clusters.create(active, "north", {"kind": "Cluster"}, "ada", NOW + timedelta(days=1))
    changed, stop = asyncio.Event(), asyncio.Event()
    beating = asyncio.create_task(Heartbeat(engine, row, changed.set).run(stop))
    await asyncio.wait_for(changed.wait(), 10)
    stop.set()
    await beating


def test_nodes_are_written_when_they_change_and_only_then(engine: Engine) -> None:
    cluster = ScriptedCluster(nodes_seen=(node("n1"), node("n2")))
    reporter = NodeReporter(engine, cluster, "north")
    assert reporter.report() == 2
    cluster.nodes_seen = (node("n1", seen_at=NOW + timedelta(hours=1)), node("n2"))
    assert reporter.report() == 0  # the time alone is no news
    cluster.nodes_seen = (node("n1", ready=False), node("n3"))
    assert reporter.report() == 3
    assert {name: view["ready"] for name, view in written(engine).items()} == {"n1": False, "n3": True}


def test_a_new_worker_writes_anew_and_drops_what_went_meanwhile(engine: Engine) -> None:
    NodeReporter(engine, ScriptedCluster(nodes_seen=(node("gone"), node("n1"))), "north").report()
    NodeReporter(engine, ScriptedCluster(nodes_seen=(node("n1", gpus=8),)), "north").report()
    assert {name: view["gpus"] for name, view in written(engine).items()} == {"n1": 8}


async def test_a_cluster_that_is_away_takes_no_nodes_with_it_and_is_told_of_once(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(cluster_loops, "LOOK_PAUSE", 0.01)
    cluster = ScriptedCluster(nodes_seen=(node("n1"),))
    reporter = NodeReporter(engine, cluster, "north")
    reporter.report()
    cluster.fails = PortError("the API server is away", code="PD-3105")
    stop = asyncio.Event()
    reporting = asyncio.create_task(reporter.run(stop))
    await eventually_async(lambda: "API server is away" in caplog.text)
    await eventually_async(lambda: cluster.looks > 4)
    stop.set()
    await reporting
    assert set(written(engine)) == {"n1"}
    assert caplog.text.count("nodes cannot be reported") == 1
