"""A proxy before an API server that does what networks and servers do on bad days, by script or by dice.

Clients speak plain HTTP to it on loopback; it speaks to the server as the server's address says. What it did is
counted. Requests that become websockets are passed through once they are open.
"""

import contextlib
import http.client
import json
import random
import select
import socket
import ssl
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

HOP_BY_HOP = {"connection", "content-length", "host", "keep-alive", "transfer-encoding"}
PATIENCE = 60.0  # seconds for the server's answer
KEPT_OPEN = 2.0  # seconds that a connection to it may have been idle
BLOCK = 64 * 1024


class Act(StrEnum):
    DROP = "drop"  # the connection is reset; the server never hears of the request
    LOSE_ANSWER = "lose answer"  # done by the server, then the connection is reset
    CUT_ANSWER = "cut answer"  # done, then reset in the middle of the answer
    DELAY = "delay"  # passed on after `seconds`, as with any act that has some; also when the client has left meanwhile
    ANSWER = "answer"  # refused with `status`; the server never hears of it
    ANSWER_AFTER = "answer after"  # done by the server, and then called failed with `status`
    CUT_WATCH = "cut watch"  # reset in the middle of the line after `lines` lines
    GONE_IN_WATCH = "gone in watch"  # a 410 as an event after `lines` lines


@dataclass(frozen=True)
class Fault:
    act: Act
    status: int = 0
    body: Mapping[str, Any] | None = None  # of the answer; None: what a broken proxy says
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    lines: int = 0

    @property
    def name(self) -> str:
        """As it is counted: the same act with another status is another fault, and so is a longer delay."""
        told = (self.act.value, f"{self.status}" * bool(self.status), f"{self.seconds:.0f} s" * bool(self.seconds))
        return " ".join(filter(None, told))


@dataclass(frozen=True)
class Request:
    """What came from the client. `verb` is that of access rules."""

    verb: str
    method: str
    path: str
    query: str = ""
    authorization: str = field(default="", repr=False)

    @property
    def watching(self) -> bool:
        return self.verb == "watch"


Plan = Callable[[Request], Fault | None]


class Script:
    """Faults for the next requests of a verb, each used once, in order. None lets one through."""

    def __init__(self, *steps: tuple[str, Fault | None]) -> None:
        self._steps = list(steps)
        self._lock = threading.Lock()

    def add(self, verb: str, fault: Fault | None) -> None:
        with self._lock:
            self._steps.append((verb, fault))

    def __call__(self, request: Request) -> Fault | None:
        with self._lock:
            for position, (verb, fault) in enumerate(self._steps):
                if verb == request.verb:
                    del self._steps[position]
                    return fault
        return None


class Dice:
    """Each request meets a fault with `chance`; the same seed throws the same dice for the same order of requests."""

    def __init__(self, seed: int, chance: float) -> None:
        self._dice = random.Random(seed)
        self._lock = threading.Lock()
        self.chance = chance

    def __call__(self, request: Request) -> Fault | None:
        with self._lock:
            if self._dice.random() >= self.chance:
                return None
            return self._watch_fault() if request.watching else self._fault()

    def _fault(self) -> Fault:
        return self._dice.choice((
            Fault(Act.DROP), Fault(Act.LOSE_ANSWER), Fault(Act.CUT_ANSWER),
            Fault(Act.DELAY, seconds=self._dice.uniform(0.0, 0.8)),
            Fault(Act.ANSWER, status=self._dice.choice((500, 502, 503))),
            Fault(Act.ANSWER, status=429, headers={"Retry-After": "0"}),
            Fault(Act.ANSWER_AFTER, status=self._dice.choice((500, 504))),
        ))  # fmt: skip

    def _watch_fault(self) -> Fault:
        lines = self._dice.randrange(4)
        return self._dice.choice((
            Fault(Act.DROP), Fault(Act.ANSWER, status=503), Fault(Act.ANSWER, status=410, body=expired()),
            Fault(Act.CUT_WATCH, lines=lines), Fault(Act.CUT_WATCH, lines=lines), Fault(Act.GONE_IN_WATCH, lines=lines),
        ))  # fmt: skip


def expired() -> dict[str, Any]:
    message = "too old resource version"
    return {"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410, "message": message}


class ChaosProxy:
    """`plan` may be exchanged while it runs. `did` counts (verb, name of the fault) of what was really done to a
    request; `requests` has all of them."""

    def __init__(self, server: str, plan: Plan, certificate: Path | None) -> None:
        parts = urlsplit(server)
        self.server = (str(parts.hostname), int(parts.port or 443))
        self.tls = ssl.create_default_context(cafile=certificate) if parts.scheme == "https" else None
        self.plan = plan
        self.url = ""
        self.did: Counter[tuple[str, str]] = Counter()
        self.requests: list[Request] = []
        self.sessions: set[socket.socket] = set()
        self._lock = threading.Lock()

    def decide(self, request: Request) -> Fault | None:
        fault = self.plan(request)
        with self._lock:
            self.requests.append(request)
        return fault

    def doing(self, request: Request, fault: Fault) -> None:
        with self._lock:
            self.did[request.verb, fault.name] += 1

    def cut_sessions(self) -> None:
        """Reset every websocket that is open."""
        for each in tuple(self.sessions):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def connect(self) -> http.client.HTTPConnection:
        if self.tls is None:
            return http.client.HTTPConnection(*self.server, timeout=PATIENCE)
        return http.client.HTTPSConnection(*self.server, timeout=PATIENCE, context=self.tls)

    def kubeconfig(self, file: Path, token: str = "test") -> Path:
        """Write a kubeconfig that leads through the proxy."""
        named = {"clusters": {"cluster": {"server": self.url}}, "users": {"user": {"token": token}}}
        named["contexts"] = {"context": {"cluster": "it", "user": "it"}}
        lists = {kind: [{"name": "it", **value}] for kind, value in named.items()}
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "it", **lists}))
        return file


@contextmanager
def chaos_proxy(server: str, plan: Plan = lambda _: None, *, certificate: Path | None = None) -> Iterator[ChaosProxy]:
    proxy = ChaosProxy(server, plan, certificate)
    listener = _Http(("127.0.0.1", 0), type("Handler", (_Handler,), {"proxy": proxy}))
    proxy.url = f"http://127.0.0.1:{listener.server_address[1]}"
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        listener.shutdown()
        listener.end_connections()
        listener.server_close()
        thread.join()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that left and servers that were stopped are what this proxy is about."""

    def end_connections(self) -> None:
        for each in tuple(self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: ChaosProxy

    def log_message(self, format: str, *args: Any) -> None: ...

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = _request(self.command, self.path, self.headers.get("Authorization", ""))
        fault = self.proxy.decide(request) or Fault(Act.DELAY)
        if fault.act in (Act.DROP, Act.ANSWER) or (fault.act is Act.DELAY and fault.seconds):
            self.proxy.doing(request, fault)
        if fault.act is Act.DROP:
            return self._reset()
        if fault.act is Act.ANSWER:
            return self._answer(fault.status, fault.headers, _body(fault))
        time.sleep(fault.seconds)
        if self.headers.get("Upgrade"):
            return self._tunnel()
        self._pass_on(self._server(), request, fault, body)
        self._asked = time.monotonic()

    do_POST = do_PATCH = do_PUT = do_DELETE = do_GET

    def setup(self) -> None:
        super().setup()
        self._to_server: http.client.HTTPConnection | None = None
        self._asked = 0.0

    def finish(self) -> None:
        self._leave_server()
        super().finish()

    def _server(self) -> http.client.HTTPConnection:
        """The connection that belongs to the client's: used again while the server is sure to keep it open."""
        if time.monotonic() - self._asked > KEPT_OPEN:
            self._leave_server()
        self._to_server = self._to_server or self.proxy.connect()
        return self._to_server

    def _leave_server(self) -> None:
        if self._to_server is not None:
            self._to_server.close()
        self._to_server = None

    def _pass_on(self, server: http.client.HTTPConnection, request: Request, fault: Fault, body: bytes) -> None:
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        server.request(self.command, self.path, body or None, headers)
        answer = server.getresponse()
        if answer.status == 200 and (request.watching or "follow=true" in self.path):
            self._relay_lines(answer, request, fault)
            return self._leave_server()
        data = answer.read()
        if fault.act in (Act.LOSE_ANSWER, Act.ANSWER_AFTER, Act.CUT_ANSWER):
            self.proxy.doing(request, fault)
        if fault.act is Act.LOSE_ANSWER:
            return self._reset()
        if fault.act is Act.ANSWER_AFTER:
            return self._answer(fault.status, fault.headers, _body(fault))
        kept = {name: value for name, value in answer.getheaders() if name.lower() not in HOP_BY_HOP}
        self._answer(answer.status, kept, data, cut=fault.act is Act.CUT_ANSWER)

    def _answer(self, status: int, headers: Mapping[str, str], data: bytes, *, cut: bool = False) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if cut else data)
        if cut:
            self._reset()

    def _relay_lines(self, answer: http.client.HTTPResponse, request: Request, fault: Fault) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        passed = 0
        while line := answer.readline():
            if fault.act in (Act.CUT_WATCH, Act.GONE_IN_WATCH) and passed >= fault.lines:
                self.proxy.doing(request, fault)
            if fault.act is Act.CUT_WATCH and passed >= fault.lines:
                self._chunk(line[: len(line) // 2])
                return self._reset()
            if fault.act is Act.GONE_IN_WATCH and passed >= fault.lines:
                self._chunk(json.dumps({"type": "ERROR", "object": expired()}).encode() + b"\n")
                break
            self._chunk(line)
            passed += 1
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _reset(self) -> None:
        """Not the polite end of a connection: RST, as from a machine that lost its state."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def _tunnel(self) -> None:
        """Pass a session's bytes both ways until one side ends."""
        self.close_connection = True
        raw = socket.create_connection(self.proxy.server, PATIENCE)
        server = self.proxy.tls.wrap_socket(raw, server_hostname=self.proxy.server[0]) if self.proxy.tls else raw
        self.proxy.sessions.add(self.connection)
        with server:
            lines = [
                f"{self.command} {self.path} HTTP/1.1",
                *(f"{name}: {value}" for name, value in self.headers.items()),
            ]
            server.sendall("\r\n".join([*lines, "", ""]).encode())
            while True:
                pending = isinstance(server, ssl.SSLSocket) and server.pending()
                ready = [server] if pending else select.select([server, self.connection], [], [], PATIENCE)[0]
                for source in ready:
                    if not (block := source.recv(BLOCK)):
                        self.proxy.sessions.discard(self.connection)
                        return
                    (self.connection if source is server else server).sendall(block)
                if not ready:
                    return


def _request(method: str, path: str, authorization: str) -> Request:
    parts = urlsplit(path)
    if method != "GET":
        verb = {"POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}[method]
    elif parse_qs(parts.query).get("watch") == ["true"]:
        verb = "watch"
    else:
        verb = "list" if _names_collection(parts.path) else "get"
    return Request(verb, method, parts.path, parts.query, authorization)


def _names_collection(path: str) -> bool:
    parts = path.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    return len(rest) == 1 or (len(rest) == 3 and rest[0] == "namespaces")


def _body(fault: Fault) -> bytes:
    return b"<html>Bad gateway</html>" if fault.body is None else json.dumps(fault.body).encode()
