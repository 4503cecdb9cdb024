"""One websocket to the API server, split into numbered channels, as the kubelet's sessions want it."""

import contextlib
import select
import socket
import ssl
import threading
import time
from typing import Any

import certifi
import websocket
from kubernetes.stream.ws_client import websocket_proxycare

from activities.adapters.kubernetes.calling import OnCall
from activities.adapters.kubernetes.connection import Query, Transport
from activities.adapters.kubernetes.errors import Answer, KubeError, Target, refusal
from activities.adapters.kubernetes.retrying import LEAST, Patience, Step, after

CLOSE = 255  # the channel on which the end of another one is told
WITH_CLOSE = "v5.channel.k8s.io"  # the first protocol that has it
WITHOUT_CLOSE = "v4.channel.k8s.io"
LEAVING = 1.0  # seconds for the word that we leave
STALLED = 60.0  # seconds that a frame may take on its way before the link counts as broken


class Channels:
    """Frames of (channel, bytes), both ways. One thread reads; any thread may write and close."""

    def __init__(self, link: websocket.WebSocket, target: Target) -> None:
        self._socket = link
        self._target = target
        self._closed = threading.Event()
        self._reading = threading.Lock()
        self.ended = False

    @property
    def can_close_one(self) -> bool:
        return bool(self._socket.subprotocol == WITH_CLOSE)

    def read(self, seconds: float) -> tuple[int, bytes] | None:
        """The next frame, or None when none came in time or the other side has closed (`ended`).

        Raises KubeError PD-3114 when the link breaks.
        """
        ends = time.monotonic() + seconds
        with self._reading:
            try:
                while not self.ended and self._readable(max(0.0, ends - time.monotonic())):
                    code, frame = self._socket.recv_data_frame(control_frame=True)
                    if code == websocket.ABNF.OPCODE_CLOSE:
                        self.ended = True
                    elif code in (websocket.ABNF.OPCODE_BINARY, websocket.ABNF.OPCODE_TEXT) and frame.data:
                        return frame.data[0], bytes(frame.data[1:])
            except (websocket.WebSocketException, OSError) as error:
                self.ended = True
                if not self._closed.is_set():
                    raise KubeError("PD-3114", f"{self._target}: the connection broke: {error}") from None
        return None

    def write(self, channel: int, data: bytes) -> None:
        try:
            self._socket.send(bytes([channel]) + data, websocket.ABNF.OPCODE_BINARY)
        except (websocket.WebSocketException, OSError) as error:
            raise KubeError("PD-3114", f"{self._target}: the connection broke: {error}") from None

    def close_one(self, channel: int) -> None:
        """Tell the other side that nothing more comes on a channel."""
        self.write(CLOSE, bytes([channel]))

    def close(self) -> None:
        """End both ways; a reader that waits comes back. Safe to repeat."""
        if self._closed.is_set():
            return
        self._closed.set()
        sock = self._socket.sock
        with contextlib.suppress(websocket.WebSocketException, OSError, AttributeError):
            self._socket.settimeout(LEAVING)
            self._socket.send_close()
        if sock is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_RDWR)  # wakes the reader; only then may it be closed
        with self._reading:
            self.ended = True
            self._socket.shutdown()

    def _readable(self, seconds: float) -> bool:
        """Whether bytes are there. Asked of the socket, since a timeout on it would hit writers as well."""
        sock = self._socket.sock
        if sock is None or self._closed.is_set():
            self.ended = True
            return False
        if isinstance(sock, ssl.SSLSocket) and sock.pending():
            return True
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        return bool(poll.poll(seconds * 1000))


def connect(
    transport: Transport,
    target: Target,
    query: Query,
    protocols: list[str],
    on_call: OnCall,
    patience: Patience,
) -> Channels:
    """Open a session. Tries that cannot have begun one are repeated like other calls. Raises KubeError."""
    renewed = False
    while True:
        generation, began = transport.generation, time.monotonic()
        outcome = _try(transport, target, query, protocols, patience)
        status = outcome.status if isinstance(outcome, Answer) else 101 if isinstance(outcome, Channels) else 0
        on_call(target.verb, target.resource, status, time.monotonic() - began)
        if isinstance(outcome, Channels):
            return outcome
        if isinstance(outcome, Answer):
            step = after(outcome, conflicts_pass=False)
            if step is Step.RENEW and not renewed:
                renewed = True
                transport.renew(generation)
                continue
            # The kubelet answers 500 when the container does not run: that is no failure of the server.
            if step in (Step.DONE, Step.RENEW) or outcome.status == 500:
                raise refusal(outcome, target)
        if not patience.wait(outcome.retry_after if isinstance(outcome, Answer) else None):
            if isinstance(outcome, Answer):
                raise refusal(outcome, target)
            raise KubeError("PD-3100", f"cannot {target}: no answer: {outcome}")


def _try(
    transport: Transport, target: Target, query: Query, protocols: list[str], patience: Patience
) -> Channels | Answer | str:
    url = "ws" + transport.url(target.path, query).removeprefix("http")
    configuration = transport.configuration
    link = websocket.WebSocket(sslopt=_tls(configuration), enable_multithread=True, skip_utf8_validation=True)
    options: dict[str, Any] = {
        "header": [f"{name}: {value}" for name, value in transport.authorization().items()],
        "subprotocols": protocols,
        "timeout": max(min(transport.settings.read.total_seconds(), patience.left()), LEAST),
        "suppress_origin": True,
    }
    if configuration.proxy:
        websocket_proxycare(options, configuration, url, {})
    try:
        link.connect(url, **options)
    except websocket.WebSocketBadStatusException as error:
        link.shutdown()
        return Answer(error.status_code, error.resp_body or b"")
    except (websocket.WebSocketException, OSError) as error:
        link.shutdown()
        return str(error) or type(error).__name__
    link.settimeout(STALLED)
    return Channels(link, target)


def _tls(configuration: Any) -> dict[str, Any]:
    options: dict[str, Any] = {"cert_reqs": ssl.CERT_REQUIRED if configuration.verify_ssl else ssl.CERT_NONE}
    if configuration.verify_ssl:
        options["ca_certs"] = configuration.ssl_ca_cert or certifi.where()
    else:
        options["check_hostname"] = False
    named = {
        "certfile": configuration.cert_file,
        "keyfile": configuration.key_file,
        "server_hostname": configuration.tls_server_name,
    }
    return options | {name: value for name, value in named.items() if value}
