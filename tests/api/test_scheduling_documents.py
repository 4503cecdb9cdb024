"""Documents of the scheduler over HTTP: everybody looks, the installation's admins change, all or nothing."""

import asyncio
from typing import Any

import pytest

from definitions.principal import Role
from definitions.yaml_writer import dump
from tests.api.world import Json, World, queue_document, scheduling_document

APPLY = "/v1/scheduling-documents:apply"
YAML = {"Content-Type": "application/yaml", "Perdure-Source": "queues.yaml"}
GUARANTEED = {"gpus": {"guarantee": 8}}
H100 = scheduling_document("ResourceFlavor", "h100", gpuType="H100")
URGENT = scheduling_document("PriorityClass", "urgent", value=1000, usableBy=["research"])
HALL = scheduling_document("Topology", "hall", levels=[{"name": "rack", "nodeLabel": "example.org/rack"}])
POOL = scheduling_document(
    "NodePool",
    "training",
    topology="hall",
    simulated={"count": 4, "cpus": 8, "memory": "64Gi", "gpus": 8, "flavor": "h100"},
)
QUEUES = [queue_document("all", quotas={"gpus": {"limit": 32}}), queue_document("research", parent="all")]
EVERYTHING = [*QUEUES, H100, URGENT, HALL, POOL]
CATALOGUES = {  # reservations, of which more is shown, are in test_reservations.py
    "queues": "all",
    "flavors": "h100",
    "priority-classes": "urgent",
    "topologies": "hall",
    "node-pools": "training",
}


async def apply(world: World, *documents: Json, status: int = 200, **given: Any) -> Json:
    return await world.post(APPLY, {"documents": list(documents)}, status, **given)


async def refused(world: World, text: str, path: str = APPLY) -> list[tuple[str, str]]:
    """Code and place of each fault of a YAML text that is refused; nothing is stored of it."""
    before = world.dump()["scheduling_documents"]
    answer = await world.expect(422, "POST", path, content=text, headers=YAML)
    assert world.dump()["scheduling_documents"] == before
    return [(each["code"], each["where"]) for each in answer["errors"] or [answer]]


async def test_documents_of_every_kind_are_applied_together_and_shown_with_who_did_it(world: World) -> None:
    applied = await apply(world, *EVERYTHING)
    assert applied["applied"] is True
    assert [(each["name"], each["outcome"], each["generation"]) for each in applied["items"]] == [
        (document["metadata"]["name"], "created", 1) for document in EVERYTHING
    ]
    for noun, name in CATALOGUES.items():
        shown = await world.get(f"/v1/{noun}/{name}")
        assert (shown["createdBy"], shown["updatedBy"], shown["generation"]) == ("admin-of-acme", "admin-of-acme", 1)
        assert name in [each["name"] for each in (await world.get(f"/v1/{noun}"))["items"]]
    assert (await world.get("/v1/queues/research"))["document"]["spec"]["order"] == "bestEffort"


async def test_what_is_wrong_with_one_document_keeps_all_out_and_has_its_place(world: World) -> None:
    good = dump(queue_document("all"))
    assert await refused(world, f"{good}---\n{dump(queue_document('a', parent='nobody'))}") == [
        ("PD-1610", "queues.yaml:12:11 (spec.parent)")
    ]
    assert await refused(world, f"{good}---\n{dump(queue_document('a', wieght=2))}") == [
        ("PD-1101", "queues.yaml:12:3 (spec.wieght)")
    ]
    assert await refused(world, f"{good}---\n{good}") == [("PD-1612", "queues.yaml:10:9 (metadata.name)")]


@pytest.mark.parametrize(
    ("document", "code", "where"),
    [
        (queue_document("a", parent="all", quotas=GUARANTEED), "PD-1614", "stored Queue all (spec.quotas.gpus.limit)"),
        (queue_document("all", parent="research"), "PD-1611", "(spec.parent)"),
        (queue_document("a", quotas={"flavors": {"a100": {"limit": 1}}}), "PD-1610", "(spec.quotas.flavors.a100)"),
        (queue_document("a", quotas={"gpus": {"guarantee": 2, "limit": 1}}), "PD-1112", "(spec.quotas.gpus.guarantee)"),
        (scheduling_document("ResourceFlavor", "other", gpuType="H100"), "PD-1615", "(spec.gpuType)"),
        (scheduling_document("PriorityClass", "low", value=1, usableBy=["nobody"]), "PD-1610", "(spec.usableBy[0])"),
        (scheduling_document("Topology", "hall", levels=[]), "PD-1112", "(spec.levels)"),
        (scheduling_document("NodePool", "p", nodeSelector={"a": "b"}, topology="x"), "PD-1610", "(spec.topology)"),
        (queue_document("other", default=True), "PD-1613", "(spec.default)"),
        (scheduling_document("Cluster", "north"), "PD-1620", "(kind)"),
    ],
)  # fmt: skip
async def test_documents_are_checked_together_with_what_is_stored(
    sqlite_world: World, document: Json, code: str, where: str
) -> None:
    few = queue_document("all", quotas={"gpus": {"limit": 4}})
    await apply(sqlite_world, few, queue_document("research", parent="all", default=True), H100, HALL)
    found = await apply(sqlite_world, document, status=422)
    assert (found["code"], found["where"].removeprefix("documents[0] ")) == (code, where)


async def test_a_repeat_changes_nothing_and_a_change_is_a_new_generation_of_who_made_it(world: World) -> None:
    await apply(world, *EVERYTHING)
    again = await apply(world, *EVERYTHING)
    assert {(each["outcome"], each["generation"]) for each in again["items"]} == {("unchanged", 1)}
    changed = queue_document("research", parent="all", weight=2)
    compared = await world.post("/v1/scheduling-documents:diff", {"documents": [changed, H100]}, 200)
    planned = await world.post(f"{APPLY}?dryRun=true", {"documents": [changed, H100]}, 200)
    assert planned == compared
    assert planned["applied"] is False
    assert planned["items"][0]["changes"] == [{"path": "spec.weight", "before": 1.0, "after": 2.0}]
    assert (await world.get("/v1/queues/research"))["generation"] == 1
    applied = await apply(world, changed, H100)
    assert [(each["outcome"], each["generation"]) for each in applied["items"]] == [("replaced", 2), ("unchanged", 1)]


async def test_one_document_is_put_while_it_is_as_expected(world: World) -> None:
    body = {"document": queue_document()}
    planned = await world.ask("PUT", "/v1/queues/research?dryRun=true", json=body)
    assert (planned.status_code, planned.json()["outcome"]) == (200, "created")
    missing = await world.ask("PUT", "/v1/queues/research", json=body, headers={"If-Match": '"1"'})
    assert (missing.status_code, missing.json()["code"]) == (412, "PD-2007")
    made = await world.ask("PUT", "/v1/queues/research", json=body)
    assert (made.status_code, made.headers["ETag"], made.headers["Location"]) == (201, '"1"', "/v1/queues/research")
    text = dump(queue_document(weight=2))
    for tag, status in (('"1"', 200), ('"1"', 412), ('"2"', 200)):
        answer = await world.ask("PUT", "/v1/queues/research", content=text, headers=YAML | {"If-Match": tag})
        assert answer.status_code == status, answer.text
    unchanged = await world.ask("GET", "/v1/queues/research", headers={"If-None-Match": '"2"'})
    assert unchanged.status_code == 304
    gone = await world.ask("DELETE", "/v1/queues/research", headers={"If-Match": '"1"'})
    assert (gone.status_code, gone.json()["code"]) == (412, "PD-2007")


@pytest.mark.parametrize(
    ("path", "where"), [("/v1/queues/other", "metadata.name"), ("/v1/flavors/research", "document.kind")]
)
async def test_a_document_is_put_where_it_belongs(sqlite_world: World, path: str, where: str) -> None:
    found = await sqlite_world.expect(422, "PUT", path, json={"document": queue_document()})
    assert (found["code"], found["where"]) == ("PD-2022", where)


async def test_a_request_with_a_key_is_carried_out_once(world: World) -> None:
    headers = {"Idempotency-Key": "k1"}
    first = await apply(world, queue_document(), headers=headers)
    await apply(world, queue_document(weight=2))
    assert await apply(world, queue_document(), headers=headers) == first
    assert (await world.get("/v1/queues/research"))["generation"] == 2


async def test_everybody_may_look_and_only_the_installations_admins_change(world: World) -> None:
    await apply(world, *EVERYTHING)
    others = (world.key(role=Role.MEMBER), world.key(role=Role.VIEWER), world.key("rival"), world.key(projects=("x",)))
    before = world.dump()["scheduling_documents"]
    for key in others:
        assert len((await world.post(f"{APPLY[:-6]}:diff", {"documents": EVERYTHING}, 200, key=key))["items"]) == 6
        for method, path, body in (
            ("POST", APPLY, {"documents": [queue_document("mine")]}),
            ("POST", f"{APPLY}?dryRun=true", {"documents": [queue_document("mine")]}),
            *(("PUT", f"/v1/{noun}/{name}", {"document": EVERYTHING[0]}) for noun, name in CATALOGUES.items()),
            *(("DELETE", f"/v1/{noun}/{name}", None) for noun, name in CATALOGUES.items()),
        ):
            answer = await world.expect(403, method, path, key=key, json=body)
            assert (answer["code"], "tenant acme" in answer["detail"]) == ("PD-2002", True)
        for noun, name in CATALOGUES.items():
            assert (await world.get(f"/v1/{noun}/{name}", key=key))["name"] == name
    assert world.dump()["scheduling_documents"] == before


async def test_what_others_name_is_not_deleted_and_they_are_listed(world: World) -> None:
    await apply(world, *EVERYTHING)
    for path, named in (
        ("queues/all", ["spec.parent"]),
        ("queues/research", ["spec.usableBy[0]"]),
        ("flavors/h100", ["spec.simulated.flavor"]),
        ("topologies/hall", ["spec.topology"]),
    ):
        found = await world.expect(409, "DELETE", f"/v1/{path}")
        assert (found["code"], [each["where"] for each in found["errors"]]) == ("PD-2142", named)
    for path in ("node-pools/training", "topologies/hall", "flavors/h100", "priority-classes/urgent"):
        await world.expect(204, "DELETE", f"/v1/{path}")
    for path in ("queues/research", "queues/all"):
        await world.expect(204, "DELETE", f"/v1/{path}")
    missing = await world.expect(404, "DELETE", "/v1/queues/all")
    assert (missing["code"], missing["detail"]) == ("PD-2004", "there is no queue 'all'")


async def test_a_queue_and_a_class_stay_while_jobs_of_anybody_need_them(world: World) -> None:
    await apply(world, queue_document(), scheduling_document("PriorityClass", "urgent", value=1))
    job = (await world.submit(key=world.key("rival"), queue="research", priorityClass="urgent"))["id"]
    for path, code in (("queues/research", "PD-2140"), ("priority-classes/urgent", "PD-2141")):
        found = await world.expect(409, "DELETE", f"/v1/{path}")
        assert (found["code"], found["data"]) == (code, {"jobs": 1})
    moved = [queue_document("all"), queue_document(parent="all")]
    assert (await apply(world, *moved))["items"][1]["outcome"] == "replaced"
    world.end(job)
    for path in ("queues/research", "priority-classes/urgent"):
        await world.expect(204, "DELETE", f"/v1/{path}")


async def test_of_two_that_are_right_alone_and_wrong_together_one_gets_in(world: World) -> None:
    await apply(world, queue_document("all", quotas={"gpus": {"limit": 8}}))
    both = (
        world.ask("POST", APPLY, json={"documents": [queue_document(n, parent="all", quotas=GUARANTEED)]}) for n in "ab"
    )
    assert sorted(answer.status_code for answer in await asyncio.gather(*both)) == [200, 422]


async def test_lists_are_paged_by_name(sqlite_world: World) -> None:
    await apply(sqlite_world, *(queue_document(name) for name in ("b", "c", "a")))
    first = await sqlite_world.get("/v1/queues?limit=2")
    rest = await sqlite_world.get(f"/v1/queues?limit=2&cursor={first['next']}")
    assert [[each["name"] for each in page["items"]] for page in (first, rest)] == [["a", "b"], ["c"]]
    assert rest["next"] is None
