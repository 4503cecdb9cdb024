"""What admins of the installation ask: how the deployment is, and what the engine keeps sealed."""

import base64
import json

import pytest

from api.settings import CODEC
from definitions.principal import Role
from store.sealing import Keys
from tests.api.world import SETTINGS, World
from workers.payloads import data_converter

UI = {"Origin": SETTINGS.ui_url}


async def body() -> dict[str, object]:
    (payload,) = await data_converter(Keys([b"p" * 32])).encode(["hunter2"])
    metadata = {name: base64.b64encode(value).decode() for name, value in payload.metadata.items()}
    return {"payloads": [{"metadata": metadata, "data": base64.b64encode(payload.data).decode()}]}


async def test_a_diagnosis_is_healthy_only_when_every_finding_is(world: World) -> None:
    found = await world.get("/v1/doctor")
    assert found["healthy"] is False
    assert [(each["check"], each["status"], each["code"]) for each in found["findings"]] == [
        ("database", "ok", None),
        ("engine", "failed", "PD-4111"),
    ]


@pytest.mark.parametrize(
    ("tenant", "role", "status"), [("acme", Role.ADMIN, 200), ("acme", Role.MEMBER, 403), ("other", Role.ADMIN, 403)]
)
async def test_only_admins_of_the_installation_may_ask(tenant: str, role: Role, status: int, world: World) -> None:
    key = world.key(tenant, role)
    assert (await world.ask("GET", "/v1/doctor", key=key)).status_code == status
    assert (await world.ask("POST", CODEC, key=key, json=await body())).status_code == status


async def test_pages_of_the_web_ui_may_ask_for_payloads_and_nothing_else(world: World) -> None:
    preflight = await world.ask("OPTIONS", CODEC, key="", headers=UI)
    assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (204, SETTINGS.ui_url)
    answer = await world.ask("POST", CODEC, headers=UI, json=await body())
    assert answer.headers["access-control-allow-origin"] == SETTINGS.ui_url
    assert b"hunter2" in base64.b64decode(json.loads(answer.content)["payloads"][0]["data"])
    for method, path, origin in (("GET", "/v1/jobs", SETTINGS.ui_url), ("POST", CODEC, "https://elsewhere.example")):
        refused = await world.ask(method, path, headers={"Origin": origin}, json=await body())
        assert refused.json()["code"] == "PD-2006"
    assert (await world.ask("POST", CODEC, key="", headers=UI, json=await body())).status_code == 401
