"""Sending a call until it is answered: what is tried again, how often, and after what pause."""

from __future__ import annotations

import json
import random
import uuid
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, TypeVar

from perdure.client.call import Call, Reply, query_items
from perdure.client.script import Lost, Pause, Request, Script, Send
from perdure.codes import UNREACHABLE
from perdure.errors import PerdureApiError, PerdureError, PerdureUnreachable

T = TypeVar("T")

TRIES = 4
FIRST_PAUSE = 0.2  # seconds
LONGEST_PAUSE = 5.0
LONGEST_RETRY_AFTER = 60.0  # a server that wants more patience is answered with its own error
TRIED_AGAIN = frozenset({429, 502, 503, 504})
SAFE = frozenset({"GET", "HEAD", "PUT", "DELETE"})  # may be repeated even when it is not known whether they arrived


@dataclass(frozen=True)
class Target:
    """Where calls go, and as whom. `project` None leaves the choice to the API."""

    url: str
    key: str | None = None
    project: str | None = None

    def request(self, call: Call[Any]) -> Request:
        headers = {"accept": "application/json", **call.headers}
        if self.key:
            headers["authorization"] = f"Bearer {self.key}"
        if call.content_type:
            headers["content-type"] = call.content_type
        if call.keyed:
            headers["idempotency-key"] = uuid.uuid4().hex
        scope = {"project": call.project or self.project} if call.scoped else {}
        return Request(call, self.url.rstrip("/") + call.path, query_items({**call.query, **scope}), headers)


def exchange(target: Target, call: Call[T], tries: int = TRIES) -> Script[T]:
    """Send, and while there is hope pause and send the very same request again.

    Returns what `call.read` makes of the answer. Raises PerdureApiError for a refusal, PerdureUnreachable when nothing
    answered. A change is repeated only under its Idempotency-Key, which stays the same over all tries.
    """
    request = target.request(call)
    for attempt in range(1, tries + 1):
        outcome: Reply | Lost = yield Send(request)
        if isinstance(outcome, Reply) and (outcome.status < 400 or outcome.status in call.answers):
            return call.read(outcome)
        if attempt == tries or not _hopeful(call, outcome):
            break
        yield Pause(_pause(outcome, attempt))
    if isinstance(outcome, Reply):
        raise refusal(outcome, call)
    raise PerdureUnreachable(UNREACHABLE, f"{request.url} did not answer: {outcome.reason}", where=target.url)


def refusal(reply: Reply, call: Call[Any]) -> PerdureError:
    """The error that an answer with a status of 400 or more stands for."""
    try:
        problem = json.loads(reply.content)
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        start = reply.content[:120].decode("utf-8", "replace").strip()
        said = f" and said {start!r}" if start else ""
        problem = {"detail": f"{call.method} {call.path} was answered with HTTP status {reply.status}{said}"}
    return PerdureApiError.from_problem(problem, reply.status)


def _hopeful(call: Call[Any], outcome: Reply | Lost) -> bool:
    if isinstance(outcome, Lost):
        return not outcome.sent or call.keyed or call.method in SAFE
    if outcome.status not in TRIED_AGAIN and not (outcome.status == 409 and "retry-after" in outcome.headers):
        return False
    return _retry_after(outcome) <= LONGEST_RETRY_AFTER and (call.keyed or call.method in SAFE or outcome.status == 429)


def _pause(outcome: Reply | Lost, attempt: int) -> float:
    grown = min(FIRST_PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE)
    asked = _retry_after(outcome) if isinstance(outcome, Reply) else 0.0
    return asked + random.uniform(grown / 2, grown)


def _retry_after(reply: Reply) -> float:
    """Seconds that the answer asks to wait: a number, or a date (RFC 9110)."""
    raw = reply.headers.get("retry-after", "")
    if raw.isdigit():
        return float(raw)
    try:
        return max(0.0, parsedate_to_datetime(raw).timestamp() - time())
    except ValueError:
        return 0.0
