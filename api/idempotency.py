"""Requests with an `Idempotency-Key`: carried out once, answered as often as asked."""

import hashlib
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from sqlalchemy.orm import Session

from api.access import Caller
from api.parameters import IdempotencyKey
from definitions.ids import new_id
from store import idempotency

REPLAYED = {"Idempotent-Replayed": "true"}


@dataclass(frozen=True)
class Repeatable:
    """A request that may come again. `key` None: it was sent without one, and a repeat is another request."""

    key: str | None
    method: str
    path: str
    sha256: str

    def of(self, caller: Caller) -> idempotency.Request:
        assert self.key is not None
        return idempotency.Request(
            tenant=caller.tenant,
            principal=caller.principal.name,
            key=self.key,
            method=self.method,
            path=self.path,
            sha256=self.sha256,
        )

    def effect_id(self, caller: Caller) -> str:
        """The identity of what the request does outside: the same for every repeat of it."""
        if self.key is None:
            return new_id()
        parts = (caller.tenant, caller.principal.name, self.key, self.method, self.path)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Reply:
    """An answer as it is kept for repeats."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, status: int, view: BaseModel, **headers: str) -> "Reply":
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return cls(status, view.model_dump(mode="json", by_alias=True), named)

    def send(self) -> Response:
        return JSONResponse(self.body, self.status, self.headers)


async def _repeatable(request: Request, idempotency_key: IdempotencyKey = None) -> Repeatable:
    """The fingerprint is keyed with the caller's own API key: no secret's value can be guessed from a stolen table."""
    secret = request.headers.get("authorization", "").encode()
    digest = hmac.new(secret, request.url.query.encode() + b"\0", hashlib.sha256)
    digest.update(request.headers.get("content-type", "").encode() + b"\0")
    digest.update(await request.body())
    return Repeatable(idempotency_key, request.method, request.url.path, digest.hexdigest())


Once = Annotated[Repeatable, Depends(_repeatable)]


def once(caller: Caller, request: Repeatable, work: Callable[[Session], Reply]) -> Reply:
    """Carry out what is all in one transaction, with its answer kept in the same one. A refusal keeps nothing."""

    def answer(session: Session) -> Reply:
        if request.key is None:
            return work(session)
        met = idempotency.reserve(session, request.of(caller), caller.deps.now())
        if isinstance(met, idempotency.Answered):
            return _replay(met)
        reply = work(session)
        idempotency.complete(session, met, reply.status, _kept(reply))
        return reply

    return caller.writing(answer)


async def once_outside(caller: Caller, request: Repeatable, work: Callable[[str], Awaitable[Reply]]) -> Reply:
    """Carry out what reaches outside the store. `work` gets the identity of its effect, which makes a repeat harmless.

    What was refused, or not answered yet (202), may be asked again under the same key.
    """
    if request.key is None:
        return await work(request.effect_id(caller))
    key, now = request.of(caller), caller.deps.now()
    met = await run_in_threadpool(caller.writing, lambda session: idempotency.reserve(session, key, now))
    if isinstance(met, idempotency.Answered):
        return _replay(met)
    settled = False
    try:
        reply = await work(request.effect_id(caller))
        settled = reply.status != 202
    finally:
        if not settled:
            await run_in_threadpool(caller.writing, lambda session: idempotency.give_back(session, met))
    if settled:
        await run_in_threadpool(
            caller.writing, lambda session: idempotency.complete(session, met, reply.status, _kept(reply))
        )
    return reply


def _kept(reply: Reply) -> dict[str, Any]:
    return {"headers": reply.headers, "body": reply.body}


def _replay(answered: idempotency.Answered) -> Reply:
    kept = answered.body or {}
    return Reply(answered.status, kept.get("body", {}), kept.get("headers", {}) | REPLAYED)
