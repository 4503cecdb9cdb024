"""Requests that come again, at once, or changed."""

import asyncio
from datetime import timedelta

import pytest

from api.ports import EngineAway, NoAnswerYet
from definitions.job_state import RequestOutcome
from definitions.states import Phase
from store.engine import session
from store.tables import IdempotencyRow
from tests.api.world import World, document

KEY = {"Idempotency-Key": "k-1"}


async def test_a_repeat_gets_the_first_answer_with_its_headers_and_does_nothing(world: World) -> None:
    first = await world.ask("POST", "/v1/jobs", json={"document": document()}, headers=KEY)
    world.end(first.json()["id"])
    again = await world.ask("POST", "/v1/jobs", json={"document": document()}, headers=KEY)
    assert (again.status_code, again.json()) == (201, first.json())
    assert (again.headers["location"], again.headers["etag"]) == (first.headers["location"], first.headers["etag"])
    assert again.headers["idempotent-replayed"] == "true"
    assert len((await world.get("/v1/jobs"))["items"]) == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/jobs", {"document": document("other")}),
        ("/v1/jobs?project=vision", {"document": document()}),
        ("/v1/jobs:apply", {"document": document()}),
    ],
)
async def test_a_key_belongs_to_one_request(sqlite_world: World, path: str, body: dict[str, object]) -> None:
    await sqlite_world.post("/v1/jobs", {"document": document()}, headers=KEY)
    problem = await sqlite_world.expect(409, "POST", path, json=body, headers=KEY)
    assert problem["code"] == "PD-3710"


async def test_of_many_at_once_one_is_carried_out(world: World) -> None:
    body = {"document": document()}
    answers = await asyncio.gather(*(world.ask("POST", "/v1/jobs", json=body, headers=KEY) for _ in range(8)))
    assert {answer.status_code for answer in answers} <= {201, 409}
    accepted = {answer.json()["id"] for answer in answers if answer.status_code == 201}
    assert len(accepted) == 1
    assert len((await world.get("/v1/jobs"))["items"]) == 1


async def test_of_many_submits_of_one_name_one_is_accepted(world: World) -> None:
    answers = await asyncio.gather(*(world.ask("POST", "/v1/jobs", json={"document": document()}) for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 7


async def test_a_refused_request_does_not_use_its_key_up(world: World) -> None:
    body = {"document": document(env={"A": {"secret": "late"}})}
    await world.post("/v1/jobs", body, status=422, headers=KEY)
    await world.post("/v1/secrets", {"name": "late", "value": "s3cr3t"})
    await world.post("/v1/jobs", body, headers=KEY)


async def test_a_cancel_that_is_repeated_asks_the_job_with_one_identity(world: World) -> None:
    job = await world.submit()
    path = f"/v1/jobs/{job['id']}:cancel"
    first = await world.post(path, {"reason": "enough"}, status=200, headers=KEY)
    again = await world.post(path, {"reason": "enough"}, status=200, headers=KEY)
    assert first == again
    assert len(world.operator.asked) == 1
    await world.post(path, {"reason": "enough"}, status=200)
    await world.post(path, {"reason": "enough"}, status=200)
    assert len({request.request_id for _, _, request in world.operator.asked}) == 3


async def test_what_was_not_settled_is_asked_again_under_the_same_identity(world: World) -> None:
    """Lost answers and an engine that is away leave the key free; the engine sees one update id."""
    job = await world.submit()
    path = f"/v1/jobs/{job['id']}:cancel"
    world.operator.answer = NoAnswerYet()
    waiting = await world.post(path, status=202, headers=KEY)
    assert waiting["settled"] is False
    world.operator.answer = EngineAway()
    away = await world.ask("POST", path, headers=KEY)
    assert (away.status_code, away.json()["code"], away.headers["retry-after"]) == (503, "PD-2040", "5")
    world.operator.answer = RequestOutcome(phase=Phase.CANCELLED, reason="cancelled")
    done = await world.post(path, status=200, headers=KEY)
    assert (done["settled"], done["phase"]) == (True, "Cancelled")
    assert {request.request_id for _, _, request in world.operator.asked} == {done["requestId"]}


async def test_a_request_under_way_is_told_to_wait_and_one_that_died_is_taken_over(world: World) -> None:
    job = await world.submit()
    path = f"/v1/jobs/{job['id']}:cancel"
    await world.post(path, {}, status=200, headers={"Idempotency-Key": "learn"})
    with session(world.engine) as active:
        row = active.get_one(IdempotencyRow, ("acme", "admin-of-acme", "learn"))
        row.status, row.body = None, None  # as a process leaves it that dies before it answers
    busy = await world.ask("POST", path, json={}, headers={"Idempotency-Key": "learn"})
    assert (busy.status_code, busy.json()["code"], busy.headers["retry-after"]) == (409, "PD-3711", "1")
    world.clock.at += timedelta(minutes=2)
    await world.post(path, {}, status=200, headers={"Idempotency-Key": "learn"})
    assert len({request.request_id for _, _, request in world.operator.asked}) == 1


async def test_a_stored_fingerprint_does_not_tell_a_secret(sqlite_world: World) -> None:
    """The same body under two keys of one principal has two fingerprints: it cannot be searched for a known value."""
    body = {"name": "hub-token", "value": "s3cr3t-value"}
    await sqlite_world.post("/v1/secrets", body, headers=KEY)
    await sqlite_world.post("/v1/secrets", body, headers=KEY, key=sqlite_world.key("rival"))
    rows = sqlite_world.dump()["idempotency"]
    fingerprints = {column for row in rows for column in row if isinstance(column, str) and len(column) == 64}
    assert len(fingerprints) == 2
    assert "s3cr3t-value" not in repr(sqlite_world.dump())


async def test_a_key_is_limited_in_length(sqlite_world: World) -> None:
    problem = await sqlite_world.post(
        "/v1/jobs", {"document": document()}, status=422, headers={"Idempotency-Key": "k" * 129}
    )
    assert problem["where"] == "header.idempotency-key"
