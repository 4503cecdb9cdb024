"""What the API says of itself: health, version, metrics, error codes, its reference."""

import os
import platform
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, PlainTextResponse
from sqlalchemy import text

from api import pages
from api.access import Caller, Needs, Public
from api.deps import ApiDeps
from api.metrics import CONTENT_TYPE, scrape
from api.parameters import CodePath
from definitions.api_system import Diagnosis, ErrorCodePage, ErrorCodeView, FindingStatus, Health, Version
from definitions.errors import PerdureError, all_codes, documentation_path
from definitions.principal import Action, ResourceKind
from store.engine import reading

router = APIRouter(tags=["system"])

Anybody = Annotated[ApiDeps, Depends(Public())]
Reader = Annotated[Caller, Depends(Needs(Action.READ, ResourceKind.SYSTEM))]
Operator = Annotated[Caller, Depends(Needs(Action.OPERATE, ResourceKind.CLUSTER))]  # the installation's own admins
PAGE: dict[int | str, dict[str, Any]] = {
    200: {"description": "A page.", "content": {"text/html": {"schema": {"type": "string"}}}}
}


@router.get("/v1/health", name="system.health", response_model=Health)
def health(deps: Anybody) -> Any:
    """Whether the API and its store answer."""
    with reading(deps.engine) as session:
        session.execute(text("SELECT 1"))
    return Health(status="ok", pid=os.getpid(), checks={"store": "ok"})


@router.get("/v1/version", name="system.version", response_model=Version)
def version(deps: Anybody) -> Any:
    """What is running."""
    return Version(version=deps.settings.version, python=platform.python_version())


@router.get("/v1/doctor", name="system.doctor", response_model=Diagnosis)
async def doctor(caller: Operator) -> Any:
    """Look at every part of the deployment, and say what would mend it."""
    findings = list(await caller.deps.doctor.examine())
    return Diagnosis(healthy=all(each.status is FindingStatus.OK for each in findings), findings=findings)


@router.get("/v1/errors", name="system.errors", response_model=ErrorCodePage)
def errors(deps: Anybody) -> Any:
    """Every error code there is."""
    items = [
        ErrorCodeView(
            code=code.code,
            title=code.title,
            status=code.status,
            exit=int(code.exit),
            why=code.why,
            remedy=code.remedy,
            page=documentation_path(code.code),
        )
        for code in all_codes()
    ]
    return ErrorCodePage(items=items)


@router.get("/errors", name="system.errorPages", response_class=HTMLResponse, responses=PAGE)
def error_pages(deps: Anybody) -> Any:
    """The page with every error code."""
    return pages.errors_page(all_codes())


@router.get("/errors/{code}", name="system.errorPage", response_class=HTMLResponse, responses=PAGE)
def error_page(deps: Anybody, code: CodePath) -> Any:
    """The page about one error code."""
    found = next((entry for entry in all_codes() if entry.code == code), None)
    if found is None:
        raise PerdureError("PD-2004", f"there is no error code {code!r}")
    return pages.error_page(found)


@router.get("/docs", name="system.reference", response_class=HTMLResponse, responses=PAGE)
def reference(deps: Anybody, request: Request) -> Any:
    """The reference of this API, for people."""
    return pages.reference_page(request.app.openapi())


@router.get("/style.css", name="system.style", include_in_schema=False)
def style(deps: Anybody) -> Any:
    """What the pages look like."""
    return pages.style()


@router.get("/v1/openapi.json", name="system.openapi", include_in_schema=False)
def openapi(deps: Anybody, request: Request) -> Any:
    """The description of this API, for programs."""
    return request.app.openapi()


@router.get("/metrics", name="system.metrics", response_class=PlainTextResponse)
async def metrics(caller: Reader, request: Request) -> Any:
    """Numbers in Prometheus' text form."""
    own = await run_in_threadpool(
        scrape, request.app.state.registry, caller.deps.engine, caller.tenant, caller.deps.now()
    )
    return Response(own + (await caller.deps.worker_metrics()).encode(), headers={"Content-Type": CONTENT_TYPE})
