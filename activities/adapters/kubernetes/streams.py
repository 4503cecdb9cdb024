"""Sessions with a container: commands with exit codes, terminals, and ports."""

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from activities.adapters.kubernetes.calling import OnCall
from activities.adapters.kubernetes.channels import Channels
from activities.adapters.kubernetes.connection import Query, Transport
from activities.adapters.kubernetes.errors import KubeError, Target
from activities.adapters.kubernetes.retrying import Patience
from activities.adapters.kubernetes.websockets import WITH_CLOSE, WITHOUT_CLOSE, connect

STDIN, STDOUT, STDERR, STATUS, RESIZE = range(5)
PIECE = 32 * 1024  # bytes of input per frame
OUTPUT_LIMIT = 64 * 1024 * 1024
PORT_HEADER = 2  # bytes at the start of each channel of a port: its number


@dataclass(frozen=True)
class ExecResult:
    """How a command ended, and what it wrote."""

    code: int
    stdout: bytes
    stderr: bytes


class ExecStream:
    """A command that runs in a container. One thread reads; any thread may write, resize and close."""

    def __init__(self, channels: Channels, target: Target) -> None:
        self._channels = channels
        self._target = target
        self.code: int | None = None

    @property
    def ended(self) -> bool:
        """Nothing more will be read. `code` is the exit code, or None when the session was closed before the end."""
        return self._channels.ended

    def read(self, seconds: float) -> tuple[int, bytes] | None:
        """Next output as (STDOUT or STDERR, bytes); None when none came in that time, or at the end."""
        ends = time.monotonic() + seconds
        while (frame := self._channels.read(max(0.0, ends - time.monotonic()))) is not None:
            channel, data = frame
            if channel == STATUS:
                self.code = _exit_code(data, self._target)
            elif channel in (STDOUT, STDERR) and data:
                return channel, data
        return None

    def write(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE):
            self._channels.write(STDIN, data[start : start + PIECE])

    def end_input(self) -> None:
        """Tell the command that its input is over. Raises PD-3113 when the server's protocol cannot tell it."""
        self.must_hear_the_end_of_input()
        self._channels.close_one(STDIN)

    def must_hear_the_end_of_input(self) -> None:
        if not self._channels.can_close_one:
            raise KubeError(
                "PD-3113", f"{self._target}: this server cannot end a command's input; Kubernetes 1.30 or later can"
            )

    def resize(self, columns: int, rows: int) -> None:
        self._channels.write(RESIZE, json.dumps({"Width": columns, "Height": rows}).encode())

    def close(self) -> None:
        """Leave; the command may go on running. Safe to repeat."""
        self._channels.close()


class PortForward:
    """One connection to a port of a pod. One thread reads; any thread may write and close."""

    def __init__(self, channels: Channels, target: Target) -> None:
        self._channels = channels
        self._target = target
        self._headers = {0: PORT_HEADER, 1: PORT_HEADER}

    @property
    def ended(self) -> bool:
        return self._channels.ended

    def read(self, seconds: float) -> bytes | None:
        """Bytes from the pod; None when none came in that time, or when it has closed (`ended`).

        Raises PD-3113 with the kubelet's words when nothing listens on the port.
        """
        ends = time.monotonic() + seconds
        while (frame := self._channels.read(max(0.0, ends - time.monotonic()))) is not None:
            channel, data = frame
            if skip := self._headers.get(channel, 0):
                self._headers[channel] = max(0, skip - len(data))
                data = data[skip:]
            if data and channel == 1:
                self.close()
                raise KubeError("PD-3113", f"cannot {self._target}: {data.decode(errors='replace').strip()}")
            if data:
                return data
        return None

    def write(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE):
            self._channels.write(0, data[start : start + PIECE])

    def close(self) -> None:
        self._channels.close()


class Streams:
    """Opens sessions over one connection."""

    def __init__(self, transport: Transport, on_call: OnCall, pause: Callable[[float], object]) -> None:
        self._transport = transport
        self._on_call = on_call
        self._pause = pause

    def run(self, target: Target, container: str, argv: Sequence[str], stdin: bytes, within: float) -> ExecResult:
        """A command from start to end."""
        ends = time.monotonic() + within
        stream = self._exec(target, container, argv, stdin=bool(stdin), tty=False, within=within)
        writer = threading.Thread(target=_feed, args=(stream, stdin), name="exec-stdin", daemon=True)
        try:
            if stdin:
                stream.must_hear_the_end_of_input()
                writer.start()  # beside the reading: a command that answers before it has read all would block us
            return _to_the_end(stream, target, ends)
        finally:
            stream.close()
            if writer.ident is not None:
                writer.join()

    def interactive(self, target: Target, container: str, argv: Sequence[str], *, tty: bool) -> ExecStream:
        return self._exec(target, container, argv, stdin=True, tty=tty)

    def forward(self, target: Target, port: int) -> PortForward:
        return PortForward(self._open(target, (("ports", str(port)),), [WITHOUT_CLOSE]), target)

    def _exec(
        self,
        target: Target,
        container: str,
        argv: Sequence[str],
        *,
        stdin: bool,
        tty: bool,
        within: float = float("inf"),
    ) -> ExecStream:
        flags = {"stdin": stdin, "stdout": True, "stderr": not tty, "tty": tty}
        query = (
            ("container", container),
            *(("command", part) for part in argv),
            *((name, "true" if value else "false") for name, value in flags.items()),
        )
        return ExecStream(self._open(target, query, [WITH_CLOSE, WITHOUT_CLOSE], within), target)

    def _open(self, target: Target, query: Query, protocols: list[str], within: float = float("inf")) -> Channels:
        patience = Patience(min(within, self._transport.settings.within.total_seconds()), self._pause)
        return connect(self._transport, target, query, protocols, self._on_call, patience)


def _to_the_end(stream: ExecStream, target: Target, ends: float) -> ExecResult:
    output: dict[int, list[bytes]] = {STDOUT: [], STDERR: []}
    size = 0
    while not stream.ended:
        if (frame := stream.read(max(0.0, ends - time.monotonic()))) is not None:
            output[frame[0]].append(frame[1])
            size += len(frame[1])
        elif not stream.ended:
            raise KubeError("PD-3116", f"{target}: the command did not end in time")
        if size > OUTPUT_LIMIT:
            raise KubeError("PD-3112", f"{target}: the command wrote more than {OUTPUT_LIMIT} bytes")
    if stream.code is None:
        raise KubeError("PD-3114", f"{target}: the session ended without an exit code")
    return ExecResult(stream.code, b"".join(output[STDOUT]), b"".join(output[STDERR]))


def _feed(stream: ExecStream, stdin: bytes) -> None:
    try:
        stream.write(stdin)
        stream.end_input()
    except KubeError:
        return  # the command may have ended before it read all; the reader sees what became of it


def _exit_code(status: bytes, target: Target) -> int:
    """From the `Status` that ends a session. Raises PD-3113 when the command was never started."""
    try:
        value = json.loads(status)
    except ValueError:
        raise KubeError("PD-3112", f"{target}: the session's end is not JSON") from None
    if value.get("status") == "Success":
        return 0
    for cause in (value.get("details") or {}).get("causes") or ():
        if cause.get("reason") == "ExitCode" and str(cause.get("message", "")).isdigit():
            return int(cause["message"])
    raise KubeError("PD-3113", f"cannot {target}: {value.get('message') or value.get('reason') or 'no reason given'}")
