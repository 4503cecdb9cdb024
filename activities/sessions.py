"""Sessions: the worker of a cluster opens one with a rank, dials back to the API that asked, and carries the bytes."""

import contextlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from temporalio import activity

from activities.effects import beating, effect
from activities.ports import ByteStream, PortError, Runtime
from definitions.session import LONGEST_HOURS, Channel, Exec, Frame, SessionEnd, SessionWork


class Line(Protocol):
    """The connection to the API. One thread may receive while another sends."""

    def receive(self) -> Frame | None:
        """The next frame from the person; None when the person has gone."""

    def send(self, frame: Frame) -> None: ...

    def close(self) -> None: ...


class Dialler(Protocol):
    """How a worker reaches the API that waits for it."""

    def dial(self, address: str, token: str) -> Line:
        """Raises PortError when nobody waits there any more."""


class SessionActivities:
    """Served where the runtime is, beside the job's own activities."""

    def __init__(self, runtime: Runtime, dialler: Dialler) -> None:
        self._runtime = runtime
        self._dialler = dialler

    @activity.defn
    def serve(self, work: SessionWork) -> SessionEnd:
        """Carry a session from its beginning to its end. Not repeated: who typed has gone with the connection.

        What it started ends with it, whatever happens to this worker: a terminal or pipe without another end ends them.
        """
        with beating(LONGEST_HOURS * 3600):
            with effect("dial-back"):
                line = self._dialler.dial(work.dial, work.token)
            with contextlib.closing(line):
                try:
                    stream = self._open(work)
                except PortError as error:
                    problem = {"code": error.code, "detail": str(error)}
                    line.send(Frame(Channel.STATUS, json.dumps({"problem": problem}).encode()))
                    return SessionEnd(problem=str(error))
                with contextlib.closing(stream):
                    return _carry(line, stream)

    def _open(self, work: SessionWork) -> ByteStream:
        with effect("open-session"):
            if isinstance(work.wants, Exec):
                return self._runtime.exec(work.ref, work.rank, work.wants)
            return self._runtime.connect(work.ref, work.rank, work.wants.port)


def _carry(line: Line, stream: ByteStream) -> SessionEnd:
    """Both ways at once; over when the stream has told its end, or the person has gone."""
    end = SessionEnd()
    with _inwards(line, stream):
        while (frame := stream.receive()) is not None:
            line.send(frame)
            if frame.channel is Channel.STATUS:
                end = SessionEnd(exit_code=json.loads(frame.data).get("exitCode"))
    return end


@contextmanager
def _inwards(line: Line, stream: ByteStream) -> Iterator[None]:
    """What the person sends, in a thread of its own. The person's going closes the stream, which wakes its reader."""

    def pump() -> None:
        while (frame := line.receive()) is not None:
            stream.send(frame)
        stream.close()

    thread = threading.Thread(target=pump, name="session-input", daemon=True)
    thread.start()
    try:
        yield
    finally:
        line.close()
        thread.join()
