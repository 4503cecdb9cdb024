"""Over a real socket: streams flow while they are open, and bodies that are too large are cut off."""

import asyncio
import dataclasses
import json
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime

import httpx
import pytest
import uvicorn

from api.app import create_app
from tests.api.world import World
from tests.support.polling import eventually
from tests.support.ports import free_port


@pytest.fixture
def served(sqlite_world: World) -> Iterator[str]:
    """The application with the real clock, served as the API process does."""
    deps = dataclasses.replace(sqlite_world.deps, now=lambda: datetime.now(UTC), sleep=asyncio.sleep)
    port = free_port()
    config = uvicorn.Config(create_app(deps), host="127.0.0.1", port=port, log_config=None, access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    eventually(lambda: server.started, 10, "the server started")
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)


async def test_an_event_arrives_while_the_stream_is_open(sqlite_world: World, served: str) -> None:
    job = (await sqlite_world.submit())["id"]
    headers = {"Authorization": f"Bearer {sqlite_world.key()}"}
    async with (
        httpx.AsyncClient(base_url=served, headers=headers, timeout=20) as client,
        client.stream("GET", f"/v1/jobs/{job}/events/stream") as response,
    ):
        told = data_of(response)
        assert (await anext(told))["reason"] == "submitted by admin-of-acme"
        sqlite_world.tell(job, 1, "running")
        assert (await anext(told))["reason"] == "running"
        sqlite_world.tell(job, 2, "done")
        sqlite_world.end(job)
        assert [entry async for entry in told][-1] == {}


async def data_of(response: httpx.Response) -> AsyncIterator[dict[str, str]]:
    async for line in response.aiter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


async def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_sent(sqlite_world: World, served: str) -> None:
    headers = {"Authorization": f"Bearer {sqlite_world.key()}", "Content-Length": str(2**40)}
    reader, writer = await asyncio.open_connection("127.0.0.1", int(served.rsplit(":", 1)[1]))
    lines = [f"{name}: {value}" for name, value in ({"Host": served.removeprefix("http://")} | headers).items()]
    writer.write(("\r\n".join(["POST /v1/jobs HTTP/1.1", *lines]) + "\r\n\r\n").encode())
    await writer.drain()
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"PD-2013" in answer


async def test_a_stream_of_unknown_length_is_cut_at_the_limit(sqlite_world: World, served: str) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(64):
            yield b" " * 65_536

    headers = {"Authorization": f"Bearer {sqlite_world.key()}", "Content-Type": "application/json"}
    async with httpx.AsyncClient(base_url=served, headers=headers, timeout=20) as client:
        response = await client.post("/v1/jobs", content=endless())
    assert (response.status_code, response.json()["code"]) == (413, "PD-2013")
