"""Opens sealed payloads for the engine's own tools: its Web UI and its command line. It never seals."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.concurrency import run_in_threadpool

from api.access import Caller, Needs, Public
from api.deps import ApiDeps
from api.settings import CODEC, ApiSettings
from definitions.principal import Action, ResourceKind

router = APIRouter(tags=["codec"], include_in_schema=False)  # the form is the engine's, not ours

Operator = Annotated[Caller, Depends(Needs(Action.OPERATE, ResourceKind.CLUSTER))]
Anybody = Annotated[ApiDeps, Depends(Public())]


@router.options(CODEC, name="codec.preflight")
def preflight(deps: Anybody) -> Any:
    """What a browser asks first: whether the Web UI's pages may send a key along."""
    allowed = {
        "Access-Control-Allow-Methods": "POST",
        "Access-Control-Allow-Headers": "authorization, content-type, x-namespace",
        "Access-Control-Max-Age": "600",
    }
    return Response(status_code=204, headers=_for_the_ui(deps.settings) | allowed)


@router.post(CODEC, name="codec.decode")
async def decode(caller: Operator, request: Request) -> Any:
    """The payloads of the body, opened. For admins of the installation: they are of all tenants."""
    opened = await run_in_threadpool(caller.deps.payloads.open, await request.body())
    return Response(opened, media_type="application/json", headers=_for_the_ui(caller.deps.settings))


def _for_the_ui(settings: ApiSettings) -> dict[str, str]:
    """Only pages of the engine's Web UI may read the answer. Their key comes in a header, never as a cookie."""
    return {
        "Access-Control-Allow-Origin": settings.ui_url,
        "Cross-Origin-Resource-Policy": "cross-origin",
        "Vary": "Origin",
    }
