"""Putting the API together."""

from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from api import problems
from api.deps import ApiDeps
from api.metrics import RequestMetrics
from api.middleware import Guard, RequestContext
from api.openapi import describe, operation_id
from api.routes import (
    clusters,
    codec,
    imports,
    job_history,
    job_logs,
    job_objects,
    job_operations,
    jobs,
    nodes,
    queueing,
    reservations,
    schedules,
    scheduling_documents,
    secrets,
    sessions,
    snapshots,
    system,
    templates,
)

DESCRIPTION = "Jobs that survive anything. Every refusal is problem+json with a stable code; see `/v1/errors`."
AREAS = (
    system,
    jobs,
    imports,
    job_operations,
    job_objects,
    job_history,
    job_logs,
    sessions,
    snapshots,
    templates,
    secrets,
    schedules,
    clusters,
    nodes,
    scheduling_documents,
    reservations,
    queueing,
    codec,
)


def create_app(deps: ApiDeps) -> FastAPI:
    """The ASGI application. It opens nothing by itself: whoever made `deps` closes what is in it."""
    app = FastAPI(
        title="Perdure",
        version=deps.settings.version,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        separate_input_output_schemas=False,
        generate_unique_id_function=operation_id,
        redirect_slashes=False,
    )
    app.state.deps = deps
    app.state.registry = CollectorRegistry()
    for area in AREAS:
        app.include_router(area.router)
    problems.install(app)
    describe(app)
    app.add_middleware(Guard, settings=deps.settings)
    observe = RequestMetrics(app.state.registry).observe
    app.add_middleware(RequestContext, settings=deps.settings, observe=observe)
    return app
