"""Sessions with running ranks: a program beside one, a connection to a port of one; and where workers dial back."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, WebSocket
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.orm import Session

from api import sessions
from api.access import Caller, caller_of
from api.arrays import plain_row
from api.ports import EngineAway
from definitions.attempt import AttemptRef
from definitions.errors import PerdureError
from definitions.facts import Event
from definitions.ids import new_id
from definitions.principal import Action, ResourceKind
from definitions.session import Exec, Forward, SessionWork, Terminal
from definitions.states import Phase
from policies.job_steps import attempt_token
from store import events
from store.tables import JobRow

router = APIRouter(prefix="/v1", tags=["sessions"])
Rank = Annotated[int, Query(ge=0, le=1023)]
Size = Annotated[int | None, Query(ge=1, le=10_000)]
MOST_WORDS = 256


@router.websocket("/jobs/{job}/exec")
async def exec_(
    socket: WebSocket,
    job: str,
    argv: Annotated[list[str], Query(max_length=MOST_WORDS)],
    rank: Rank = 0,
    columns: Size = None,
    rows: Size = None,
    project: str | None = None,
) -> None:
    """A program beside a rank. With `columns` and `rows` it gets a terminal."""
    terminal = Terminal(columns=columns, rows=rows) if columns is not None and rows is not None else None
    await _session(socket, job, project, rank, Exec(argv=tuple(argv), terminal=terminal))


@router.websocket("/jobs/{job}/forward/{port}")
async def forward(socket: WebSocket, job: str, port: int, rank: Rank = 0, project: str | None = None) -> None:
    """A connection to a port of a rank."""
    await _session(socket, job, project, rank, Forward(port=port))


@router.websocket("/sessions/{session}")
async def serve(socket: WebSocket, session: str) -> None:
    """Where the worker of a cluster dials back. Its token is good for one session, once."""
    _, _, token = socket.headers.get("authorization", "").partition(" ")
    await socket.accept()
    await socket.app.state.deps.sessions.join(session, token, socket)
    await sessions.close(socket)


async def _session(socket: WebSocket, job: str, project: str | None, rank: int, wants: Exec | Forward) -> None:
    """Who asks is let in first, and refused with words: a refused handshake could carry none."""
    await socket.accept()
    request_id = new_id()
    try:
        caller = await run_in_threadpool(
            caller_of, socket, project, request_id, action=Action.OPERATE, kind=ResourceKind.JOB
        )
        row = await run_in_threadpool(_running, caller, job, rank, wants)
        await _hold(socket, caller, row, rank, wants)
    except PerdureError as error:
        public_url = socket.app.state.deps.settings.public_url
        await sessions.say(socket, sessions.refusal(error, public_url, request_id))
    await sessions.close(socket)


async def _hold(socket: WebSocket, caller: Caller, row: JobRow, rank: int, wants: Exec | Forward) -> None:
    deps, session = caller.deps, new_id()
    async with deps.sessions.place(session) as place:
        work = SessionWork(
            id=session,
            ref=_ref(row),
            rank=rank,
            actor=caller.principal.name,
            wants=wants,
            dial=f"{deps.settings.dial_url}/v1/sessions/{session}",
            token=place.token,
        )
        await run_in_threadpool(_note, caller, row, _opened(work, caller))
        ended = "nobody answered"
        try:
            await deps.session_starter.start(work, row.cluster)
            worker = await sessions.arrived(place)
            told = partial(sessions.refusal, public_url=deps.settings.public_url, request_id=caller.request_id)
            code = await sessions.carry(socket, worker, told)
            ended = "closed" if code is None else f"ended with {code}"
        except EngineAway:
            raise PerdureError("PD-2040", "no session was opened: the workflow engine is away") from None
        finally:
            await run_in_threadpool(_note, caller, row, _closed(work, caller, ended))


def _running(caller: Caller, reference: str, rank: int, wants: Exec | Forward) -> JobRow:
    if isinstance(wants, Exec) and not all(wants.argv[:1]):
        raise PerdureError("PD-2022", "the program's name is empty", where="argv")
    if isinstance(wants, Forward) and not 1 <= wants.port <= 65535:
        raise PerdureError("PD-2022", f"{wants.port} is no port", where="port")
    with caller.reading() as session:
        row = plain_row(caller, session, reference)
    if row.phase is not Phase.RUNNING:
        raise PerdureError("PD-2151", f"job {row.name!r} is {row.phase}", data={"phase": row.phase})
    if rank >= row.ranks:
        raise PerdureError("PD-2152", f"job {row.name!r} has ranks 0 to {row.ranks - 1}", where="rank")
    return row


def _note(caller: Caller, row: JobRow, event: Event) -> None:
    def work(session: Session) -> None:
        events.append(session, row.tenant, row.project, row.id, [event])

    caller.writing(work)


def _opened(work: SessionWork, caller: Caller) -> Event:
    wants = work.wants
    what = f"port {wants.port}" if isinstance(wants, Forward) else " ".join(wants.argv)[:200]
    return _event(work, caller, "session-opened", f"{wants.kind} with rank {work.rank}: {what}")


def _closed(work: SessionWork, caller: Caller, ended: str) -> Event:
    return _event(work, caller, "session-closed", f"{work.wants.kind} with rank {work.rank}: {ended}")


def _event(work: SessionWork, caller: Caller, kind: str, reason: str) -> Event:
    data = {"session": work.id, "rank": work.rank}
    key = f"{kind}/{work.id}"
    return Event(key=key, at=caller.deps.now(), actor=work.actor, kind=kind, reason=reason, data=data)


def _ref(row: JobRow) -> AttemptRef:
    token = attempt_token(row.seed, row.attempt)
    return AttemptRef(tenant=row.tenant, project=row.project, job=row.id, number=row.attempt, token=token)
