"""Requests to jobs: what reaches the port, and what its answers become."""

from datetime import timedelta
from typing import Any

import pytest
import yaml

from api.ports import EngineAway, JobClosed, RequestRefused
from definitions.facts import Verb
from definitions.states import Phase
from tests.api.world import World


@pytest.mark.parametrize("verb", list(Verb))
async def test_a_request_reaches_the_job_with_actor_reason_and_time(sqlite_world: World, verb: Verb) -> None:
    world = sqlite_world
    job = await world.submit()
    details: dict[Verb, dict[str, Any]] = {
        Verb.EXTEND: {"by": "1h30m"},
        Verb.REPRIORITISE: {"priority": 50},
        Verb.RESIZE: {"nodes": 2},
    }
    body = {"reason": "making room"} | details.get(verb, {})
    answer = await world.post(f"/v1/jobs/digits:{verb}", body, status=200)
    [(tenant, asked_job, request)] = world.operator.asked
    assert (tenant, asked_job, request.verb) == ("acme", job["id"], verb)
    assert (request.actor, request.reason, request.at) == ("admin-of-acme", "making room", world.clock.now())
    assert request.extend_by == (timedelta(minutes=90) if verb is Verb.EXTEND else None)
    assert request.priority == (50 if verb is Verb.REPRIORITISE else None)
    assert request.nodes == (2 if verb is Verb.RESIZE else None)
    assert (answer["job"], answer["verb"], answer["requestId"]) == (job["id"], verb, request.request_id)


async def test_a_request_needs_no_body(sqlite_world: World) -> None:
    job = await sqlite_world.submit()
    response = await sqlite_world.ask("POST", f"/v1/jobs/{job['id']}:suspend")
    assert response.status_code == 200


@pytest.mark.parametrize("by", ["soon", "3:00", "90", ""])
async def test_a_duration_that_cannot_be_read_is_answered_with_the_form_to_write(sqlite_world: World, by: str) -> None:
    job = await sqlite_world.submit()
    problem = await sqlite_world.post(f"/v1/jobs/{job['id']}:extend", {"by": by}, status=422)
    assert (problem["code"], problem["where"]) == ("PD-1108", "body.by")
    assert sqlite_world.operator.asked == []


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        (JobClosed(started=True), 409, "PD-2010"),
        (JobClosed(started=False), 409, "PD-2011"),
        (RequestRefused("resume is not possible while the job is Running"), 409, "PD-2009"),
        (EngineAway(), 503, "PD-2040"),
    ],
)
async def test_what_the_engine_says_becomes_a_code(
    sqlite_world: World, answer: Exception, status: int, code: str
) -> None:
    job = await sqlite_world.submit()
    sqlite_world.operator.answer = answer
    problem = await sqlite_world.post(f"/v1/jobs/{job['id']}:resume", status=status)
    assert problem["code"] == code
    if isinstance(answer, RequestRefused):
        assert problem["detail"] == str(answer)


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase.is_final])
async def test_an_ended_job_is_not_asked(world: World, phase: Phase) -> None:
    job = await world.submit()
    world.end(job["id"], phase)
    problem = await world.post(f"/v1/jobs/{job['id']}:cancel", status=409)
    assert (problem["code"], problem["data"]["phase"]) == ("PD-2010", phase)
    assert world.operator.asked == []


async def test_if_match_holds_a_request_back_when_the_job_has_changed(world: World) -> None:
    job = await world.submit()
    world.change(job["id"], phase=Phase.RUNNING, reason="running")
    stale = await world.ask("POST", f"/v1/jobs/{job['id']}:cancel", headers={"If-Match": '"1"'})
    assert (stale.status_code, stale.json()["code"], stale.json()["data"]) == (412, "PD-2007", {"etag": '"2"'})
    for tags in ('"2"', 'W/"2"', '"9", "2"', "*"):
        fresh = await world.ask("POST", f"/v1/jobs/{job['id']}:cancel", headers={"If-Match": tags})
        assert fresh.status_code == 200, tags


async def test_reads_tell_the_etag_and_answer_304_while_it_holds(world: World) -> None:
    job = await world.submit()
    response = await world.ask("GET", f"/v1/jobs/{job['id']}")
    tag = response.headers["etag"]
    same = await world.ask("GET", f"/v1/jobs/{job['id']}", headers={"If-None-Match": tag})
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    world.change(job["id"], phase=Phase.RUNNING)
    changed = await world.ask("GET", f"/v1/jobs/{job['id']}", headers={"If-None-Match": tag})
    assert changed.status_code == 200


async def test_only_ended_jobs_can_be_deleted_and_then_they_are_gone(world: World) -> None:
    job = await world.submit()
    problem = await world.expect(409, "DELETE", f"/v1/jobs/{job['id']}")
    assert problem["code"] == "PD-2016"
    world.end(job["id"])
    assert (await world.ask("DELETE", f"/v1/jobs/{job['id']}", headers={"If-Match": '"1"'})).status_code == 412
    await world.expect(204, "DELETE", f"/v1/jobs/{job['id']}")
    for path in ("", "/why", "/events", "/logs", "/attempts"):
        assert (await world.ask("GET", f"/v1/jobs/{job['id']}{path}")).status_code == 404
    assert (await world.get("/v1/jobs"))["items"] == []
    assert [row for row in world.dump()["events"] if "deleted by admin-of-acme" in row]


async def test_wait_answers_at_the_end_and_not_before(sqlite_world: World) -> None:
    world = sqlite_world
    job = await world.submit()
    begun = world.clock.now()
    waiting = await world.get(f"/v1/jobs/{job['id']}/wait?timeout=5")
    assert (waiting["phase"], world.clock.now() - begun) == ("Pending", timedelta(seconds=5))
    world.clock.then[world.clock.slept + 3] = lambda: world.end(job["id"])
    begun = world.clock.now()
    ended = await world.get("/v1/jobs/digits/wait?timeout=60")
    assert ended["phase"] == "Succeeded"
    assert world.clock.now() - begun < timedelta(seconds=3)
    too_long = await world.ask("GET", f"/v1/jobs/{job['id']}/wait?timeout=3600")
    assert too_long.status_code == 422


async def test_wait_stays_with_the_job_it_began_with(sqlite_world: World) -> None:
    """A name may come to mean a newer job meanwhile."""
    world = sqlite_world
    job = await world.submit()

    def replace() -> None:
        world.end(job["id"])

    world.clock.then[1] = replace
    ended = await world.get("/v1/jobs/digits/wait?timeout=60")
    assert ended["id"] == job["id"]


async def test_yaml_is_given_to_those_who_ask_for_it(sqlite_world: World) -> None:
    job = await sqlite_world.submit()
    response = await sqlite_world.ask("GET", f"/v1/jobs/{job['id']}", headers={"Accept": "application/yaml"})
    assert response.headers["content-type"].startswith("application/yaml")
    read: dict[str, Any] = yaml.safe_load(response.text)
    assert read["id"] == job["id"]
    assert read["spec"]["spec"]["timeout"] == "1h"
