"""Jobs that name others to wait for: found when they are accepted, shown, and refused when they are not there."""

from typing import Any

import pytest

from definitions.ids import new_id
from definitions.states import FailureClass, Phase
from definitions.submission import JobSubmission
from store import followers
from store.engine import reading
from tests.api.world import World, document, schedule_document, template_document


def followed_by(world: World, job: str, tenant: str = "acme", project: str = "default") -> list[str]:
    with reading(world.engine) as active:
        return followers.of(active, tenant, project, job)


def found(world: World, job: str) -> list[tuple[str, str, Phase | None]]:
    """What the row of a job says that it waits for."""
    after = JobSubmission.model_validate(world.row(job).submission).after
    return [(one.job, one.outcome.value, one.phase) for one in after]


async def test_a_job_waits_for_the_newest_of_a_name_or_for_one_by_its_id(world: World) -> None:
    older = await world.submit("prepare")
    world.end(older["id"])
    newer = await world.submit("prepare")
    after = [{"job": "prepare"}, {"job": older["id"], "outcome": "finished"}]
    job = await world.submit("train", after=after)
    assert found(world, job["id"]) == [
        (newer["id"], "succeeded", None),
        (older["id"], "finished", Phase.SUCCEEDED),
    ]
    assert (followed_by(world, newer["id"]), followed_by(world, older["id"])) == ([job["id"]], [])
    assert job["spec"]["spec"]["after"] == [after[0] | {"outcome": "succeeded"}, after[1]]


async def test_what_it_waits_for_is_shown_with_the_job_and_with_the_plan(world: World) -> None:
    other = await world.submit("prepare")
    body = {"document": document("train", after=[{"job": "prepare", "outcome": "failed"}])}
    shown = [{"job": other["id"], "name": "prepare", "outcome": "failed"}]
    plan = await world.post("/v1/jobs?dryRun=true", body, status=200)
    assert plan["after"] == shown
    assert followed_by(world, other["id"]) == []
    job = await world.post("/v1/jobs", body)
    assert (await world.get("/v1/jobs/train"))["after"] == shown
    assert [entry["after"] for entry in (await world.get("/v1/jobs"))["items"]] == [[], []]
    why = await world.get("/v1/jobs/train/why")
    assert why["after"] == [shown[0] | {"phase": "Pending", "met": None}]
    assert "when the jobs before it have ended" in why["help"][0]
    world.end(other["id"], Phase.SUCCEEDED)
    await world.expect(204, "DELETE", f"/v1/jobs/{other['id']}")
    why = await world.get("/v1/jobs/train/why")
    assert why["after"] == [shown[0] | {"phase": "Succeeded", "met": False}]
    world.change(job["id"], attempt=1, phase=Phase.RUNNING)
    assert (await world.get("/v1/jobs/train/why"))["after"] == []


async def test_a_job_that_is_not_there_is_refused_with_the_name_that_was_meant(world: World) -> None:
    await world.submit("prepare-data")
    gone = await world.submit("gone")
    world.end(gone["id"])
    await world.expect(204, "DELETE", f"/v1/jobs/{gone['id']}")
    for name, remedy in (("prepare-dta", "Did you mean prepare-data?"), ("gone", None), (gone["id"], None)):
        body = {"document": document("train", after=[{"job": name}])}
        for path in ("/v1/jobs", "/v1/jobs?dryRun=true", "/v1/jobs:apply", "/v1/jobs:validate"):
            problem = await world.post(path, body, status=422)
            assert (problem["code"], problem["where"]) == ("PD-2190", "spec.after[0].job")
            assert remedy is None or problem["remedy"] == remedy
    two = [{"job": "nobody"}, {"job": "prepare-data"}, {"job": "no-one"}]
    problem = await world.post("/v1/jobs", {"document": document("train", after=two)}, status=422)
    assert [fault["where"] for fault in problem["errors"]] == ["spec.after[0].job", "spec.after[2].job"]


async def test_a_job_that_is_named_twice_is_refused(world: World) -> None:
    other = await world.submit("prepare")
    after = [{"job": "prepare"}, {"job": other["id"], "outcome": "failed"}]
    problem = await world.post("/v1/jobs", {"document": document("train", after=after)}, status=422)
    assert (problem["code"], problem["where"]) == ("PD-2191", "spec.after[1].job")


async def test_jobs_of_another_tenant_or_project_cannot_be_named(world: World) -> None:
    theirs = await world.submit("prepare", key=world.key("rival"))
    elsewhere = await world.submit("sort", query="?project=speech")
    for name in ("prepare", theirs["id"], "sort", elsewhere["id"]):
        problem = await world.post("/v1/jobs", {"document": document("train", after=[{"job": name}])}, status=422)
        assert problem["code"] == "PD-2190"
        assert "remedy" not in problem or "prepare" not in problem["remedy"]
    assert followed_by(world, theirs["id"], "rival") == followed_by(world, elsewhere["id"], "acme", "speech") == []


async def test_a_clone_waits_for_the_newest_of_the_name_again(world: World) -> None:
    first = await world.submit("prepare")
    job = await world.submit("train", after=[{"job": "prepare"}])
    for each in (first, job):
        world.end(each["id"])
    second = await world.submit("prepare")
    clone = await world.post(f"/v1/jobs/{job['id']}:clone", {})
    assert found(world, clone["id"]) == [(second["id"], "succeeded", None)]


async def test_applying_the_same_document_again_changes_nothing(world: World) -> None:
    await world.submit("prepare")
    body = {"document": document("train", after=[{"job": "prepare"}])}
    made = await world.post("/v1/jobs:apply", body)
    again = await world.post("/v1/jobs:apply", body, status=200)
    assert (again["outcome"], again["job"]["id"]) == ("unchanged", made["job"]["id"])


async def test_a_template_takes_the_job_to_wait_for_as_a_parameter(world: World) -> None:
    other = await world.submit("prepare")
    template = template_document()
    template["spec"]["parameters"].append({"name": "first", "type": "string", "required": True})
    template["spec"]["job"]["spec"]["after"] = [{"job": "${{ first }}"}]
    await world.post("/v1/templates", {"document": template})
    use: dict[str, Any] = {"template": {"name": "finetune", "values": {"first": "prepare"}}}
    job = await world.post("/v1/jobs", use)
    assert found(world, job["id"]) == [(other["id"], "succeeded", None)]
    use["template"]["values"]["first"] = new_id()
    assert (await world.post("/v1/jobs", use, status=422))["code"] == "PD-2190"


async def test_a_submit_names_further_jobs_beside_its_document_or_template(world: World) -> None:
    first, second = await world.submit("first"), await world.submit("second")
    beside = {"after": [{"job": "second", "outcome": "finished"}]}
    job = await world.post("/v1/jobs", {"document": document("train", after=[{"job": "first"}])} | beside)
    assert found(world, job["id"]) == [(first["id"], "succeeded", None), (second["id"], "finished", None)]
    await world.post("/v1/templates", {"document": template_document()})
    job = await world.post("/v1/jobs", {"template": {"name": "finetune"}} | beside)
    assert (found(world, job["id"]), job["template"]) == ([(second["id"], "finished", None)], "finetune@1")
    many = [{"job": "first"}] * 40
    problem = await world.post("/v1/jobs", {"document": document(after=many), "after": many}, status=422)
    assert (problem["code"], problem["where"]) == ("PD-2192", "after")


@pytest.mark.parametrize("there", [True, False])
async def test_the_job_of_a_schedule_waits_for_the_newest_of_its_time(world: World, there: bool) -> None:
    body = {"document": schedule_document(job=document("report", after=[{"job": "load"}]))}
    assert (await world.post("/v1/schedules", body, status=422))["code"] == "PD-2190"
    first = await world.submit("load")
    world.end(first["id"])
    await world.post("/v1/schedules", body)
    if not there:
        await world.expect(204, "DELETE", "/v1/jobs/load")
        assert (await world.post("/v1/schedules/nightly:trigger", status=422))["code"] == "PD-2190"
        return
    other = await world.submit("load")
    job = await world.post("/v1/schedules/nightly:trigger")
    assert found(world, job["id"]) == [(other["id"], "succeeded", None)]


async def test_how_the_other_failed_is_kept_when_it_had_ended_before(world: World) -> None:
    other = await world.submit("prepare")
    world.change(other["id"], failure=FailureClass.HANG)
    world.end(other["id"], Phase.FAILED)
    job = await world.submit("train", after=[{"job": "prepare"}])
    (one,) = JobSubmission.model_validate(world.row(job["id"]).submission).after
    assert (one.phase, one.failure) == (Phase.FAILED, FailureClass.HANG)
