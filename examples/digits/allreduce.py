"""Summing an array over all ranks, by TCP and through rank 0.

Rank 0 adds in the order of the ranks, always: floating-point sums depend on the order, and runs must be comparable bit
by bit. A peer that is gone ends the wait: its socket closes, or nothing comes within the timeout.
"""

import socket
import struct
import time

import numpy as np
from data import Floats

HELLO = struct.Struct("!32sI")  # token of the attempt, rank


class Ranks:
    """The connections among the ranks of one attempt. `token` keeps a straggler of an earlier attempt out.

    Every method raises OSError (ConnectionError, TimeoutError) when a peer is gone or silent for `timeout` seconds.
    """

    def __init__(self, rank: int, size: int, address: tuple[str, int], token: str, timeout: float = 60.0) -> None:
        self._rank = rank
        self._hello = token.encode()[:32].ljust(32, b"0")
        self._timeout = timeout
        self._peers: list[socket.socket] = []
        if size > 1:
            self._peers = self._gather(size, address) if rank == 0 else [self._join(address)]

    def sum(self, values: Floats) -> Floats:
        """The sum over all ranks, the same bits on each of them."""
        if not self._peers:
            return values
        if self._rank:
            self._peers[0].sendall(values.tobytes())
            return self._receive(self._peers[0], values)
        total = values.copy()
        for peer in self._peers:
            total += self._receive(peer, values)
        for peer in self._peers:
            peer.sendall(total.tobytes())
        return total

    def close(self) -> None:
        for peer in self._peers:
            peer.close()

    def _gather(self, size: int, address: tuple[str, int]) -> list[socket.socket]:
        joined: dict[int, socket.socket] = {}
        with self._listen(address, size) as server:
            server.settimeout(self._timeout)
            while len(joined) < size - 1:
                peer, _ = server.accept()
                peer.settimeout(self._timeout)
                rank = self._rank_of(peer)
                if rank is not None and 0 < rank < size:
                    joined[rank] = peer
                else:
                    peer.close()
        return [joined[rank] for rank in sorted(joined)]

    def _listen(self, address: tuple[str, int], size: int) -> socket.socket:
        ends = time.monotonic() + self._timeout
        while True:
            try:
                (*_, found), *_ = socket.getaddrinfo(*address, socket.AF_INET, socket.SOCK_STREAM)
                return socket.create_server(found, backlog=size)
            except socket.gaierror:  # our own name cannot be found just now
                if time.monotonic() > ends:
                    raise
                time.sleep(0.05)

    def _rank_of(self, peer: socket.socket) -> int | None:
        """Who has connected; None when it is nobody of this attempt."""
        try:
            token, rank = HELLO.unpack(_read(peer, HELLO.size))
        except OSError:
            return None
        return rank if token == self._hello else None

    def _join(self, address: tuple[str, int]) -> socket.socket:
        ends = time.monotonic() + self._timeout
        while True:
            try:
                peer = _connect(address, self._timeout)
                peer.sendall(HELLO.pack(self._hello, self._rank))
                return peer
            except OSError:  # rank 0 is not there yet: its name, its address or its listener
                if time.monotonic() > ends:
                    raise
                time.sleep(0.05)

    def _receive(self, peer: socket.socket, like: Floats) -> Floats:
        return np.frombuffer(_read(peer, like.nbytes), dtype=like.dtype).reshape(like.shape)


def _connect(address: tuple[str, int], timeout: float) -> socket.socket:
    peer = socket.create_connection(address, timeout=timeout)
    if peer.getsockname() == peer.getpeername():  # without a listener TCP may connect a high port to itself
        peer.close()
        raise ConnectionRefusedError("nobody listens yet")
    return peer


def _read(peer: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = peer.recv(size - len(parts))
        if not part:
            raise ConnectionError("a peer has closed its connection")
        parts += part
    return bytes(parts)
