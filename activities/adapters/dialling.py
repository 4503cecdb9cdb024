"""The connection from the worker of a cluster to the API process that a person is connected to."""

import contextlib

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from activities.ports import PortError
from definitions.session import FRAME_BYTES, Frame, pack, unpack

OPEN_WITHIN = 10.0
LARGEST_MESSAGE = 4 * FRAME_BYTES


class WebSocketDialler:
    """Dials by WebSocket; `wss` addresses are checked against the machine's certificates."""

    def dial(self, address: str, token: str) -> "WebSocketLine":
        try:
            return WebSocketLine(
                connect(
                    address,
                    additional_headers={"Authorization": f"Bearer {token}"},
                    open_timeout=OPEN_WITHIN,
                    max_size=LARGEST_MESSAGE,
                    compression=None,
                    proxy=None,
                )
            )
        except (OSError, WebSocketException) as error:
            raise PortError(f"the API that asked for the session is not there: {error}", code="PD-2150") from error


class WebSocketLine:
    """One connection. Receiving and sending may happen in two threads."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    def receive(self) -> Frame | None:
        try:
            while True:
                message = self._connection.recv()
                if isinstance(message, bytes):
                    return unpack(message)
        except (OSError, WebSocketException, ValueError):
            return None

    def send(self, frame: Frame) -> None:
        with contextlib.suppress(OSError, WebSocketException):
            self._connection.send(pack(frame))

    def close(self) -> None:
        self._connection.close()
