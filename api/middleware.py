"""What happens to every request before a route sees it, as plain ASGI: nothing here buffers or delays a stream."""

import logging
import re
import time
from collections.abc import Awaitable, Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from api.problems import problem_response
from api.settings import CODEC, ApiSettings
from definitions.errors import PerdureError
from definitions.ids import new_id

LOG = logging.getLogger("perdure.api")
SAFE_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
SNAPSHOTS = "/v1/snapshots/"
REFUSED = 1008  # a connection that breaks the rules
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'",
    "Cache-Control": "no-store",
}
Observe = Callable[[str, str, int, float], None]  # route, method, status, seconds


class RequestContext:
    """Outermost: gives the request its id, writes one log line, measures, and turns a crash into a problem."""

    def __init__(self, app: ASGIApp, settings: ApiSettings, observe: Observe) -> None:
        self._app = app
        self._settings = settings
        self._observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = scope["request_id"] = _request_id(Headers(scope=scope))
        with bound_contextvars(request_id=request_id):
            await self._answer(scope, receive, send, request_id)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, request_id: str) -> None:
        began = time.perf_counter()
        scope["log"] = {}  # access control adds who asked, routes add what about
        status = 0

        async def reply(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = request_id
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, reply)
        except Exception:
            LOG.exception("request crashed", extra={"method": scope["method"], "path": scope["path"]})
            if status:
                raise  # the answer has begun: only cutting the connection tells the client that it is not whole
            await self._refuse(scope, receive, reply, request_id)
        finally:
            self._finish(scope, status, time.perf_counter() - began)

    async def _refuse(self, scope: Scope, receive: Receive, reply: Send, request_id: str) -> None:
        error = PerdureError("PD-2500", "the request could not be answered")
        url = self._settings.public_url
        await problem_response(error, public_url=url, path=scope["path"], request_id=request_id)(scope, receive, reply)

    def _finish(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        self._observe(route, scope["method"], status, seconds)
        facts = {"method": scope["method"], "path": scope["path"], "status": status, "ms": round(seconds * 1000, 1)}
        LOG.info("request", extra=facts | scope["log"])


class Guard:
    """Refuses requests for other hosts, from other sites' pages, and with bodies that are too large."""

    def __init__(self, app: ASGIApp, settings: ApiSettings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if scope["type"] == "websocket":
            if self._host(headers) or self._origin(headers):
                await send({"type": "websocket.close", "code": REFUSED})
            else:
                await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._settings.limits.snapshot if scope["path"].startswith(SNAPSHOTS) else self._settings.limits.body
        refusal = self._host(headers) or self._origin(headers, scope["path"]) or _declared_size(headers, limit)
        if refusal is not None:
            response = problem_response(
                refusal,
                public_url=self._settings.public_url,
                path=scope["path"],
                request_id=scope.get("request_id", ""),
                headers={"Connection": "close"},  # the body is not read
            )
            await response(scope, receive, send)
            return
        await self._app(scope, _counted(receive, limit), send)

    def _host(self, headers: Headers) -> PerdureError | None:
        hosts = headers.getlist("host")
        if len(hosts) == 1 and _without_port(hosts[0]) in self._settings.allowed_hosts:
            return None
        return PerdureError("PD-2003", "the Host header names none of the hosts served here", where="Host")

    def _origin(self, headers: Headers, path: str = "") -> PerdureError | None:
        """Programs send no Origin. A browser does: of our own pages, or, for one route, of the UI's."""
        origin = headers.get("origin")
        own = {f"{scheme}://{headers['host']}" for scheme in ("http", "https")} | {
            self._settings.public_url.rstrip("/")
        }
        if origin is None or origin in own or (path == CODEC and origin == self._settings.ui_url):
            return None
        return PerdureError("PD-2006", "requests from pages of other sites are not taken", where="Origin")


def _request_id(headers: Headers) -> str:
    given = headers.get("x-request-id", "")
    return given if SAFE_ID.fullmatch(given) else new_id()


def _without_port(host: str) -> str:
    return re.sub(r":\d+$", "", host.lower())


def _declared_size(headers: Headers, limit: int) -> PerdureError | None:
    declared = headers.get("content-length", "0")
    if declared.isascii() and declared.isdigit() and int(declared) <= limit:
        return None
    return PerdureError("PD-2013", f"the body has {declared[:20]} bytes; this route takes {limit}")


def _counted(receive: Receive, limit: int) -> Callable[[], Awaitable[Message]]:
    """Bodies of unknown length are counted as they come. The framework lets only HTTPException through."""
    seen = 0

    async def counting() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            raise HTTPException(413, f"the body has more than the {limit} bytes that this route takes")
        return message

    return counting
