"""The API's operations as its own description lists them, with a body that each would take."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.routing import BaseRoute

from api.access import Needs
from tests.api.world import (
    cluster_document,
    document,
    queue_document,
    schedule_document,
    scheduling_document,
    template_document,
)

PUBLIC = frozenset(
    {
        "system.health",
        "system.version",
        "system.errors",
        "system.errorPages",
        "system.errorPage",
        "system.reference",
        "system.style",
        "system.openapi",
        "codec.preflight",
    }
)
BODIES: dict[str, Any] = {
    "jobs.submit": {"document": document()},
    "jobs.validate": {"document": document()},
    "jobs.render": {"document": document()},
    "jobs.diff": {"document": document()},
    "jobs.objects": {"document": document()},
    "jobs.apply": {"document": document("applied")},
    "jobs.import": {"text": "{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {}}}"},
    "jobs.extend": {"by": "30m"},
    "jobs.reprioritise": {"priority": 50},
    "jobs.resize": {"nodes": 2},
    "templates.create": {"document": template_document()},
    "secrets.create": {"name": "fresh", "value": "s3cr3t-value"},
    "secrets.rotate": {"value": "n3w-value"},
    "schedules.create": {"document": schedule_document("fresh")},
    "clusters.create": {"document": cluster_document("fresh")},
    "clusters.replace": {"document": cluster_document()},
    "queues.put": {"document": queue_document("none")},
    "flavors.put": {"document": scheduling_document("ResourceFlavor", "none", gpuType="X")},
    "priorityClasses.put": {"document": scheduling_document("PriorityClass", "none", value=1)},
    "topologies.put": {"document": scheduling_document("Topology", "none", levels=[{"name": "a", "nodeLabel": "b"}])},
    "nodePools.put": {"document": scheduling_document("NodePool", "none", nodeSelector={"a": "b"})},
    "schedulingDocuments.apply": {"documents": [queue_document("none")]},
    "schedulingDocuments.diff": {"documents": [queue_document("none")]},
}


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str

    @property
    def area(self) -> str:
        return self.id.partition(".")[0]

    @property
    def names_a_thing(self) -> bool:
        return "{" in self.path

    @property
    def body(self) -> Any:
        return BODIES.get(self.id)

    def gate(self, app: FastAPI) -> Needs:
        """What its route declares."""
        route = next(route for route in flat_routes(app) if route.name == self.id)
        found = [needed.call for needed in route.dependant.dependencies if isinstance(needed.call, Needs)]
        return found[0]


def operations(description: dict[str, Any]) -> list[Operation]:
    return [
        Operation(operation["operationId"], verb.upper(), re.sub(r"{(\w+):path}", r"{\1}", path))
        for path, verbs in description["paths"].items()
        for verb, operation in verbs.items()
    ]


def flat_routes(app: FastAPI) -> Iterator[APIRoute]:
    """Every route of the application, also those inside included routers."""
    yield from _flat(app.routes)


def _flat(routes: list[BaseRoute]) -> Iterator[APIRoute]:
    for route in routes:
        if isinstance(route, APIRoute):
            yield route
        elif isinstance(route, APIWebSocketRoute):
            continue  # sessions have a file of their own: test_sessions.py
        else:
            inner = getattr(route, "original_router", None) or getattr(route, "app", None)
            assert inner is not None, f"{route} is of a kind that this walk does not know"
            yield from _flat(inner.routes)
