"""Calls that are bounded, repeated by rule, and told to whoever counts them."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import urllib3
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, ProxyError

from activities.adapters.kubernetes.byte_stream import ByteStream
from activities.adapters.kubernetes.connection import Query, Transport
from activities.adapters.kubernetes.errors import Answer, KubeError, Target, refusal
from activities.adapters.kubernetes.retrying import Patience, Step, after

# verb, resource ("pods", "pods/log"), HTTP status (0: no answer), seconds
OnCall = Callable[[str, str, int, float], None]
NOT_SENT = (NewConnectionError, ConnectTimeoutError, ProxyError)
CHUNK = 64 * 1024


@dataclass(frozen=True)
class Call:
    """One request. `conflicts_pass`: see `retrying.after`."""

    method: str
    target: Target
    query: Query = ()
    body: bytes | None = None
    content_type: str = "application/json"
    conflicts_pass: bool = False


@dataclass(frozen=True)
class Unanswered:
    """No answer came. `sent`: the server may have done what was asked all the same."""

    why: str
    sent: bool


class Caller:
    def __init__(self, transport: Transport, on_call: OnCall, pause: Callable[[float], object] = time.sleep) -> None:
        self._transport = transport
        self._settings = transport.settings
        self._on_call = on_call
        self._pause = pause

    def patience(self) -> Patience:
        """The time for one operation, however many requests it takes."""
        return Patience(self._settings.within.total_seconds(), self._pause)

    def send(
        self, call: Call, patience: Patience, read_back: Callable[[], dict[str, Any] | None] | None = None
    ) -> Answer | dict[str, Any]:
        """The answer to a call: a success, or a refusal that a repetition would not change.

        `read_back` is for calls that must not happen twice: after an unknown outcome it looks whether the object is
        there, and what it finds is the result. Raises KubeError when no answer came in time, or only failures.
        """
        renewed = False
        while True:
            generation = self._transport.generation
            outcome = self._try(call, patience)
            step = _step(outcome, call)
            if step is Step.RENEW and not renewed:
                renewed = True
                self._transport.renew(generation)
                continue
            if isinstance(outcome, Answer) and step in (Step.DONE, Step.RENEW):
                return outcome
            if step is Step.UNKNOWN and read_back is not None and (found := read_back()) is not None:
                return found
            if not patience.wait(outcome.retry_after if isinstance(outcome, Answer) else None):
                raise self._gave_up(outcome, call)

    def stream(self, call: Call, within: float, *, repeat: bool = True) -> ByteStream:
        """The body of an answer as it comes, for at most `within` seconds. Only the opening is repeated."""
        patience, renewed = self.patience(), False
        while True:
            generation = self._transport.generation
            opened = self._open(call, patience)
            if isinstance(opened, ByteStream):
                opened.bound(within)
                return opened
            step = _step(opened, call)
            if step is Step.RENEW and not renewed:
                renewed = True
                self._transport.renew(generation)
                continue
            if isinstance(opened, Answer) and step in (Step.DONE, Step.RENEW):
                raise refusal(opened, call.target)
            if not repeat or not patience.wait(opened.retry_after if isinstance(opened, Answer) else None):
                raise self._gave_up(opened, call)

    def _try(self, call: Call, patience: Patience) -> Answer | Unanswered:
        with self._told(call.target) as told:
            response = self._request(call, patience)
            if isinstance(response, Unanswered):
                return response
            answer = self._read(response, patience)
            told(response.status if isinstance(answer, Answer) else 0)
            return answer

    def _open(self, call: Call, patience: Patience) -> ByteStream | Answer | Unanswered:
        with self._told(call.target) as told:
            response = self._request(call, patience)
            if isinstance(response, Unanswered):
                return response
            told(response.status)
            return ByteStream(response, str(call.target)) if response.status == 200 else self._read(response, patience)

    def _request(self, call: Call, patience: Patience) -> urllib3.BaseHTTPResponse | Unanswered:
        target, left = call.target, max(patience.left(), 0.001)
        try:
            return self._transport.open(
                call.method,
                target.path,
                call.query,
                body=call.body,
                headers={"Accept": "application/json"} | ({"Content-Type": call.content_type} if call.body else {}),
                connect=min(self._settings.connect.total_seconds(), left),
                read=min(self._settings.read.total_seconds(), left),
            )
        except NOT_SENT as error:
            return Unanswered(str(error), sent=False)
        except (HTTPError, OSError) as error:
            return Unanswered(str(error) or type(error).__name__, sent=True)

    def _read(self, response: urllib3.BaseHTTPResponse, patience: Patience) -> Answer | Unanswered:
        """The whole body, or nothing: half an answer is none."""
        chunks: list[bytes] = []
        try:
            while chunk := response.read1(CHUNK):
                chunks.append(chunk)
                if not patience.left():
                    response.close()
                    return Unanswered("the answer took too long", sent=True)
        except (HTTPError, OSError) as error:
            response.close()
            return Unanswered(str(error) or type(error).__name__, sent=True)
        response.release_conn()
        return Answer(response.status, b"".join(chunks), _seconds(response.headers.get("Retry-After")))

    def _gave_up(self, outcome: Answer | Unanswered, call: Call) -> KubeError:
        if isinstance(outcome, Answer):
            return refusal(outcome, call.target)
        host = self._transport.configuration.host
        return KubeError("PD-3100", f"cannot {call.target}: no answer from {host}: {outcome.why}")

    @contextlib.contextmanager
    def _told(self, target: Target) -> Iterator[Callable[[int], None]]:
        began, status = time.monotonic(), 0

        def told(answered: int) -> None:
            nonlocal status
            status = answered

        try:
            yield told
        finally:
            self._on_call(target.verb, target.resource, status, time.monotonic() - began)


def _step(outcome: Answer | Unanswered, call: Call) -> Step:
    if isinstance(outcome, Unanswered):
        return Step.UNKNOWN if outcome.sent else Step.AGAIN
    return after(outcome, conflicts_pass=call.conflicts_pass)


def _seconds(header: str | None) -> float | None:
    """Retry-After as the API server writes it; a date, which it never sends, counts as absent."""
    return float(header) if header and header.isdigit() else None
