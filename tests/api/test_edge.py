"""What every request meets before a route: hosts, origins, sizes, methods, crashes; and how refusals look."""

import json
import logging
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from api.openapi import document as description
from api.openapi import text as description_text
from definitions.errors import all_codes
from tests.api.world import World, document

JSON = {"Content-Type": "application/json"}


def problem_of(response: Any) -> dict[str, Any]:
    assert response.headers["content-type"] == "application/problem+json", response.text
    problem: dict[str, Any] = response.json()
    assert problem["type"] == f"http://127.0.0.1:8642/errors/{problem['code']}"
    assert problem["status"] == response.status_code
    assert problem["requestId"] == response.headers["x-request-id"]
    assert all(problem[field] for field in ("remedy", "detail", "title"))
    return problem


@pytest.mark.parametrize(
    ("method", "path", "given", "status", "code"),
    [
        ("GET", "/v1/nothing", {}, 404, "PD-2008"),
        ("GET", "/v1/jobs/", {}, 404, "PD-2008"),
        ("PATCH", "/v1/jobs", {}, 405, "PD-2005"),
        ("PUT", "/v1/jobs/digits:cancel", {}, 405, "PD-2005"),
        ("POST", "/v1/jobs", {"content": b"{", "headers": JSON}, 400, "PD-2014"),
        ("POST", "/v1/jobs", {"content": b"[" * 100_000, "headers": JSON}, 400, "PD-2014"),
        ("POST", "/v1/jobs", {"content": b"\xff", "headers": {"Content-Type": "text/yaml"}}, 400, "PD-2014"),
        ("POST", "/v1/jobs", {"content": b"x", "headers": {"Content-Type": "text/csv"}}, 415, "PD-2015"),
        ("POST", "/v1/jobs", {"content": b"x" * 1_048_577, "headers": JSON}, 413, "PD-2013"),
        ("POST", "/v1/jobs", {"json": {}}, 422, "PD-2022"),
        ("POST", "/v1/jobs", {"json": {"document": {}, "text": "x"}}, 422, "PD-2022"),
        ("POST", "/v1/secrets", {"content": b"{", "headers": JSON}, 400, "PD-2014"),
        ("POST", "/v1/secrets", {"json": {"name": "UPPER", "value": "long enough"}}, 422, "PD-1107"),
        ("GET", "/v1/jobs?limit=many", {}, 422, "PD-2022"),
        ("GET", "/v1/jobs/digits", {}, 404, "PD-2004"),
        ("GET", "/errors/PD-0000", {}, 404, "PD-2004"),
        ("PUT", "/v1/snapshots/short", {"content": b""}, 422, "PD-2022"),
    ],
)
async def test_every_refusal_is_a_problem_with_a_code(
    sqlite_world: World, method: str, path: str, given: dict[str, Any], status: int, code: str
) -> None:
    response = await sqlite_world.ask(method, path, **given)
    assert response.status_code == status, response.text
    assert problem_of(response)["code"] == code


async def test_every_fault_of_a_body_is_named_and_no_value_is_repeated(sqlite_world: World) -> None:
    body = {"name": "x" * 70, "value": "do-not-repeat-me", "owner": "me"}
    problem = problem_of(await sqlite_world.ask("POST", "/v1/secrets", json=body))
    assert sorted(fault["where"] for fault in problem["errors"]) == ["body.name", "body.owner"]
    short = await sqlite_world.ask("POST", "/v1/secrets", json={"name": "a", "value": ["do-not-repeat-me"]})
    assert "do-not-repeat-me" not in short.text
    assert problem_of(short)["where"] == "body.value"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "localhost@evil.example", "[::2]:8642"])
async def test_other_hosts_are_not_served(sqlite_world: World, host: str) -> None:
    """A page of another site may have had its name point here."""
    response = await sqlite_world.ask("GET", "/v1/health", headers={"Host": host})
    assert (response.status_code, problem_of(response)["code"]) == (421, "PD-2003")


@pytest.mark.parametrize("host", ["127.0.0.1:8642", "localhost", "LOCALHOST:80", "[::1]:8642"])
async def test_names_of_the_loopback_interface_are_served(sqlite_world: World, host: str) -> None:
    assert (await sqlite_world.ask("GET", "/v1/health", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:3000", "http://127.0.0.1:9999"])
async def test_pages_of_other_sites_get_nothing(sqlite_world: World, origin: str) -> None:
    response = await sqlite_world.ask("POST", "/v1/jobs", json={"document": document()}, headers={"Origin": origin})
    assert (response.status_code, problem_of(response)["code"]) == (403, "PD-2006")
    assert "access-control-allow-origin" not in response.headers
    preflight = await sqlite_world.ask("OPTIONS", "/v1/jobs", headers={"Origin": origin})
    assert preflight.status_code == 403


async def test_pages_of_our_own_are_answered(sqlite_world: World) -> None:
    for origin in ("http://127.0.0.1:8642", "https://127.0.0.1:8642"):
        assert (await sqlite_world.ask("GET", "/v1/jobs", headers={"Origin": origin})).status_code == 200


async def test_a_body_of_unknown_length_is_counted_while_it_comes(sqlite_world: World) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b" " * 65_536

    response = await sqlite_world.ask("POST", "/v1/jobs", content=endless(), headers=JSON)
    assert (response.status_code, problem_of(response)["code"]) == (413, "PD-2013")


async def test_a_request_id_that_is_safe_is_kept_and_another_is_made(sqlite_world: World) -> None:
    kept = await sqlite_world.ask("GET", "/v1/health", headers={"X-Request-Id": "abc-12345678"})
    assert kept.headers["x-request-id"] == "abc-12345678"
    made = await sqlite_world.ask("GET", "/v1/health", headers={"X-Request-Id": "<b>" * 20})
    assert re.fullmatch(r"[0-9a-z]{26}", made.headers["x-request-id"])


async def test_a_crash_is_a_problem_that_tells_nothing_of_the_inside(
    sqlite_world: World, caplog: pytest.LogCaptureFixture
) -> None:
    job = await sqlite_world.submit()
    sqlite_world.operator.answer = RuntimeError("the inside")
    response = await sqlite_world.ask("POST", f"/v1/jobs/{job['id']}:cancel")
    assert (response.status_code, problem_of(response)["code"]) == (500, "PD-2500")
    assert "the inside" not in response.text
    assert "the inside" in caplog.text


async def test_a_database_that_is_away_is_said_to_be_so(sqlite_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    key = sqlite_world.key()

    def away(*_: Any, **__: Any) -> None:
        raise OperationalError("SELECT 1", {}, Exception("no connection"))

    monkeypatch.setattr(sqlite_world.engine.dialect, "do_execute", away)
    response = await sqlite_world.ask("GET", "/v1/jobs", key=key)
    assert (response.status_code, problem_of(response)["code"]) == (503, "PD-3706")
    assert response.headers["retry-after"] == "5"


async def test_each_request_is_logged_with_its_ids_and_without_secrets(
    sqlite_world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    key = sqlite_world.key()
    await sqlite_world.ask("POST", "/v1/secrets", json={"name": "hub", "value": "do-not-log-me"})
    await sqlite_world.ask("POST", "/v1/secrets", json={"name": "hub", "value": "do-not-log-me", "more": 1})
    job = await sqlite_world.submit()
    await sqlite_world.get("/v1/jobs/digits")
    lines = [record for record in caplog.records if record.name == "perdure.api" and record.message == "request"]
    assert [vars(line)["job"] for line in lines[2:]] == [job["id"]] * 2
    assert [(vars(line)["status"], vars(line)["tenant"], vars(line)["principal"]) for line in lines[:2]] == [
        (201, "acme", "admin-of-acme"),
        (422, "acme", "admin-of-acme"),
    ]
    written = "\n".join(repr(vars(record)) for record in caplog.records)
    assert "do-not-log-me" not in written
    assert key not in written


async def test_answers_carry_headers_that_keep_browsers_from_guessing(sqlite_world: World) -> None:
    for path in ("/v1/health", "/docs", "/errors", "/v1/nothing"):
        headers = (await sqlite_world.ask("GET", path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]


async def test_every_code_has_a_page_and_is_listed(sqlite_world: World) -> None:
    listed = await sqlite_world.get("/v1/errors", key="")
    assert [entry["code"] for entry in listed["items"]] == [code.code for code in all_codes()]
    for code in all_codes():
        page = await sqlite_world.ask("GET", f"/errors/{code.code}", key="")
        assert page.status_code == 200
        assert code.code in page.text
        assert code.title.split("'")[0] in page.text
    index = await sqlite_world.ask("GET", "/errors", key="")
    assert all(code.code in index.text for code in all_codes())


async def test_the_reference_needs_no_other_server_and_names_every_operation(sqlite_world: World) -> None:
    page = (await sqlite_world.ask("GET", "/docs", key="")).text
    described = await sqlite_world.get("/v1/openapi.json", key="")
    operations = [operation for path in described["paths"].values() for operation in path.values()]
    assert all(f"id={operation['operationId']}>" in page for operation in operations)
    assert re.findall(r"(?:src|href)=[\"']?(?:https?:)?//", page) == []
    assert "<script" not in page
    assert (await sqlite_world.ask("GET", "/style.css", key="")).headers["content-type"].startswith("text/css")


async def test_health_and_version_need_no_key(sqlite_world: World) -> None:
    health = await sqlite_world.get("/v1/health", key="")
    assert (health["status"], health["pid"]) == ("ok", os.getpid())
    assert (await sqlite_world.get("/v1/version", key=""))["version"] == "0.1.0"


def test_docs_hold_the_description_of_this_very_api() -> None:
    stored = Path(__file__).parents[2] / "docs" / "openapi.json"
    assert stored.read_text() == description_text(), "run python -m api.openapi > docs/openapi.json"


def test_every_field_that_is_described_has_a_meaning_and_an_example() -> None:
    lacking = []
    for name, schema in description()["components"]["schemas"].items():
        for field, spec in schema.get("properties", {}).items():
            if "$ref" in spec:  # the model that it is says both
                continue
            if not spec.get("description") or ("examples" not in spec and "$ref" not in json.dumps(spec)):
                lacking.append(f"{name}.{field}")
    assert lacking == []


def test_every_parameter_is_described() -> None:
    lacking = [
        f"{operation['operationId']}: {parameter['name']}"
        for path in description()["paths"].values()
        for operation in path.values()
        for parameter in operation.get("parameters", [])
        if not parameter.get("description")
    ]
    assert lacking == []


async def test_a_failed_statement_is_logged_without_its_values(
    world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database's own errors name statements; what was to be written may be somebody's."""

    value = "-".join(("do", "not", "log", "me"))  # a traceback shows this very line

    def broken(session: Session, *_: Any) -> None:
        session.execute(text("INSERT INTO nowhere VALUES (:value)"), {"value": value})

    world.key()
    monkeypatch.setattr("api.accept.intake.accept", broken)
    response = await world.ask("POST", "/v1/jobs:apply", json={"document": document()}, key=world.key())
    assert response.status_code in (500, 503)
    assert "INSERT INTO nowhere" in caplog.text
    assert value not in caplog.text + response.text
