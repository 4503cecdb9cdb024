"""Whatever is sent, the answer is one that the description knows: no crash, no success without a check."""

import asyncio
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.openapi import document as description
from store.engine import open_engine
from store.migrate import upgrade
from tests.api.routes import BODIES, Operation, operations
from tests.api.world import World, make_world

OPERATIONS = [operation for operation in operations(description()) if not operation.id.endswith("Stream")]
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
NAMES = st.sampled_from(["digits", "0" * 26, "a:b", "..", "%2e%2e", "x" * 64, "é", "a b", "'", "\\", "?", "#"])
QUERIES = st.dictionaries(
    st.sampled_from(["limit", "cursor", "project", "phase", "selector", "since", "tail", "rank", "attempt", "timeout"]),
    st.text(max_size=12) | st.integers().map(str),
    max_size=3,
)
HEADERS = st.dictionaries(
    st.sampled_from(["If-Match", "If-None-Match", "Idempotency-Key", "Last-Event-ID", "Accept", "Perdure-Source"]),
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20),
    max_size=2,
)


@st.composite
def bodies(draw: st.DrawFn, operation: Operation) -> Any:
    """A body that the operation would take, with one place of it replaced; or anything."""
    valid = BODIES.get(operation.id)
    if valid is None or draw(st.booleans()):
        return draw(TREES)
    return _replaced(draw, valid)


def _replaced(draw: st.DrawFn, node: Any) -> Any:
    if isinstance(node, dict) and node and draw(st.integers(0, 3)) > 0:
        key = draw(st.sampled_from(sorted(node)))
        return {**node, key: _replaced(draw, node[key])}
    if isinstance(node, list) and node and draw(st.booleans()):
        return [*node[:-1], _replaced(draw, node[-1])]
    return draw(TREES)


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    operation = draw(st.sampled_from(OPERATIONS))
    path = operation.path
    while "{" in path:
        start, _, rest = path.partition("{")
        path = start + draw(NAMES) + rest.partition("}")[2]
    made = {"operation": operation, "path": path, "params": draw(QUERIES), "headers": draw(HEADERS)}
    if operation.method in ("POST", "PUT"):
        made["json"] = draw(bodies(operation))
    return made


def test_no_request_crashes_the_api(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'control.db'}"
    upgrade(url)
    world = make_world(open_engine(url, durable=False))
    documented = {
        operation["operationId"]: operation for path in description()["paths"].values() for operation in path.values()
    }

    @settings(max_examples=250, suppress_health_check=list(HealthCheck))
    @given(requests())
    def play(request: dict[str, Any]) -> None:
        asyncio.run(_play(world, documented, request))

    play()


async def _play(world: World, documented: dict[str, Any], request: dict[str, Any]) -> None:
    operation: Operation = request.pop("operation")
    path = request.pop("path")
    try:
        response = await world.ask(operation.method, path, **request)
    except (ValueError, UnicodeEncodeError):
        return  # the client itself refuses to send this
    assert response.status_code != 500, f"{operation.id} {path}: {response.text}"
    if response.status_code >= 400:
        assert operation.method == "HEAD" or response.headers["content-type"] == "application/problem+json"
    elif response.status_code != 304:
        known = documented[operation.id]["responses"] if response.request.url.path == path else {}
        assert not known or str(response.status_code) in known, f"{operation.id}: {response.status_code}"
