"""Between our calls and the HTTP library: the only place that knows both. The library's errors end here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import httpx

from perdure.client.call import Reply
from perdure.client.script import Lost, Request
from perdure.client.sse import Message
from perdure.snapshot.manifest import CHUNK, chunks

__all__ = ["CHUNK", "arguments", "body", "lost", "reply", "said", "trusts_environment"]

STREAM_PATIENCE = 60.0  # seconds without even a heartbeat
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def trusts_environment(url: str) -> bool:
    """Whether proxies named in the environment are used: not for this machine, where a proxy could not reach it."""
    return urlsplit(url).hostname not in LOOPBACK


@contextmanager
def body(request: Request) -> Iterator[bytes | BinaryIO | None]:
    """The body of a request; a file is opened anew for each try."""
    if request.call.file is None:
        yield request.call.body
        return
    with request.call.file.open("rb") as file:
        yield file


def arguments(request: Request, content: bytes | BinaryIO | None, *, stream: bool = False) -> dict[str, Any]:
    """What the HTTP library's `stream` takes."""
    given: dict[str, Any] = {
        "method": request.call.method,
        "url": request.url,
        "params": request.query,
        "headers": dict(request.headers),
        "content": content if content is None or isinstance(content, bytes) else chunks(content),
    }
    if content is not None and not isinstance(content, bytes):
        given["headers"]["content-length"] = str(_length(content))
    patience = STREAM_PATIENCE if stream else request.call.patience
    if patience is not None:
        given["timeout"] = httpx.Timeout(patience, connect=10.0)
    return given


def reply(response: httpx.Response, content: bytes) -> Reply:
    return Reply(response.status_code, lowered(response.headers), content)


def said(message: Message) -> Reply:
    """A message of a stream, to be read like an answer of its own."""
    return Reply(200, {}, message.data.encode())


def lost(error: httpx.TransportError) -> Lost:
    return Lost(str(error) or type(error).__name__, sent=not isinstance(error, NOT_SENT))


def lowered(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _length(file: BinaryIO) -> int:
    size = file.seek(0, 2)
    file.seek(0)
    return size
