"""The API's own description."""

import json
import sys
from typing import Any, cast

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic.json_schema import models_json_schema

from definitions.api_catalog import CreateSchedule, CreateTemplate
from definitions.api_clusters import PutCluster
from definitions.api_scheduling_documents import ApplySchedulingDocuments, PutSchedulingDocument
from definitions.api_submit import SubmitJob
from definitions.api_system import Problem
from definitions.job import Job

VERSION = "0.1.0"
REFERENCE = "#/components/schemas/{model}"
# Bodies that routes read themselves.
HAND_READ = (
    SubmitJob,
    CreateTemplate,
    CreateSchedule,
    PutCluster,
    PutSchedulingDocument,
    ApplySchedulingDocuments,
    Problem,
    Job,
)


def operation_id(route: APIRoute) -> str:
    """Routes are called like `jobs.list`; clients are generated from these names."""
    return route.name


def describe(app: FastAPI) -> None:
    """Give the application an `openapi()` that also knows bodies which routes read themselves, and refusals."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(
                title=app.title,
                version=app.version,
                description=app.description,
                routes=app.routes,
                separate_input_output_schemas=False,
            )
            _complete(document)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _complete(document: dict[str, Any]) -> None:
    _, extra = models_json_schema([(model, "validation") for model in HAND_READ], ref_template=REFERENCE)
    schemas = document["components"]["schemas"]
    for name, schema in extra["$defs"].items():
        schemas.setdefault(name, schema)
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    document["components"]["schemas"] = dict(sorted(schemas.items()))
    refusal = {
        "description": "Refused; the code says why.",
        "content": {"application/problem+json": {"schema": {"$ref": REFERENCE.format(model="Problem")}}},
    }
    for path in document["paths"].values():
        for operation in path.values():
            operation["summary"] = operation["description"].split("\n")[0].split(". ")[0].rstrip(".")
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = refusal


def document() -> dict[str, Any]:
    """The description of this version's API. It needs no store, no engine and no settings."""
    from api.app import create_app
    from api.deps import ApiDeps
    from api.settings import ApiSettings

    nothing = cast(Any, None)
    deps = ApiDeps(
        engine=nothing,
        operator=nothing,
        reservations=nothing,
        clusters=nothing,
        blobs=nothing,
        snapshots=nothing,
        logs=nothing,
        metrics=nothing,
        keys=nothing,
        session_starter=nothing,
        doctor=nothing,
        payloads=nothing,
        settings=ApiSettings(version=VERSION),
        now=nothing,
        sleep=nothing,
        worker_metrics=nothing,
    )
    return create_app(deps).openapi()


def text() -> str:
    """The description as docs/openapi.json holds it."""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
