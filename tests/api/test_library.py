"""Snapshots, templates, secrets, schedules and numbers."""

import hashlib
from datetime import timedelta

from definitions.states import FailureClass, Phase
from tests.api.world import World, document, schedule_document, template_document

ARCHIVE = b"the bytes of a folder"
DIGEST = hashlib.sha256(ARCHIVE).hexdigest()


async def test_a_snapshot_is_stored_once_and_a_job_can_name_it(world: World) -> None:
    path = f"/v1/snapshots/{DIGEST}"
    assert (await world.ask("HEAD", path)).status_code == 404
    stored = await world.expect(201, "PUT", path, content=ARCHIVE)
    again = await world.expect(200, "PUT", path, content=ARCHIVE)
    assert stored == again
    assert (await world.ask("HEAD", path)).status_code == 200
    assert (await world.ask("HEAD", f"{path}?project=other")).status_code == 404
    body = {"document": document(workdir={"mode": "snapshot"}), "submission": {"snapshot": DIGEST, "cwd": "/home/ada"}}
    job = await world.post("/v1/jobs", body)
    assert job["snapshot"] == DIGEST
    assert job["spec"]["spec"]["workdir"] == {"mode": "snapshot", "path": "/home/ada", "snapshot": DIGEST}


async def test_a_snapshot_that_is_not_what_its_name_says_is_refused(sqlite_world: World) -> None:
    problem = await sqlite_world.ask("PUT", f"/v1/snapshots/{'e' * 64}", content=ARCHIVE)
    assert problem.json()["code"] == "PD-3401"
    assert (await sqlite_world.ask("HEAD", f"/v1/snapshots/{'e' * 64}")).status_code == 404


async def test_templates_have_versions_that_never_change(world: World) -> None:
    first = await world.post("/v1/templates", {"document": template_document()})
    same = await world.post("/v1/templates", {"document": template_document()})
    second = await world.post("/v1/templates", {"document": template_document(default=5)})
    assert (first["version"], same["version"], second["version"], second["versions"]) == (1, 1, 2, [1, 2])
    assert first["parameters"][0]["rules"] == {"min": 1}
    old = await world.get("/v1/templates/finetune?version=1")
    assert (old["version"], old["parameters"][0]["default"]) == (1, 3)
    [listed] = (await world.get("/v1/templates"))["items"]
    assert (listed["version"], listed["document"]) == (2, None)
    rendered = await world.post("/v1/templates/finetune:render", {"values": {"epochs": 9}}, status=200)
    assert rendered["document"]["spec"]["command"][-1] == "9"
    assert 'command: [python, train.py, "--epochs", "9"]' in rendered["text"]
    problem = await world.post("/v1/templates/finetune:render", {"values": {"epochs": 0}}, status=422)
    assert problem["where"] == "parameters.epochs"
    await world.expect(204, "DELETE", "/v1/templates/finetune")
    assert (await world.ask("GET", "/v1/templates/finetune")).status_code == 404
    assert (await world.ask("DELETE", "/v1/templates/finetune")).status_code == 404


async def test_a_template_may_be_looked_at_before_it_is_stored(world: World) -> None:
    path = "/v1/templates?dryRun=true"
    first = await world.post(path, {"document": template_document()}, status=200)
    assert (first["version"], first["versions"], first["jobs"]) == (1, [1], 0)
    await world.expect(404, "GET", "/v1/templates/finetune")
    await world.post("/v1/templates", {"document": template_document()})
    same = await world.post(path, {"document": template_document()}, status=200)
    other = await world.post(path, {"document": template_document(default=5)}, status=200)
    assert (same["version"], other["version"], other["versions"]) == (1, 2, [1, 2])
    assert (await world.get("/v1/templates/finetune"))["versions"] == [1]


async def test_a_document_of_another_kind_is_refused_where_it_does_not_belong(sqlite_world: World) -> None:
    for path, wrong in (
        ("/v1/jobs", template_document()),
        ("/v1/templates", document()),
        ("/v1/schedules", document()),
    ):
        problem = await sqlite_world.post(path, {"document": wrong}, status=422)
        assert problem["where"] == "document.kind"


async def test_a_secret_goes_in_and_never_comes_out(world: World) -> None:
    made = await world.post("/v1/secrets", {"name": "hub-token", "value": "s3cr3t-value"})
    assert made == {
        "name": "hub-token",
        "owner": "admin-of-acme",
        "version": 1,
        "createdAt": "2026-11-29T12:00:00Z",
        "rotatedAt": None,
    }
    taken = await world.post("/v1/secrets", {"name": "hub-token", "value": "another"}, status=409)
    assert taken["code"] == "PD-3707"
    world.clock.at += timedelta(days=1)
    rotated = await world.post("/v1/secrets/hub-token:rotate", {"value": "n3w-value"}, status=200)
    assert (rotated["version"], rotated["rotatedAt"]) == (2, "2026-11-30T12:00:00Z")
    listed = await world.ask("GET", "/v1/secrets")
    assert [entry["name"] for entry in listed.json()["items"]] == ["hub-token"]
    everything = repr(world.dump()) + listed.text
    assert "s3cr3t-value" not in everything
    assert "n3w-value" not in everything
    for value in ("abc", ""):
        problem = await world.post("/v1/secrets", {"name": "short", "value": value}, status=422)
        assert problem["code"] == "PD-3720"
    await world.expect(204, "DELETE", "/v1/secrets/hub-token")
    assert (await world.post("/v1/secrets/hub-token:rotate", {"value": "n3w-value"}, status=404))["code"] == "PD-2004"


async def test_a_schedule_shows_its_next_runs_before_it_exists_and_writes_nothing(world: World) -> None:
    world.key()
    before = world.dump()
    body = {"document": schedule_document(timeZone="Europe/Berlin")}
    shown = await world.post("/v1/schedules?dryRun=true", body, status=200)
    assert shown["nextRuns"][:2] == ["2026-11-30T02:30:00Z", "2026-12-01T02:30:00Z"]
    assert world.dump() == before
    made = await world.post("/v1/schedules", body)
    assert (made["nextRuns"], made["owner"], made["overlap"]) == (shown["nextRuns"], "admin-of-acme", "skip")
    taken = await world.post("/v1/schedules", body, status=409)
    assert taken["code"] == "PD-3707"


async def test_a_schedule_is_paused_triggered_and_deleted(world: World) -> None:
    await world.post("/v1/schedules", {"document": schedule_document()})
    paused = await world.post("/v1/schedules/nightly:pause", status=200)
    assert paused["paused"] is True
    job = await world.post("/v1/schedules/nightly:trigger")
    assert (job["name"], job["schedule"], job["phase"]) == ("report-20261129-120000", "nightly", "Pending")
    resumed = await world.post("/v1/schedules/nightly:resume", status=200)
    assert (resumed["paused"], resumed["lastJobs"]) == (False, [job["id"]])
    [listed] = (await world.get("/v1/schedules"))["items"]
    assert (listed["name"], listed["document"]) == ("nightly", None)
    await world.expect(204, "DELETE", "/v1/schedules/nightly")
    for verb in ("pause", "resume", "trigger"):
        assert (await world.ask("POST", f"/v1/schedules/nightly:{verb}")).status_code == 404
    assert (await world.get(f"/v1/jobs/{job['id']}"))["phase"] == "Pending"
    await world.post("/v1/schedules", {"document": schedule_document()})


async def test_what_a_schedules_job_names_must_be_there_when_it_is_created(sqlite_world: World) -> None:
    body = {"document": schedule_document(job=document("report", env={"A": {"secret": "gone"}}))}
    assert (await sqlite_world.post("/v1/schedules", body, status=422))["code"] == "PD-3722"
    body = {"document": schedule_document(job=document("report", workdir={"mode": "snapshot"}))}
    assert (await sqlite_world.post("/v1/schedules", body, status=422))["code"] == "PD-2031"
    body = {"document": schedule_document(job=document("report", project="other"))}
    assert (await sqlite_world.post("/v1/schedules", body, status=422))["where"] == "spec.job.metadata.project"


async def test_numbers_tell_of_ones_own_jobs_and_of_the_process(world: World) -> None:
    for number, phase in enumerate((Phase.SUCCEEDED, Phase.FAILED, Phase.RUNNING)):
        job = (await world.submit(f"job-{number}"))["id"]
        failure = FailureClass.HANG if phase is Phase.FAILED else None
        world.attempt(job, ended=phase.is_final, failure=failure)
        started = world.clock.now() + timedelta(seconds=4)
        ended = started + timedelta(minutes=2) if phase.is_final else None
        world.change(job, phase=phase, failure=failure, started_at=started, ended_at=ended)
    await world.submit("theirs", key=world.key("rival"))
    text = (await world.ask("GET", "/metrics")).text
    for line in (
        'perdure_jobs{failure="",phase="Succeeded",project="default",tenant="acme"} 1.0',
        'perdure_jobs{failure="hang",phase="Failed",project="default",tenant="acme"} 1.0',
        'perdure_attempts_total{failure="hang",project="default",tenant="acme"} 1.0',
        'perdure_job_queue_seconds_bucket{le="2",project="default",tenant="acme"} 0.0',
        'perdure_job_queue_seconds_bucket{le="5",project="default",tenant="acme"} 3.0',
        'perdure_job_queue_seconds_sum{project="default",tenant="acme"} 12.0',
        'perdure_job_run_seconds_bucket{le="+Inf",project="default",tenant="acme"} 2.0',
        'perdure_submits_total{outcome="accepted"} 4.0',
        'perdure_api_request_seconds_count{method="POST",route="/v1/jobs",status="201"} 4.0',
        "temporal_activity_execution_failed_total 3",
    ):
        assert line in text, line
    assert "rival" not in text
    assert (await world.ask("GET", "/metrics", key="")).status_code == 401


async def test_a_method_that_somebody_made_up_makes_no_series_of_its_own(sqlite_world: World) -> None:
    for number in range(3):
        await sqlite_world.ask(f"MADEUP{number}", "/v1/jobs")
    text = (await sqlite_world.ask("GET", "/metrics")).text
    assert "MADEUP" not in text
    assert 'method="other"' in text
