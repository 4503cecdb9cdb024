"""Who may open sessions with which jobs. What goes through one is proven on the whole control plane."""

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from api import sessions
from definitions.principal import Role
from definitions.session import Channel, unpack
from definitions.states import Phase
from tests.api.world import World


def told(world: World, path: str, key: str) -> dict[str, Any]:
    """The problem that a connection is refused with."""
    client = TestClient(world.app, base_url="http://127.0.0.1:8642")
    with client.websocket_connect(path, headers={"Authorization": f"Bearer {key}", "Host": "127.0.0.1"}) as line:
        frame = unpack(line.receive_bytes())
    assert frame.channel is Channel.STATUS
    problem: dict[str, Any] = json.loads(frame.data)["problem"]
    return problem


@pytest.fixture
async def job(sqlite_world: World) -> str:
    made: str = (await sqlite_world.submit())["id"]
    sqlite_world.change(made, phase=Phase.RUNNING, attempt=1)
    return made


PATHS = ("/v1/jobs/{job}/exec?argv=true", "/v1/jobs/{job}/forward/80")


@pytest.mark.parametrize("path", PATHS)
async def test_another_tenants_job_is_one_that_does_not_exist(sqlite_world: World, job: str, path: str) -> None:
    rival = sqlite_world.key("rival")
    foreign = told(sqlite_world, path.format(job=job), rival)
    unknown = told(sqlite_world, path.format(job="nothing"), rival)
    assert (foreign["code"], unknown["code"]) == ("PD-2004", "PD-2004")
    assert foreign["detail"].replace(job, "X") == unknown["detail"].replace("nothing", "X")


@pytest.mark.parametrize("path", PATHS)
async def test_who_may_only_look_opens_no_session(sqlite_world: World, job: str, path: str) -> None:
    assert told(sqlite_world, path.format(job=job), sqlite_world.key(role=Role.VIEWER))["code"] == "PD-2002"
    stranger = sqlite_world.key(role=Role.MEMBER, projects=("other",))
    assert (
        told(sqlite_world, f"{path.format(job=job)}{'&' if '?' in path else '?'}project=default", stranger)["code"]
        == "PD-2002"
    )


@pytest.mark.parametrize("path", PATHS)
async def test_a_worker_that_does_not_come_is_told_and_noted(
    sqlite_world: World, job: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "WORKER_WITHIN", 0.2)
    assert told(sqlite_world, path.format(job=job), sqlite_world.key())["code"] == "PD-2150"
    events = (await sqlite_world.get(f"/v1/jobs/{job}/events"))["items"]
    noted = [(event["kind"], event["actor"]) for event in events if event["kind"].startswith("session")]
    assert noted == [("session-opened", "admin-of-acme"), ("session-closed", "admin-of-acme")]


async def test_a_job_that_does_not_run_has_no_sessions(sqlite_world: World, job: str) -> None:
    sqlite_world.change(job, phase=Phase.SUSPENDED)
    assert told(sqlite_world, PATHS[0].format(job=job), sqlite_world.key())["code"] == "PD-2151"
