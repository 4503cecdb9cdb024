"""Every operation of the API's own description, asked by the wrong people."""

import hashlib
import re
from datetime import timedelta
from typing import Any

import httpx
import pytest

from api.access import Needs, Public
from api.openapi import document as openapi_document
from definitions.principal import OF_THE_INSTALLATION, Action, ResourceKind, Role
from store import tokens
from store.engine import session
from tests.api.routes import PUBLIC, Operation, flat_routes, operations
from tests.api.world import World, document, schedule_document, template_document

SNAPSHOT = hashlib.sha256(b"archive").hexdigest()
UNKNOWN = {
    "job": "0" * 26,
    "path": "none.bin",
    "sha256": "e" * 64,
    "name": "none",
    "code": "PD-0000",
    "cluster": "none",
    "node": "none",
    "pool": "none",
    "number": "1",
}
OPERATIONS = operations(openapi_document())
GUARDED = [operation for operation in OPERATIONS if operation.id not in PUBLIC]
# Streams take their time, only jobs on clusters have objects, and only arrays have jobs of their own.
NOT_NOW = {"jobs.eventsStream", "jobs.logsStream", "jobs.wait", "jobs.objectsDiff", "jobs.children"}
# The installation's: every tenant sees them.
SCHEDULING = {"queues", "flavors", "priorityClasses", "topologies", "nodePools", "schedulingDocuments"}
# Of everybody's jobs, names only of one's own: test_queueing.py, test_reservations.py.
AMOUNTS = {"queue", "capacity", "decisions", "reservations"}
SHARED = {"clusters", "nodes", *SCHEDULING, *AMOUNTS}
TENANTED = [operation for operation in GUARDED if operation.area not in SHARED]
CHANGING = {Action.CREATE, Action.UPDATE, Action.DELETE, Action.OPERATE}


async def furnished(world: World, key: str) -> dict[str, dict[str, str]]:
    """One thing of every kind in that key's tenant; where each is, by the first part of its operations' ids."""
    job: str = (await world.submit(key=key))["id"]
    world.attempt(job)
    world.artifact(job, "model/weights.npz", b"weights")
    await world.expect(201, "PUT", f"/v1/snapshots/{SNAPSHOT}", content=b"archive", key=key)
    await world.post("/v1/templates", {"document": template_document()}, key=key)
    await world.post("/v1/secrets", {"name": "hub-token", "value": "s3cr3t-value"}, key=key)
    await world.post("/v1/schedules", {"document": schedule_document()}, key=key)
    return {
        "jobs": {"job": job, "path": "model/weights.npz"},
        "snapshots": {"sha256": SNAPSHOT},
        "templates": {"name": "finetune"},
        "secrets": {"name": "hub-token"},
        "schedules": {"name": "nightly"},
        "system": {},
    }


async def ask(world: World, operation: Operation, place: dict[str, str], key: str) -> httpx.Response:
    given: dict[str, Any] = {"headers": {}}
    if operation.id == "snapshots.put":
        given["content"] = b"archive"
    elif operation.method in ("POST", "PUT"):
        given["json"] = operation.body
    if operation.id.endswith("Stream"):
        given["headers"] = {"Last-Event-ID": "0"} if operation.id == "jobs.eventsStream" else {}
    return await world.ask(operation.method, operation.path.format(**place), key=key, **given)


def plain(response: httpx.Response, place: dict[str, str]) -> Any:
    """An answer without what names the request: ids and places."""
    text = re.sub(r'"requestId":"[^"]*"', "", response.text)
    for value in place.values():
        text = text.replace(value, "X")
    return response.status_code, text


def test_every_route_declares_its_verb_and_its_kind(sqlite_world: World) -> None:
    seen = 0
    for route in flat_routes(sqlite_world.app):
        gates = [found.call for found in route.dependant.dependencies if isinstance(found.call, Needs | Public)]
        assert len(gates) == 1, f"{route.name} declares {len(gates)} accesses"
        assert isinstance(gates[0].action, Action)
        assert isinstance(gates[0].kind, ResourceKind)
        assert isinstance(gates[0], Public) == (route.name in PUBLIC), route.name
        seen += 1
    assert seen >= len(OPERATIONS)


async def test_another_tenant_sees_the_same_as_for_what_does_not_exist(world: World) -> None:
    ours = await furnished(world, world.key())
    rival = world.key("rival")
    for operation in TENANTED:
        place = ours[operation.area]
        if not operation.names_a_thing or operation.id == "snapshots.put":  # a put makes one of the caller's own
            continue
        foreign = await ask(world, operation, place, rival)
        nothing = {name: UNKNOWN[name] for name in place}
        unknown = await ask(world, operation, nothing, rival)
        assert foreign.status_code == 404, f"{operation.id}: {foreign.text}"
        assert plain(foreign, place) == plain(unknown, nothing), operation.id


async def test_another_tenant_has_lists_of_its_own_and_disturbs_nothing(world: World) -> None:
    ours = await furnished(world, world.key())
    rival = world.key("rival")
    for operation in TENANTED:
        if operation.id.endswith(".list"):
            response = await ask(world, operation, {}, rival)
            assert response.json()["items"] == [], operation.id
    theirs = await furnished(world, rival)
    assert theirs["jobs"]["job"] != ours["jobs"]["job"]
    for operation in TENANTED:
        if operation.method == "DELETE":
            await ask(world, operation, theirs[operation.area], rival)
    for operation in TENANTED:
        if operation.method == "GET" and operation.id not in NOT_NOW:
            response = await ask(world, operation, ours[operation.area], world.key())
            assert response.status_code == 200, f"{operation.id}: {response.text}"
    body = await world.ask("GET", f"/v1/jobs/{ours['jobs']['job']}/artifacts/model/weights.npz")
    assert body.content == b"weights"


@pytest.mark.parametrize("key", ["", "pd_live_" + "0" * 49, "nonsense", "pd_live_"])
async def test_nothing_but_the_public_pages_answers_without_a_valid_key(sqlite_world: World, key: str) -> None:
    for operation in OPERATIONS:
        place = {name: UNKNOWN[name] for name in re.findall(r"{(\w+)}", operation.path)}
        response = await ask(sqlite_world, operation, place, key)
        if operation.id in PUBLIC:
            assert response.status_code in (200, 404), operation.id
            continue
        assert response.status_code == 401, f"{operation.id}: {response.status_code}"
        assert response.headers["www-authenticate"] == "Bearer"
        if operation.method != "HEAD":
            assert response.json()["code"] == "PD-2001"


async def test_roles_may_do_what_the_policy_says_on_every_route(sqlite_world: World) -> None:
    """Viewers change nothing, members everything but the installation, as far as the route alone can tell."""
    world = sqlite_world
    for operation in GUARDED:
        gate = operation.gate(world.app)
        place = {name: UNKNOWN[name] for name in re.findall(r"{(\w+)}", operation.path)}
        viewer = await ask(world, operation, place, world.key(role=Role.VIEWER))
        assert (viewer.status_code == 403) == (gate.action in CHANGING), f"viewer {operation.id}: {viewer.text}"
        member = await ask(world, operation, place, world.key(role=Role.MEMBER))
        not_theirs = gate.action in CHANGING and gate.kind in OF_THE_INSTALLATION
        assert (member.status_code == 403) == not_theirs, f"member {operation.id}: {member.text}"
        admin = await ask(world, operation, place, world.key())
        assert admin.status_code != 403, operation.id


async def test_members_change_only_their_own_secrets(sqlite_world: World) -> None:
    world = sqlite_world
    with session(world.engine) as active:
        keys = {name: tokens.create(active, "acme", name, Role.MEMBER, world.clock.now())[1] for name in ("ada", "bob")}
    made = await world.post("/v1/secrets", {"name": "hub-token", "value": "s3cr3t"}, key=keys["ada"])
    assert made["owner"] == "ada"
    for method, path in (("POST", "/v1/secrets/hub-token:rotate"), ("DELETE", "/v1/secrets/hub-token")):
        body = {"json": {"value": "n3w-value"}} if method == "POST" else {}
        refused = await world.ask(method, path, key=keys["bob"], **body)
        assert (refused.status_code, refused.json()["code"]) == (403, "PD-2002")
    for key in (keys["ada"], world.key()):
        rotated = await world.post("/v1/secrets/hub-token:rotate", {"value": "n3w-value"}, status=200, key=key)
        assert rotated["owner"] == "ada"
    await world.expect(204, "DELETE", "/v1/secrets/hub-token", key=keys["ada"])


async def test_a_key_for_some_projects_works_in_no_other(sqlite_world: World) -> None:
    world = sqlite_world
    key = world.key(role=Role.MEMBER, projects=("vision",))
    job = await world.submit(key=key)
    assert job["project"] == "vision"
    refused = await world.ask("GET", "/v1/jobs?project=speech", key=key)
    assert (refused.status_code, refused.json()["code"]) == (403, "PD-2002")
    refused = await world.ask("POST", "/v1/jobs", json={"document": document("x", project="speech")}, key=key)
    assert refused.status_code == 403
    elsewhere = await world.submit("other")
    assert (await world.ask("GET", f"/v1/jobs/{elsewhere['id']}", key=key)).status_code == 404


async def test_a_revoked_and_an_expired_key_open_nothing(sqlite_world: World) -> None:
    world = sqlite_world
    now = world.clock.now()
    with session(world.engine) as active:
        row, revoked = tokens.create(active, "acme", "gone", Role.ADMIN, now)
        _, expired = tokens.create(active, "acme", "old", Role.ADMIN, now, expires_at=now + timedelta(hours=1))
    assert (await world.ask("GET", "/v1/jobs", key=expired)).status_code == 200
    with session(world.engine) as active:
        tokens.revoke(active, "acme", row.id, now)
    world.clock.at += timedelta(hours=1)
    answers = [await world.ask("GET", "/v1/jobs", key=key) for key in (revoked, expired)]
    assert [answer.status_code for answer in answers] == [401, 401]
    assert {answer.json()["detail"] for answer in answers} == {
        "a valid API key is needed: Authorization: Bearer pd_live_..."
    }


async def test_a_key_for_repeats_is_one_tenants_own(world: World) -> None:
    body = {"document": document()}
    ours = await world.post("/v1/jobs", body, headers={"Idempotency-Key": "same"})
    theirs = await world.post("/v1/jobs", body, headers={"Idempotency-Key": "same"}, key=world.key("rival"))
    assert ours["id"] != theirs["id"]
    assert theirs["tenant"] == "rival"
