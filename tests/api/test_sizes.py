"""Jobs of several sizes over HTTP: what they are asked, how large they are, and what they hold while they change."""

from typing import Any

import pytest

from definitions.job import Job
from definitions.states import Phase
from policies.scheduling.asking import shape_of
from store.verdicts import GoesOn, Told, Verdict
from tests.api.world import World, document
from tests.support.waiting_world import GPU, PATHS, add_documents, decide, gang, given, places, wait

WIDE: dict[str, Any] = {"nodes": 2, "elastic": {"minNodes": 1, "maxNodes": 4}, "queue": "research"}


def wide_shape() -> str:
    spec = {"command": ["true"], **WIDE, "resources": {"gpus": 8, "gpuType": "H100"}}
    data = {"apiVersion": "perdure/v1", "kind": "Job", "metadata": {"name": "wide"}, "spec": spec}
    return shape_of(Job.model_validate(data).spec)


async def growing(world: World) -> str:
    """A job on one node that goes on with three."""
    add_documents(world.engine, world.clock.now())
    job: str = (await world.submit("wide", **WIDE, resources={"gpus": 8, "gpuType": "H100"}))["id"]
    now = world.clock.now()
    wait(world.engine, job, wide_shape(), now)
    decide(world.engine, Verdict(given=(given(world.engine, job, places(0, 1)),), paths=PATHS), now)
    row = gang(world.engine, job)
    goes_on = GoesOn(places(0, 3), {"gpu": 24 * GPU, "gpu/H100": 24 * GPU})
    said = Told(job, row.version, row.attempt, None, "grows from 1 to 3 nodes", goes_on=goes_on)
    record = {"grown": [{"job": job, "before": 1, "after": 3}]}
    done = decide(world.engine, Verdict(told=(said,), paths=PATHS, document=record), now)
    assert done.dropped == frozenset()
    return job


async def test_what_a_growing_job_will_have_is_not_free(world: World) -> None:
    await growing(world)
    found = await world.get("/v1/capacity")
    assert [node["gpusFree"] for node in found["items"]] == [0, 0, 0, 8]


async def test_a_decision_says_who_grows_and_from_what_to_what(sqlite_world: World) -> None:
    job = await growing(sqlite_world)
    decision = await sqlite_world.get("/v1/decisions/local/2")
    assert decision["gangsDisplaced"] == []
    (grown,) = decision["gangsGrown"]
    assert (grown["job"], grown["name"], grown["before"], grown["after"]) == (job, "wide", 1, 3)
    theirs = await sqlite_world.get("/v1/decisions/local/2", key=sqlite_world.key("rival"))
    assert (theirs["gangsGrown"][0]["name"], theirs["gangsGrown"][0]["after"]) == (None, 3)


async def test_a_job_shows_the_size_that_it_has_and_the_one_that_is_asked_for(sqlite_world: World) -> None:
    wide = await sqlite_world.submit("wide", nodes=2, elastic={"minNodes": 1, "maxNodes": 4})
    assert (wide["nodes"], wide["askedNodes"]) == (2, 2)
    plain = await sqlite_world.submit("plain", nodes=2)
    assert (plain["nodes"], plain["askedNodes"]) == (2, None)


@pytest.mark.parametrize(("body", "where"), [({}, "body.nodes"), ({"nodes": 0}, "body.nodes")])
async def test_a_resize_says_to_how_many_nodes(sqlite_world: World, body: dict[str, Any], where: str) -> None:
    await sqlite_world.submit("wide", nodes=2, elastic={"minNodes": 1, "maxNodes": 4})
    problem = await sqlite_world.post("/v1/jobs/wide:resize", body, 422)
    assert problem["where"] == where


async def test_a_job_that_could_start_small_is_accepted_and_one_that_never_could_is_not(sqlite_world: World) -> None:
    """Queue research may use 24 GPUs: three nodes."""
    add_documents(sqlite_world.engine, sqlite_world.clock.now())
    asks: dict[str, Any] = {"queue": "research", "nodes": 4, "resources": {"gpus": 8, "gpuType": "H100"}}
    job = await sqlite_world.submit("fits", **asks, elastic={"minNodes": 3, "maxNodes": 4})
    assert job["phase"] == Phase.PENDING
    large = document("large", **asks, elastic={"minNodes": 4, "maxNodes": 4})
    problem = await sqlite_world.post("/v1/jobs", {"document": large}, 422)
    assert problem["code"] == "PD-2125"
