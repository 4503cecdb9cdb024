"""Accepting jobs where there are queues: every way in gives them a ticket, or says what would."""

from typing import Any

import pytest

from definitions.places import Ticket
from definitions.submission import JobSubmission
from tests.api.world import Json, World, document, queue_document, schedule_document, scheduling_document

BATCH = scheduling_document("PriorityClass", "batch", value=1, default=True)
QUEUES = (queue_document("all", quotas={"cpus": {"limit": 5}}), queue_document("research", parent="all", default=True))


async def apply(world: World, *documents: Json) -> None:
    await world.post("/v1/scheduling-documents:apply", {"documents": list(documents)}, 200)


def ticket(world: World, job: str) -> Ticket | None:
    return JobSubmission.model_validate(world.row(job).submission).ticket


async def test_a_job_of_before_the_first_queue_has_no_ticket_and_one_of_after_it_has(world: World) -> None:
    before = await world.submit("before")
    await apply(world, *QUEUES, BATCH)
    after = await world.submit("after", priority=7, resources={"cpus": 2}, queue="research")
    assert ticket(world, before["id"]) is None
    assert ticket(world, after["id"]) == Ticket(queue="research", priority=7, priority_class="batch")


async def test_an_apply_and_a_clone_find_the_queue_as_it_is_now(sqlite_world: World) -> None:
    world = sqlite_world
    job = await world.submit()
    world.end(job["id"])
    await apply(world, *QUEUES)
    clone = await world.post("/v1/jobs/digits:clone", {"overrides": {"spec": {"priority": 3}}})
    assert ticket(world, clone["id"]) == Ticket(queue="research", priority=3)
    applied = await world.post("/v1/jobs:apply", {"document": document("other")}, 201)
    assert ticket(world, applied["job"]["id"]) == Ticket(queue="research")


async def test_a_plan_names_the_queue_and_writes_nothing(sqlite_world: World) -> None:
    await apply(sqlite_world, *QUEUES, BATCH)
    body = {"document": document(priority=7)}
    plan = await sqlite_world.post("/v1/jobs?dryRun=true", body, 200)
    assert (plan["queue"], plan["priority"], plan["priorityClass"]) == ("research", 7, "batch")
    assert (await sqlite_world.get("/v1/jobs"))["items"] == []


async def test_a_plan_warns_when_no_node_of_today_could_hold_the_job(sqlite_world: World) -> None:
    pool = scheduling_document("NodePool", "training", simulated={"count": 2, "cpus": 4, "memory": "8Gi"})
    await apply(sqlite_world, *QUEUES[1:], queue_document("all"), pool)
    for cpus, nodes, says in ((4, 2, None), (5, 1, "it needs 5 processors"), (4, 3, "2 of its 3 nodes at once")):
        body = {"document": document(resources={"cpus": cpus}, queue="research", nodes=nodes)}
        warned = [
            line for line in (await sqlite_world.post("/v1/jobs?dryRun=true", body, 200))["warnings"] if "today" in line
        ]
        assert len(warned) == (0 if says is None else 1)
        assert says is None or says in warned[0]


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs:apply", "/v1/jobs?dryRun=true", "/v1/jobs:validate"])
async def test_more_than_a_limit_above_is_refused_on_every_way_in(world: World, path: str) -> None:
    await apply(world, *QUEUES)
    body = {"document": document(resources={"cpus": 6}, queue="research")}
    refused = await world.post(path, body, 422)
    assert (refused["code"], refused["where"], refused["exitCode"]) == ("PD-2125", "spec.resources.cpus", 5)
    assert "6 processors" in refused["detail"]
    assert "queue all, which is above research, may use at most 5 processors" in refused["detail"]


@pytest.mark.parametrize(
    ("spec", "code", "where"),
    [
        ({"queue": "reserch"}, "PD-2122", "spec.queue"),
        ({"priorityClass": "urgent"}, "PD-2123", "spec.priorityClass"),
    ],
)
async def test_a_schedule_is_held_to_the_queues_when_it_is_made(
    sqlite_world: World, spec: dict[str, Any], code: str, where: str
) -> None:
    await apply(sqlite_world, *QUEUES)
    body = {"document": schedule_document(job=document("nightly", **spec))}
    refused = await sqlite_world.post("/v1/schedules", body, 422)
    assert (refused["code"], refused["where"]) == (code, where)


@pytest.mark.parametrize("priority", [-1, 101, "high", None])
async def test_a_priority_that_is_none_is_refused_before_the_job_hears_of_it(
    sqlite_world: World, priority: Any
) -> None:
    await sqlite_world.submit()
    await sqlite_world.post("/v1/jobs/digits:reprioritise", {"priority": priority}, 422)
    assert sqlite_world.operator.asked == []
