"""Every refusal leaves as problem+json with a code of the registry, whatever raised it."""

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError, WebSocketRequestValidationError
from pydantic import ValidationError
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.types import ExceptionHandler
from starlette.websockets import WebSocket

from api import sessions
from definitions.api_system import Problem
from definitions.errors import PerdureError
from definitions.ids import new_id
from definitions.spec_errors import sentence

LOG = logging.getLogger("perdure.api")
MEDIA_TYPE = "application/problem+json"
BY_STATUS = {400: "PD-2014", 404: "PD-2008", 405: "PD-2005", 413: "PD-2013"}
RETRY_AFTER = {"PD-2011": "1", "PD-2040": "5", "PD-3706": "5", "PD-3711": "1"}  # seconds


def install(app: FastAPI) -> None:
    """Answer every exception that a route can raise. What is left is caught by the outermost middleware."""
    handlers: dict[type[Exception], ExceptionHandler] = {
        PerdureError: _perdure_error,
        RequestValidationError: _validation_error,
        HTTPException: _http_exception,
        OperationalError: _store_away,
        InterfaceError: _store_away,
        PoolTimeout: _store_away,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
    app.add_exception_handler(WebSocketRequestValidationError, _refused_connection)


async def _refused_connection(socket: WebSocket, error: Exception) -> None:
    """A connection whose query is at fault is taken, told why, and closed: a refused handshake carries no words."""
    assert isinstance(error, WebSocketRequestValidationError)
    await socket.accept()
    fault = invalid(RequestValidationError(error.errors()))
    await sessions.say(socket, sessions.refusal(fault, socket.app.state.deps.settings.public_url, new_id()))
    await socket.close()


def problem_response(
    error: PerdureError, *, public_url: str, path: str, request_id: str, headers: Mapping[str, str] | None = None
) -> Response:
    """The answer to a refusal. It never repeats a value that was sent."""
    problem = Problem.telling(error, public_url, instance=path, request_id=request_id)
    sent = dict(headers or {})
    if (seconds := RETRY_AFTER.get(error.code.code)) is not None:
        sent["Retry-After"] = seconds
    if error.code.status == 401:
        sent["WWW-Authenticate"] = "Bearer"
    return Response(
        problem.model_dump_json(by_alias=True, exclude_none=True),
        status_code=error.code.status,
        headers=sent,
        media_type=MEDIA_TYPE,
    )


def invalid(error: RequestValidationError | ValidationError, prefix: str = "") -> PerdureError:
    """One fault per field, each with its place. Values are left out: they may be secret."""
    faults = [_fault(details, prefix) for details in error.errors()]
    if len(faults) == 1:
        return faults[0]
    return PerdureError("PD-2022", f"the request has {len(faults)} faults", errors=faults)


def _fault(details: Mapping[str, Any], prefix: str) -> PerdureError:
    where = ".".join(str(step) for step in ((prefix,) if prefix else ()) + tuple(details["loc"]))
    kind, context = details["type"], details.get("ctx", {})
    if kind == "json_invalid":
        return PerdureError("PD-2014", f"the JSON cannot be read: {context.get('error', 'it is cut')}", where=where)
    if kind == "extra_forbidden":
        return PerdureError("PD-2022", "there is no such field, or it cannot be set", where=where)
    if kind.startswith("PD-"):
        return PerdureError(
            kind, str(details["msg"]), where=where, remedy=sentence(context["fix"]) if "fix" in context else None
        )
    return PerdureError("PD-2022", str(details["msg"]).removeprefix("Value error, "), where=where)


def _answer(request: Request, error: PerdureError, headers: Mapping[str, str] | None = None) -> Response:
    return problem_response(
        error,
        public_url=request.app.state.deps.settings.public_url,
        path=request.url.path,
        request_id=request.scope.get("request_id", ""),
        headers=headers,
    )


async def _perdure_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, PerdureError)
    return _answer(request, error)


async def _validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return _answer(request, invalid(error))


async def _http_exception(request: Request, error: Exception) -> Response:
    """Raised by the framework: unknown routes and methods, bodies that cannot be read."""
    assert isinstance(error, HTTPException)
    code = BY_STATUS.get(error.status_code, "PD-2500")
    detail = {
        "PD-2008": f"there is no {request.url.path}",
        "PD-2005": f"{request.url.path} does not take {request.method}",
    }.get(code, str(error.detail))
    return _answer(request, PerdureError(code, detail), error.headers)


async def _store_away(request: Request, error: Exception) -> Response:
    LOG.error("the database failed", exc_info=error)
    return _answer(request, PerdureError("PD-3706", "the database did not answer"))
