"""Arrays as people see them: one job that stands for many."""

from datetime import timedelta
from typing import Any

import pytest

from definitions.states import FailureClass, Phase
from policies.array_children import child_id
from tests.api.world import World, document, schedule_document, template_document
from tests.support.array_rows import make_jobs

ARRAY = {"first": 0, "last": 8, "step": 2, "limit": 3}
SHOWN = {"first": 0, "last": 8, "step": 2, "limit": 3, "count": 5}


async def swept(world: World) -> str:
    """An array whose first three jobs were made."""
    job = await world.submit("sweep", array=ARRAY)
    make_jobs(world.engine, job["id"], 3, world.clock.now())
    identity: str = job["id"]
    return identity


async def names(world: World, query: str) -> list[str]:
    return [item["name"] for item in (await world.get(f"/v1/jobs{query}"))["items"]]


async def test_an_array_is_shown_with_where_its_jobs_are_and_stands_for_them_in_lists(world: World) -> None:
    job = await swept(world)
    world.change(child_id(job, 0), phase=Phase.RUNNING)
    world.end(child_id(job, 2), Phase.FAILED)
    seen = await world.get(f"/v1/jobs/{job}")
    assert seen["array"] == SHOWN | {"jobs": {"Pending": 1, "Running": 1, "Failed": 1}, "left": 2, "failed": [2]}
    assert (seen["parent"], seen["arrayIndex"], seen["spec"]["spec"]["array"]) == (None, None, ARRAY)
    [listed] = (await world.get("/v1/jobs"))["items"]
    assert listed["array"] == seen["array"] | {"failed": []}
    child = await world.get("/v1/jobs/sweep-4")
    assert (child["parent"], child["arrayIndex"], child["array"]) == (job, 4, None)
    waited = await world.get(f"/v1/jobs/{job}/wait?timeout=0")
    assert waited["array"] == seen["array"]


async def test_jobs_of_arrays_are_listed_when_they_are_asked_for(world: World) -> None:
    await swept(world)
    await world.submit("alone")
    assert await names(world, "") == ["alone", "sweep"]
    assert set(await names(world, "?children=true")) == {"alone", "sweep", "sweep-0", "sweep-2", "sweep-4"}
    assert set(await names(world, "?array=sweep")) == {"sweep-0", "sweep-2", "sweep-4"}
    assert await names(world, "?name=sweep-2") == ["sweep-2"]
    assert await names(world, "/sweep/children") == ["sweep-0", "sweep-2", "sweep-4"]
    page = await world.get("/v1/jobs/sweep/children?limit=2")
    assert [item["arrayIndex"] for item in page["items"]] == [0, 2]
    rest = await world.get(f"/v1/jobs/sweep/children?limit=2&cursor={page['next']}")
    assert ([item["arrayIndex"] for item in rest["items"]], rest["next"]) == ([4], None)
    assert await names(world, "/sweep/children?phase=Failed") == []


@pytest.mark.parametrize("path", ["/v1/jobs/alone/children", "/v1/jobs?array=alone"])
async def test_a_job_that_is_no_array_has_no_jobs(world: World, path: str) -> None:
    await world.submit("alone")
    problem = await world.expect(422, "GET", path)
    assert problem["code"] == "PD-2204"


@pytest.mark.parametrize("path", ["logs", "logs/stream", "objects"])
async def test_what_only_a_process_has_is_asked_of_one_job(world: World, path: str) -> None:
    await swept(world)
    problem = await world.expect(409, "GET", f"/v1/jobs/sweep/{path}")
    assert problem["code"] == "PD-2203"
    assert "sweep-0" in problem["remedy"]


async def test_another_tenant_sees_nothing_of_an_array(world: World) -> None:
    job = await swept(world)
    rival = world.key("rival")
    for path in (f"/v1/jobs/{job}/children", f"/v1/jobs?array={job}", f"/v1/jobs/{child_id(job, 0)}"):
        assert (await world.expect(404, "GET", path, key=rival))["code"] == "PD-2004"
    await world.submit("sweep-2", key=rival)
    with_theirs = await world.get("/v1/jobs?children=true", key=rival)
    assert [item["parent"] for item in with_theirs["items"]] == [None]


async def test_the_plan_says_how_many_jobs_there_would_be_and_writes_none(world: World) -> None:
    plan = await world.post("/v1/jobs?dryRun=true", {"document": document(array=ARRAY)}, status=200)
    assert plan["array"] == SHOWN | {"jobs": {}, "left": 5, "failed": []}
    many = await world.post("/v1/jobs?dryRun=true", {"document": document(array={"last": 4999})}, status=200)
    assert many["array"]["limit"] == 1000
    assert any("1000 of its jobs start at once" in warning for warning in many["warnings"])
    assert await names(world, "?children=true") == []


async def test_names_that_would_clash_are_refused_when_the_array_is_submitted(world: World) -> None:
    await world.submit("sweep-4")
    problem = await world.post("/v1/jobs", {"document": document("sweep", array=ARRAY)}, status=409)
    assert (problem["code"], problem["where"]) == ("PD-2201", "metadata.name")
    await world.post("/v1/jobs", {"document": document("other", array=ARRAY)})
    problem = await world.post("/v1/jobs", {"document": document("other-8")}, status=409)
    assert problem["code"] == "PD-2202"


async def test_an_array_that_failed_says_where_to_look(world: World) -> None:
    job = await swept(world)
    reason = "1 of 5 failed: 2"
    world.change(job, phase=Phase.FAILED, reason=reason, failure=FailureClass.USER_ERROR, ended_at=world.clock.now())
    why = await world.get("/v1/jobs/sweep/why")
    assert (why["reason"], why["failure"]) == (reason, "user-error")
    assert why["help"] == ["Look at the jobs that failed: perdure jobs children sweep --phase Failed"]


async def test_a_deleted_array_takes_its_jobs_along(world: World) -> None:
    job = await swept(world)
    for index in (0, 2, 4):
        world.end(child_id(job, index))
    assert (await world.expect(409, "DELETE", f"/v1/jobs/{job}"))["code"] == "PD-2016"
    world.end(job)
    await world.expect(204, "DELETE", f"/v1/jobs/{job}")
    assert await names(world, "?children=true") == []
    await world.expect(404, "GET", f"/v1/jobs/{child_id(job, 2)}")


async def test_a_template_and_a_schedule_may_make_arrays(world: World) -> None:
    template: dict[str, Any] = template_document()
    template["spec"]["job"]["spec"]["array"] = ARRAY
    await world.post("/v1/templates", {"document": template})
    made = await world.post("/v1/jobs", {"template": {"name": template["metadata"]["name"], "values": {}}, "name": "t"})
    assert made["array"]["count"] == 5
    schedule: dict[str, Any] = schedule_document()
    schedule["spec"]["job"]["spec"]["array"] = ARRAY
    await world.post("/v1/schedules", {"document": schedule})


async def test_a_clone_of_one_job_keeps_its_index_and_a_clone_of_the_array_is_an_array(world: World) -> None:
    job = await swept(world)
    one = await world.post("/v1/jobs/sweep-2:clone", {"name": "again"})
    place = world.row(one["id"]).submission["array"]
    assert (place["index"], place["job"], one["parent"]) == (2, job, None)
    other = await world.post("/v1/jobs/sweep:clone", {"name": "second"})
    assert (other["array"]["count"], world.row(other["id"]).submission["array"]) == (5, None)


async def test_an_array_is_not_counted_beside_its_jobs(world: World) -> None:
    job = await swept(world)
    began = world.clock.now() + timedelta(seconds=4)
    for one in (job, child_id(job, 0)):
        world.change(one, phase=Phase.RUNNING, started_at=began)
    text = (await world.ask("GET", "/metrics")).text
    for line in (
        'perdure_jobs{failure="",phase="Pending",project="default",tenant="acme"} 2.0',
        'perdure_jobs{failure="",phase="Running",project="default",tenant="acme"} 1.0',
        'perdure_job_queue_seconds_count{project="default",tenant="acme"} 1.0',
    ):
        assert line in text, line
