"""Accepting jobs, planning them, and what neither may do."""

from typing import Any

import pytest

from definitions.principal import Role
from definitions.states import Phase
from tests.api.world import World, document, template_document

SUBMISSION = {
    "baseEnv": {"PATH": "/usr/bin"},
    "cwd": "/home/ada/digits",
    "git": {"commit": "4893416", "branch": "main", "dirty": True},
}


async def test_an_accepted_job_is_in_the_next_list_with_its_first_event(world: World) -> None:
    response = await world.ask("POST", "/v1/jobs", json={"document": document(nodes=2), "submission": SUBMISSION})
    job = response.json()
    assert response.status_code == 201, job
    assert response.headers["location"] == f"/v1/jobs/{job['id']}?project=default"
    assert response.headers["etag"] == '"1"'
    assert (job["phase"], job["ranks"], job["owner"], job["git"]["dirty"]) == ("Pending", 2, "admin-of-acme", True)
    assert job["links"]["workflow"].endswith(f"/workflows/job%2Facme%2F{job['id']}")
    listed = await world.get("/v1/jobs")
    assert [entry["id"] for entry in listed["items"]] == [job["id"]]
    assert listed["items"][0]["spec"] is None
    events = await world.get("/v1/jobs/digits/events")
    assert [(event["kind"], event["actor"]) for event in events["items"]] == [("accepted", "admin-of-acme")]
    assert world.operator.asked == []


async def test_yaml_is_taken_as_it_is_and_its_faults_have_places(sqlite_world: World) -> None:
    text = "apiVersion: perdure/v1\nkind: Job\nmetadata:\n  name: digits\nspec:\n  comand: [python]\n  nodes: two\n"
    headers = {"Content-Type": "application/yaml", "Perdure-Source": "job.yaml"}
    problem = await sqlite_world.expect(422, "POST", "/v1/jobs", content=text, headers=headers)
    places = [fault["where"] for fault in problem["errors"]]
    assert [place.split(" ")[0] for place in places] == ["job.yaml:6:3", "job.yaml:7:10"]
    assert "did you mean command?" in problem["errors"][0]["remedy"].lower()
    good = text.replace("comand", "command").replace("two", "2")
    job = await sqlite_world.expect(201, "POST", "/v1/jobs", content=good, headers=headers)
    assert job["nodes"] == 2


async def test_a_dry_run_shows_the_plan_and_writes_nothing_at_all(world: World) -> None:
    await world.submit("other")
    body = {
        "document": document(nodes=2, env={"LR": "0.1"}, retry={"limit": 5, "rules": {"hang": 1}}),
        "submission": SUBMISSION,
    }
    plan = await world.post("/v1/jobs?dryRun=true", body, status=200, headers={"Idempotency-Key": "k1"})
    assert (plan["name"], plan["ranks"], plan["env"], plan["timeout"]) == ("digits", 2, ["LR"], "1h")
    assert plan["retry"]["byClass"]["hang"] == 1
    assert plan["retry"]["byClass"]["user-error"] == 0
    assert plan["document"]["spec"]["gracePeriod"] == "30s"
    for route in ("validate", "render", "diff"):
        await world.post(f"/v1/jobs:{route}", body, status=200)
    unused = world.key(role=Role.MEMBER)
    before = world.dump()
    await world.post("/v1/jobs?dryRun=true", body, status=200, key=unused)
    assert world.dump() == before


async def test_a_live_name_is_taken_and_free_again_after_the_end(world: World) -> None:
    job = await world.submit()
    problem = await world.post("/v1/jobs", {"document": document()}, status=409)
    assert (problem["code"], problem["data"]["holder"]) == ("PD-3707", job["id"])
    world.end(job["id"])
    again = await world.submit()
    assert (await world.get("/v1/jobs/digits"))["id"] == again["id"]
    assert (await world.get(f"/v1/jobs/{job['id']}"))["phase"] == "Succeeded"


@pytest.mark.parametrize(
    ("spec", "code", "where"),
    [
        ({"env": {"HUB": {"secret": "hub-token"}}}, "PD-3722", "spec.env.HUB"),
        ({"secretFiles": [{"secret": "cloud", "path": "c.json"}]}, "PD-3722", "spec.secretFiles[0]"),
        ({"workdir": {"mode": "snapshot"}}, "PD-2031", "spec.workdir.snapshot"),
        ({"workdir": {"mode": "live"}}, "PD-2031", "spec.workdir.path"),
        ({"workdir": {"mode": "snapshot", "snapshot": "0f" * 32}}, "PD-3705", None),
        ({"checkpoints": {"from": {"job": "gone", "step": 3}}}, "PD-2017", "spec.checkpoints.from"),
        ({"queue": "research"}, "PD-2120", "spec.queue"),
    ],
)
async def test_what_a_job_names_must_be_there(
    sqlite_world: World, spec: dict[str, Any], code: str, where: str | None
) -> None:
    problem = await sqlite_world.ask("POST", "/v1/jobs", json={"document": document(**spec)})
    assert problem.json()["code"] == code, problem.text
    assert problem.json().get("where") == where
    assert (await sqlite_world.get("/v1/jobs"))["items"] == []


async def test_every_missing_secret_is_named_at_once(sqlite_world: World) -> None:
    env = {"A": {"secret": "one"}, "B": {"secret": "two"}}
    problem = await sqlite_world.post("/v1/jobs", {"document": document(env=env)}, status=422)
    assert [fault["where"] for fault in problem["errors"]] == ["spec.env.A", "spec.env.B"]
    await sqlite_world.post("/v1/secrets", {"name": "one", "value": "s3cr3t"})
    await sqlite_world.post("/v1/secrets", {"name": "two", "value": "s3cr3t"})
    await sqlite_world.submit(env=env)


@pytest.mark.parametrize("field", ["id", "phase", "tenant", "owner", "attempt", "generation", "createdAt", "seed"])
async def test_fields_that_only_the_platform_sets_are_refused_by_name(sqlite_world: World, field: str) -> None:
    """At the top, in the submission, and inside the document."""
    for body in (
        {"document": document(), field: "x"},
        {"document": document(), "submission": {field: "x"}},
        {"document": document() | {field: "x"}},
        {"document": document(**{field: "x"})},
    ):
        problem = await sqlite_world.post("/v1/jobs", body, status=422)
        faults = problem.get("errors") or [problem]
        assert any(fault["where"].endswith(field) for fault in faults), problem


async def test_apply_knows_created_unchanged_and_conflict_with_the_fields(world: World) -> None:
    created = await world.post("/v1/jobs:apply", {"document": document(nodes=2)})
    same = await world.post("/v1/jobs:apply", {"document": document(nodes=2)}, status=200)
    assert (created["outcome"], same["outcome"]) == ("created", "unchanged")
    assert same["job"]["id"] == created["job"]["id"]
    problem = await world.post("/v1/jobs:apply", {"document": document(nodes=3)}, status=409)
    assert problem["code"] == "PD-2012"
    assert problem["data"]["changes"] == [{"path": "spec.nodes", "before": 2, "after": 3}]
    diff = await world.post("/v1/jobs:diff", {"document": document(nodes=3)}, status=200)
    assert (diff["job"], diff["live"], len(diff["changes"])) == (created["job"]["id"], True, 1)
    world.end(created["job"]["id"], Phase.FAILED)
    renewed = await world.post("/v1/jobs:apply", {"document": document(nodes=3)})
    assert renewed["changes"] == [{"path": "spec.nodes", "before": 2, "after": 3}]
    assert renewed["job"]["id"] != created["job"]["id"]


async def test_a_clone_keeps_document_and_submission_and_can_begin_at_a_checkpoint(world: World) -> None:
    body = {"document": document(retry={"limit": 5}), "submission": SUBMISSION}
    job = await world.post("/v1/jobs", body)
    world.checkpoint(job["id"], 100)
    world.checkpoint(job["id"], 120, complete=False)
    copy = await world.post(
        f"/v1/jobs/{job['id']}:clone", {"name": "again", "overrides": {"spec": {"timeout": "2h"}}, "fromStep": 100}
    )
    assert (copy["clonedFrom"], copy["name"], copy["git"]) == (job["id"], "again", job["git"])
    assert copy["spec"]["spec"]["timeout"] == "2h"
    assert copy["spec"]["spec"]["retry"]["limit"] == 5
    stored = world.row(copy["id"]).submission
    assert stored["base_env"] == {"PATH": "/usr/bin"}
    assert (stored["seed_checkpoint"]["job"], stored["seed_checkpoint"]["step"]) == (job["id"], 100)
    for step in (120, 7):
        problem = await world.post(f"/v1/jobs/{job['id']}:clone", {"name": "third", "fromStep": step}, status=409)
        assert problem["code"] == "PD-2017"
    elsewhere = {"name": "third", "overrides": {"spec": {"cluster": "north"}}, "fromStep": 100}
    problem = await world.post(f"/v1/jobs/{job['id']}:clone", elsewhere, status=409)
    assert problem["code"] == "PD-2108"
    taken = await world.post(f"/v1/jobs/{job['id']}:clone", status=409)
    assert taken["code"] == "PD-3707"


async def test_a_document_and_a_request_that_name_two_projects_are_refused(sqlite_world: World) -> None:
    body = {"document": document(project="vision")}
    job = await sqlite_world.post("/v1/jobs", body)
    assert job["project"] == "vision"
    problem = await sqlite_world.post("/v1/jobs?project=speech", body, status=422)
    assert problem["where"] == "metadata.project"
    assert (await sqlite_world.get("/v1/jobs?project=vision"))["items"][0]["id"] == job["id"]


async def test_a_template_makes_jobs_that_are_counted(world: World) -> None:
    await world.post("/v1/templates", {"document": template_document()})
    job = await world.post("/v1/jobs", {"template": {"name": "finetune", "values": {"epochs": 7}}, "name": "mine"})
    assert (job["template"], job["name"]) == ("finetune@1", "mine")
    assert job["spec"]["spec"]["command"][-1] == "7"
    assert (await world.get("/v1/templates/finetune"))["jobs"] == 1
    problem = await world.post("/v1/jobs", {"template": {"name": "finetune", "values": {"epoch": 7}}}, status=422)
    assert problem["where"] == "parameters.epoch"
