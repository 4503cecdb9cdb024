"""Websocket frames (RFC 6455) as bytes, both ways. Opening the connection is the library's business."""

import os
from collections.abc import Iterator

CONTINUED, BINARY, CLOSING, PING, PONG = 0, 2, 8, 9, 10
LARGEST = 64 * 1024 * 1024


def frame(code: int, data: bytes) -> bytes:
    """One whole frame as a client sends it: masked."""
    if len(data) < 126:
        head = bytes([0x80 | code, 0x80 | len(data)])
    elif len(data) < 65536:
        head = bytes([0x80 | code, 0x80 | 126]) + len(data).to_bytes(2, "big")
    else:
        head = bytes([0x80 | code, 0x80 | 127]) + len(data).to_bytes(8, "big")
    mask = os.urandom(4)
    key = int.from_bytes((mask * (len(data) // 4 + 1))[: len(data)], "big")
    return head + mask + (int.from_bytes(data, "big") ^ key).to_bytes(len(data), "big")


class Frames:
    """What a server sends, taken apart. Raises ValueError for what is no frame or too large."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._message = bytearray()
        self._code = BINARY

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Messages (kind, bytes) that are whole now; a message in several frames is put together."""
        self._rest += data
        while (found := self._next()) is not None:
            code, last, payload = found
            if code >= CLOSING:
                yield code, payload
                continue
            if code != CONTINUED:
                self._code = code
            self._message += payload
            if len(self._message) > LARGEST:
                raise ValueError("a message is too large")
            if last:
                yield self._code, bytes(self._message)
                self._message.clear()

    def _next(self) -> tuple[int, bool, bytes] | None:
        rest = self._rest
        if len(rest) < 2:
            return None
        size, start = rest[1] & 0x7F, 2
        if rest[1] & 0x80 or rest[0] & 0x70:
            raise ValueError("not a server's frame")
        if size >= 126:
            start = 4 if size == 126 else 10
            if len(rest) < start:
                return None
            size = int.from_bytes(rest[2:start], "big")
        if size > LARGEST:
            raise ValueError("a frame is too large")
        if len(rest) < start + size:
            return None
        payload = bytes(rest[start : start + size])
        code, last = rest[0] & 0x0F, bool(rest[0] & 0x80)
        del rest[: start + size]
        return code, last, payload
