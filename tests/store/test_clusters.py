"""Clusters and nodes: the installation's own, the same for every tenant, and what keeps one from being removed."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import Engine

from definitions.cluster import NodeView
from definitions.ids import is_id
from definitions.states import Phase
from store import clusters, jobs, system
from store.engine import reading, session, transaction
from store.errors import BadCursor
from store.tables import JobRow
from tests.store.builders import HERE, NOW, OTHERS, add_job

DOCUMENT = {"kind": "Cluster", "metadata": {"name": "north"}, "spec": {"namespace": "jobs"}}


def add(engine: Engine, *names: str) -> None:
    with session(engine) as active:
        for name in names:
            assert clusters.create(active, name, DOCUMENT, "ada", NOW) is not None


def node(name: str, **changes: object) -> NodeView:
    values = {"cluster": "north", "name": name, "ready": True, "schedulable": True, "seen_at": NOW}
    return NodeView.model_validate(values | changes)


def test_of_many_who_add_a_name_one_succeeds(engine: Engine) -> None:
    gate = threading.Barrier(8)

    def race(number: int) -> bool:
        gate.wait()
        who = f"admin-{number}"
        made = transaction(engine, lambda active: clusters.create(active, "north", DOCUMENT, who, NOW) is not None)
        return made

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(race, range(8))) == [False] * 7 + [True]


def test_another_document_is_a_new_generation_and_the_same_one_is_none(engine: Engine) -> None:
    add(engine, "north")
    later = NOW + timedelta(hours=1)
    for document, generation in ((DOCUMENT, 1), (DOCUMENT | {"spec": {"namespace": "other"}}, 2)):
        with session(engine) as active:
            row = clusters.get(active, "north", lock=True)
            assert row is not None
            clusters.replace(active, row, document, "grace", later)
            assert (row.generation, row.created_by) == (generation, "ada")
    assert row is not None
    assert (row.updated_by, row.updated_at) == ("grace", later)


def test_clusters_are_paged_by_name(engine: Engine) -> None:
    add(engine, "b", "a", "c")
    with reading(engine) as active:
        first = clusters.page(active, limit=2)
        rest = clusters.page(active, limit=2, after=first.next)
        assert clusters.names(active) == ["a", "b", "c"]
        with pytest.raises(BadCursor):
            clusters.page(active, limit=2, after="nonsense")
    assert ([row.name for row in first.items], [row.name for row in rest.items]) == (["a", "b"], ["c"])


def test_nodes_that_changed_are_written_and_those_that_are_gone_are_dropped(engine: Engine) -> None:
    add(engine, "north")
    with session(engine) as active:
        clusters.record_nodes(active, "north", [node("n1"), node("n2"), node("n3")], [])
    with session(engine) as active:
        clusters.record_nodes(active, "north", [node("n2", ready=False, reason="KubeletNotReady")], ["n1"])
        clusters.record_nodes(active, "south", [node("n9", cluster="south")], [])
    with reading(engine) as active:
        page = clusters.nodes(active, cluster="north", limit=1)
        rest = clusters.nodes(active, cluster="north", limit=5, after=page.next)
        assert [row.name for row in (*page.items, *rest.items)] == ["n2", "n3"]
        assert page.items[0].view["reason"] == "KubeletNotReady"
        assert [row.cluster for row in clusters.nodes(active, name="n9", limit=5).items] == ["south"]
        assert clusters.count_nodes(active) == {"north": 2, "south": 1}


def test_removing_a_cluster_takes_its_nodes_along(engine: Engine) -> None:
    add(engine, "north")
    with session(engine) as active:
        clusters.record_nodes(active, "north", [node("n1")], [])
        assert clusters.remove(active, "north")
        assert not clusters.remove(active, "north")
        assert clusters.nodes(active, limit=5).items == []


def test_the_workers_word_is_no_change_of_the_cluster(engine: Engine) -> None:
    add(engine, "north")
    with session(engine) as active:
        clusters.record_report(active, "north", {"version": "v1.34.4"})
        row = clusters.note_worker(active, "north", NOW)
        assert clusters.note_worker(active, "south", NOW) is None
    assert row is not None
    assert (row.generation, row.worker_seen_at, row.report) == (1, NOW, {"version": "v1.34.4"})


def test_jobs_of_all_tenants_on_a_cluster_are_counted(engine: Engine) -> None:
    rows = [add_job(engine, where=where, cluster="north") for where in (HERE, *OTHERS)]
    add_job(engine, "elsewhere")
    with session(engine) as active:
        ended = active.get_one(JobRow, rows[0].id)
        ended.phase, ended.ended_at, ended.live_name = Phase.SUCCEEDED, NOW, None
    with reading(engine) as active:
        assert clusters.jobs_there(active, "north") == clusters.JobsThere(active=2, kept=1)
        assert clusters.jobs_there(active, "south") == clusters.JobsThere(active=0, kept=0)
        there = system.active_jobs(active, "north", 10)
        assert {row.id for row in there} == {row.id for row in rows[1:]}


def test_a_list_of_jobs_can_be_of_one_cluster(engine: Engine) -> None:
    north = add_job(engine, "there", cluster="north")
    add_job(engine, "here")
    with reading(engine) as active:
        found = jobs.page(active, *HERE, jobs.JobFilter(cluster="north"), limit=10)
    assert [row.id for row in found.items] == [north.id]


def test_an_installation_has_one_id_whoever_asks_first(engine: Engine) -> None:
    gate = threading.Barrier(4)

    def ask(_number: int) -> str:
        gate.wait()
        return transaction(engine, lambda active: system.installation(active, NOW))

    with ThreadPoolExecutor(4) as pool:
        (found,) = set(pool.map(ask, range(4)))
    assert is_id(found)
    assert transaction(engine, lambda active: system.installation(active, NOW)) == found
