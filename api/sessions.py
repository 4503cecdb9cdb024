"""Sessions: two connections that meet here, a person's and that of the worker of the job's cluster.

Nothing of a session is kept but its two events. The worker dials the very process that the person is connected to, so
any number of these may stand behind one address.
"""

import asyncio
import contextlib
import json
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from definitions.api_system import Problem
from definitions.errors import PerdureError
from definitions.session import Channel, Frame, pack, unpack

WORKER_WITHIN = 15.0  # seconds for the worker to dial back


@dataclass
class _Place:
    """Where one session's worker is waited for."""

    token: str
    came: asyncio.Future[WebSocket]
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Sessions:
    """The sessions of this process, by id."""

    def __init__(self) -> None:
        self._places: dict[str, _Place] = {}

    @asynccontextmanager
    async def place(self, session: str) -> AsyncIterator[_Place]:
        """Expect the worker of a session while the block runs."""
        place = _Place(secrets.token_urlsafe(32), asyncio.get_running_loop().create_future())
        self._places[session] = place
        try:
            yield place
        finally:
            del self._places[session]
            place.over.set()

    async def join(self, session: str, token: str, worker: WebSocket) -> bool:
        """The worker's end: hand over its connection, and keep it open until the session is over.

        False when nobody waits for it, or not with this token, or another came first.
        """
        place = self._places.get(session)
        if place is None or place.came.done() or not secrets.compare_digest(place.token, token):
            return False
        place.came.set_result(worker)
        await place.over.wait()
        return True


async def arrived(place: _Place) -> WebSocket:
    """The worker's connection. Raises PerdureError PD-2150 when none comes."""
    try:
        return await asyncio.wait_for(asyncio.shield(place.came), WORKER_WITHIN)
    except TimeoutError:
        raise PerdureError("PD-2150", "the worker of the job's cluster did not answer") from None


async def carry(person: WebSocket, worker: WebSocket, told: Callable[[PerdureError], Frame]) -> int | None:
    """Pass frames both ways until either end has gone; returns the exit code that went by.

    `told` makes the person's frame of a refusal by the worker, which knows only its code and detail.
    """
    ends: list[int | None] = []

    def outwards(frame: Frame) -> Frame:
        if frame.channel is not Channel.STATUS:
            return frame
        status = json.loads(frame.data)
        ends.append(status.get("exitCode"))
        problem = status.get("problem")
        return frame if problem is None else told(PerdureError(problem["code"], problem["detail"]))

    both = [
        asyncio.create_task(_pump(person, worker, lambda frame: frame)),
        asyncio.create_task(_pump(worker, person, outwards)),
    ]
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in both:
            task.cancel()
        await asyncio.gather(*both, return_exceptions=True)
        await close(worker)
    return ends[0] if ends else None


def refusal(error: PerdureError, public_url: str, request_id: str) -> Frame:
    """What a refused request would be told, as the last frame."""
    problem = Problem.telling(error, public_url, instance="", request_id=request_id)
    shown = problem.model_dump(mode="json", by_alias=True, exclude_none=True)
    return Frame(Channel.STATUS, json.dumps({"problem": shown}).encode())


async def say(person: WebSocket, frame: Frame) -> None:
    """Send a frame to somebody who may have gone."""
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        await person.send_bytes(pack(frame))


async def close(socket: WebSocket) -> None:
    if socket.application_state is WebSocketState.CONNECTED and socket.client_state is WebSocketState.CONNECTED:
        try:
            await socket.close()
        except RuntimeError:  # it went at this very moment
            return


async def _pump(source: WebSocket, target: WebSocket, passed: Callable[[Frame], Frame]) -> None:
    """One direction. Waits for the target to take each message, so that neither side fills this process's memory."""
    while True:
        try:
            frame = unpack(await source.receive_bytes())
            await target.send_bytes(pack(passed(frame)))
        except (WebSocketDisconnect, RuntimeError, KeyError, ValueError):  # gone, or no frame of ours
            return
