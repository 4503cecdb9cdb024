"""Clusters and nodes over HTTP: everybody looks, the installation's admins change, and workers' words are passed on."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from api.ports import ClusterSilent, EngineAway, NoAnswerYet, NodeBusy
from definitions.cluster import ClusterReport, Finding, NodeTaint, NodeView, TakenByOthers
from definitions.cluster_calls import Answer, NodeVerb, ObjectChange, RenderAsk
from definitions.errors import PerdureError
from definitions.principal import Role
from store import clusters
from store.engine import session
from tests.api.world import World, cluster_document, document, schedule_document, template_document

NODE = "/v1/clusters/north/nodes/gpu-7"


async def add(world: World, name: str = "north", **spec: Any) -> dict[str, Any]:
    return await world.post("/v1/clusters", {"document": cluster_document(name, **spec)})


def see(world: World, name: str = "gpu-7", cluster: str = "north", **changes: Any) -> None:
    """Write a node down as its cluster's worker would."""
    now = world.clock.now()
    values = {"cluster": cluster, "name": name, "ready": True, "schedulable": True, "seen_at": now, "gpus": 8}
    with session(world.engine) as active:
        clusters.record_nodes(active, cluster, [NodeView.model_validate(values | changes)], [])
        clusters.note_worker(active, cluster, now)


async def test_an_added_cluster_is_shown_with_what_was_left_out_filled_in(world: World) -> None:
    added = await add(world, description="The racks in hall 2.", namespace="jobs")
    assert (added["createdBy"], added["generation"], added["worker"]) == ("admin-of-acme", 1, "never seen")
    shown = await world.get("/v1/clusters/north")
    assert shown["document"]["spec"]["agentImage"] == "perdure:latest"
    assert (shown["namespace"], shown["description"]) == ("jobs", "The racks in hall 2.")


async def test_yaml_is_read_as_strictly_as_that_of_jobs(world: World) -> None:
    text = "apiVersion: perdure/v1\nkind: Cluster\nmetadata: {name: north}\nspec:\n  namspace: x\n"
    headers = {"Content-Type": "application/yaml", "Perdure-Source": "north.yaml"}
    refused = await world.ask("POST", "/v1/clusters", content=text, headers=headers)
    assert refused.status_code == 422
    assert "north.yaml:5:3" in refused.text
    assert "namespace" in refused.text


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (cluster_document("local"), "PD-1107"),
        (cluster_document(objectsUrl="ftp://x"), "PD-1112"),
        (cluster_document(pods={"labels": {"perdure.dev/job": "x"}}), "PD-1112"),
        (cluster_document(pods={"runAsUser": 0}), "PD-1106"),
        (cluster_document(networks={"token-ring": {}}), "PD-1105"),
        ({"kind": "Secret"}, "PD-1102"),
    ],
)
async def test_what_no_cluster_can_be_is_refused(sqlite_world: World, document: dict[str, Any], code: str) -> None:
    refused = await sqlite_world.expect(422, "POST", "/v1/clusters", json={"document": document})
    assert code in {refused["code"], *(each["code"] for each in refused["errors"])}


async def test_adding_the_same_again_changes_nothing_and_another_is_a_conflict(world: World) -> None:
    await add(world)
    same = await world.post("/v1/clusters", {"document": cluster_document()}, 200)
    assert same["generation"] == 1
    other = await world.post("/v1/clusters", {"document": cluster_document(namespace="other")}, 409)
    assert other["code"] == "PD-2100"


async def test_a_dry_run_adds_nothing(world: World) -> None:
    before = world.dump()
    planned = await world.post("/v1/clusters?dryRun=true", {"document": cluster_document()}, 200)
    assert planned["document"]["spec"]["namespace"] == "perdure-jobs"
    assert world.dump()["clusters"] == before["clusters"] == []


async def test_a_replaced_description_has_a_new_etag_and_the_old_one_is_refused(world: World) -> None:
    await add(world)
    body = {"document": cluster_document(namespace="other")}
    replaced = await world.ask("PUT", "/v1/clusters/north", json=body, headers={"If-Match": '"1"'})
    assert (replaced.status_code, replaced.headers["ETag"]) == (200, '"2"')
    refused = await world.ask(
        "PUT", "/v1/clusters/north", json={"document": cluster_document()}, headers={"If-Match": '"1"'}
    )
    assert (refused.status_code, refused.json()["code"]) == (412, "PD-2007")
    unchanged = await world.ask("GET", "/v1/clusters/north", headers={"If-None-Match": '"2"'})
    assert unchanged.status_code == 304
    mixed = await world.expect(422, "PUT", "/v1/clusters/south", json=body)
    assert mixed["where"] == "metadata.name"


async def test_everybody_may_look_and_only_the_installations_admins_change(world: World) -> None:
    await add(world)
    see(world)
    members = (
        world.key(role=Role.MEMBER),
        world.key(role=Role.VIEWER),
        world.key("rival"),
        world.key(projects=("vision",)),
    )
    for key in members:
        assert [each["name"] for each in (await world.get("/v1/clusters", key=key))["items"]] == ["north"]
        assert (await world.get(NODE, key=key))["gpus"] == 8
        for method, path, body in (
            ("POST", "/v1/clusters", {"document": cluster_document("south")}),
            ("PUT", "/v1/clusters/north", {"document": cluster_document()}),
            ("DELETE", "/v1/clusters/north", None),
            ("POST", "/v1/clusters/north:check", None),
            ("POST", f"{NODE}:drain", {"reason": "x"}),
        ):
            refused = await world.expect(403, method, path, key=key, json=body)
            assert refused["code"] == "PD-2002"
            assert "tenant acme" in refused["detail"]
    assert world.clusters.ordered == []


async def test_a_cluster_is_not_removed_while_jobs_of_anybody_run_there(world: World) -> None:
    await add(world)
    job = (await world.submit(key=world.key("rival")))["id"]
    world.change(job, cluster="north")
    refused = await world.expect(409, "DELETE", "/v1/clusters/north")
    assert (refused["code"], refused["data"]) == ("PD-2102", {"jobs": 1})
    world.end(job)
    removed = await world.expect(200, "DELETE", "/v1/clusters/north")
    assert removed == {"name": "north", "keptJobs": 1}
    assert (await world.expect(404, "GET", "/v1/clusters/north"))["code"] == "PD-2004"


async def test_only_the_callers_own_jobs_are_counted(world: World) -> None:
    await add(world)
    for key in (world.key(), world.key("rival")):
        world.change((await world.submit(key=key))["id"], cluster="north")
    assert (await world.get("/v1/clusters/north"))["jobs"] == 1


async def test_a_check_is_answered_and_kept(world: World) -> None:
    await add(world)
    at = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
    bad = Finding(what="image", ok=False, detail="no agent image", fix="name one")
    report = ClusterReport(
        cluster="north", at=at, version="v1.34.4", findings=(bad,), gpus=8, nodes=1, rbac="kind: Role\n"
    )
    world.clusters.answers["check"] = Answer(report=report)
    found = await world.post("/v1/clusters/north:check", status=200)
    assert (found["ok"], found["findings"][0]["fix"], found["rbac"]) == (False, "name one", "kind: Role\n")
    assert (await world.get("/v1/clusters/north"))["check"] == found
    in_list = (await world.get("/v1/clusters"))["items"][0]["check"]
    assert (in_list["ok"], in_list["findings"]) == (False, [])


@pytest.mark.parametrize(
    ("failure", "status", "code"),
    [
        (ClusterSilent(), 503, "PD-2103"),
        (EngineAway(), 503, "PD-2040"),
        (PerdureError("PD-3000", "the API server is away"), 500, "PD-3000"),
    ],
)
async def test_a_check_that_cannot_be_made_says_why(
    sqlite_world: World, failure: Exception, status: int, code: str
) -> None:
    await add(sqlite_world)
    sqlite_world.clusters.fails = failure
    answer = await sqlite_world.ask("POST", "/v1/clusters/north:check")
    assert answer.json()["code"] == code
    assert status in (answer.status_code, 500)


async def test_nodes_are_listed_by_cluster_and_name_and_shown_whole_one_by_one(world: World) -> None:
    for name in ("south", "north"):
        await add(world, name)
    taint = NodeTaint(key="nvidia.com/gpu", value="present")
    see(
        world,
        labels={"zone": "hall-2"},
        taints=(taint,),
        cpu_millis=63500,
        cordon_reason="fan (ada)",
        schedulable=False,
        others=TakenByOthers(pods=2, cpu_millis=250, memory=1024),
    )
    see(world, "gpu-8")
    see(world, "gpu-7", "south")
    page = await world.get("/v1/nodes?limit=2")
    assert [(each["cluster"], each["name"]) for each in page["items"]] == [("north", "gpu-7"), ("north", "gpu-8")]
    assert page["items"][0]["labels"] == {}
    rest = await world.get(f"/v1/nodes?cursor={page['next']}")
    assert [(each["cluster"], each["name"]) for each in rest["items"]] == [("south", "gpu-7")]
    assert len((await world.get("/v1/nodes?cluster=south"))["items"]) == 1
    assert len((await world.get("/v1/nodes?name=gpu-7"))["items"]) == 2
    shown = await world.get(NODE)
    assert (shown["cpus"], shown["labels"], shown["taints"][0]["effect"]) == (63.5, {"zone": "hall-2"}, "NoSchedule")
    assert (shown["schedulable"], shown["cordonReason"]) == (False, "fan (ada)")
    assert shown["others"] == {"pods": 2, "cpus": 0.25, "memory": 1024, "gpus": 0}
    assert rest["items"][0]["others"] is None


async def test_a_node_shows_the_callers_jobs_there_and_nobody_elses(world: World) -> None:
    await add(world)
    see(world)
    for key in (world.key(), world.key("rival")):
        job = (await world.submit(key=key, nodes=2))["id"]
        world.attempt(job)
        world.change(job, cluster="north")
        world.evidence(job, [("gpu-7", 0), ("gpu-9", 1)])
    ours = await world.get(NODE)
    assert [(each["name"], each["ranks"]) for each in ours["jobs"]] == [("digits", [0])]
    assert (await world.get(NODE, key=world.key(projects=("speech",))))["jobs"] == []


@pytest.mark.parametrize("verb", NodeVerb)
async def test_what_is_asked_of_a_node_is_handed_over_with_who_and_why(world: World, verb: NodeVerb) -> None:
    await add(world)
    see(world)
    headers = {"Idempotency-Key": f"key-{verb}"}
    for _ in range(2):
        done = await world.post(f"{NODE}:{verb}", {"reason": "fan broken"}, 200, headers=headers)
        assert (done["verb"], done["settled"]) == (verb, True)
        assert "node%2Fnorth%2Fgpu-7" in done["workflow"]
    ((order, _),) = world.clusters.ordered
    assert (order.node, order.verb, order.reason, order.actor) == ("gpu-7", verb, "fan broken", "admin-of-acme")


async def test_a_drain_that_takes_longer_is_answered_at_once_and_a_busy_node_refuses(world: World) -> None:
    await add(world)
    see(world)
    world.clusters.fails = NoAnswerYet()
    assert (await world.post(f"{NODE}:drain", status=202))["settled"] is False
    world.clusters.fails = NodeBusy()
    assert (await world.post(f"{NODE}:cordon", status=409))["code"] == "PD-2105"
    assert (await world.post("/v1/clusters/north/nodes/none:cordon", status=404))["code"] == "PD-2004"


async def test_a_silent_worker_shows(world: World) -> None:
    await add(world)
    see(world)
    assert (await world.get("/v1/clusters/north"))["worker"] == "up"
    world.clock.at += timedelta(minutes=2)
    assert (await world.get("/v1/clusters/north"))["worker"] == "silent"


async def test_a_job_names_a_cluster_that_is_there(world: World) -> None:
    await add(world, image="perdure.test/train:1")
    refused = await world.post("/v1/jobs", {"document": document(cluster="nroth")}, 422)
    assert (refused["code"], refused["where"]) == ("PD-2101", "spec.cluster")
    assert "local, north" in refused["detail"]
    see(world)
    accepted = await world.submit(cluster="north")
    assert accepted["cluster"] == "north"
    assert world.row(accepted["id"]).cluster == "north"
    assert (await world.submit("here"))["cluster"] == "local"
    listed = await world.get("/v1/jobs?cluster=north")
    assert [each["name"] for each in listed["items"]] == ["digits"]


async def test_jobs_that_name_none_run_on_the_usual_cluster(sqlite_world: World) -> None:
    world = sqlite_world
    await add(world, image="perdure.test/train:1")
    settings = world.deps.settings.model_copy(update={"default_cluster": "north"})
    world.app.state.deps = replace(world.deps, settings=settings)
    see(world)
    gpus: dict[str, Any] = {"resources": {"gpus": 1}}
    job = await world.submit(**gpus)
    assert job["cluster"] == "north"
    assert job["spec"]["spec"]["cluster"] == "north"
    text = "apiVersion: perdure/v1\nkind: Job\nmetadata: {name: x}\nspec:\n  command: [a]\n  image: b\n  team: c\n"
    refused = await world.post("/v1/jobs", {"text": text, "source": "job.yaml"}, 422)
    assert [each["code"] for each in refused["errors"] or [refused]] == ["PD-1502"]  # the image is served there
    assert "job.yaml:7:3" in str(refused)
    await world.post("/v1/schedules", {"document": schedule_document(job=document("nightly", **gpus))})
    await world.post("/v1/templates", {"document": template_document()})
    run = await world.post("/v1/jobs", {"template": {"name": "finetune", "values": {"epochs": 2}}})
    assert run["cluster"] == "north"
    back = await world.submit("back", cluster="local")
    assert back["cluster"] == "local"


async def test_a_plan_says_where_a_job_would_run_and_what_to_mind(world: World) -> None:
    await add(world, image="perdure.test/train:1", storage={"className": "fast", "size": "5Gi"})
    body = {"document": document(cluster="north", volumeMounts=[], storage={"request": "20Gi"})}
    plan = await world.post("/v1/jobs?dryRun=true", body, 200)
    assert (plan["cluster"], plan["image"]) == ("north", "perdure.test/train:1")
    assert plan["volumes"] == ["run folder: 20Gi of class fast"]
    assert any("was never seen" in warning for warning in plan["warnings"])
    see(world)
    plan = await world.post("/v1/jobs?dryRun=true", body, 200)
    assert not any("north" in warning for warning in plan["warnings"])


async def test_a_job_without_an_image_is_refused_unless_its_cluster_has_one(world: World) -> None:
    await add(world)
    refused = await world.post("/v1/jobs", {"document": document(cluster="north")}, 422)
    assert (refused["code"], refused["where"]) == ("PD-2106", "spec.image")
    await world.submit(cluster="north", image="perdure.test/train:1")


async def test_why_says_where_ranks_are_what_holds_them_up_and_whether_the_worker_is_there(world: World) -> None:
    await add(world, image="x")
    see(world)
    job = (await world.submit(cluster="north", nodes=2))["id"]
    world.attempt(job)
    world.evidence(job, [("gpu-7", 0)], waiting={1: "0/8 nodes are available"})
    told = await world.get(f"/v1/jobs/{job}/why")
    assert told["warnings"] == []
    assert [(each["rank"], each["node"], each["note"]) for each in told["ranks"]] == [
        (1, "", "0/8 nodes are available"),
        (0, "gpu-7", ""),
    ]
    world.clock.at += timedelta(minutes=5)
    assert "last seen 5m ago" in (await world.get(f"/v1/jobs/{job}/why"))["warnings"][0]
    world.end(job)
    assert (await world.get(f"/v1/jobs/{job}/why"))["warnings"] == []


async def test_the_very_objects_come_from_the_cluster_itself(world: World) -> None:
    await add(world, image="perdure.test/train:1")
    made = {"kind": "Job", "metadata": {"name": "digits-0-1"}}
    world.clusters.answers["render"] = Answer(objects=(made, made))
    body = {"document": document(cluster="north", nodes=2)}
    found = await world.post("/v1/jobs:objects", body, 200)
    assert (found["cluster"], found["objects"]) == ("north", [made, made])
    assert found["text"].count("kind: Job") == 2
    (call,) = world.clusters.asked
    assert isinstance(call.ask, RenderAsk)
    assert (call.ask.launch.nodes, call.ask.launch.ref.number, call.ask.launch.ref.tenant) == (2, 1, "acme")
    here = await world.post("/v1/jobs:objects", {"document": document()}, 422)
    assert here["code"] == "PD-2104"


async def test_what_runs_is_compared_with_what_was_made(world: World) -> None:
    await add(world, image="x")
    job = (await world.submit(cluster="north"))["id"]
    early = await world.expect(409, "GET", f"/v1/jobs/{job}/objects")
    assert early["code"] == "PD-2011"
    world.attempt(job)
    change = ObjectChange(object="Job/d", path="spec.parallelism", made=2, found=1)
    world.clusters.answers["compare"] = Answer(changes=(change,))
    found = await world.get(f"/v1/jobs/{job}/objects")
    assert (found["attempt"], found["changes"][0]["path"], found["changes"][0]["found"]) == (1, "spec.parallelism", 1)
    local = (await world.submit("here"))["id"]
    assert (await world.expect(422, "GET", f"/v1/jobs/{local}/objects"))["code"] == "PD-2104"
