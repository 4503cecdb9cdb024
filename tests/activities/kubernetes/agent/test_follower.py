"""The link of a pod to the first one: when it lets go of a connection."""

import json
import socket

from activities.adapters.kubernetes.agent.follower import Follower
from tests.support.polling import eventually

LONG = 30.0  # seconds that anything may take on a busy machine


def test_a_quiet_connection_ends_only_when_the_first_pod_has_heard_through_another() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    place = listener.getsockname()
    follower = Follower(("127.0.0.1", place[1]), "token", 1, lambda: None)
    follower.heard.at = 1.0  # it has met the first pod before, which is silent now
    follower.start()
    try:
        first, _ = listener.accept()
        listener.close()
        eventually(lambda: follower.heard.closed_at, LONG, "another connection was tried, and refused")
        assert not _has_ended(first)
        with socket.create_server(place) as listener:
            second, _ = listener.accept()
            with first, second:
                assert json.loads(second.makefile().readline())["index"] == 1
                eventually(lambda: _has_ended(first), LONG, "the quiet one is closed")
                assert not _has_ended(second)
    finally:
        follower.close()


def _has_ended(connection: socket.socket) -> bool:
    """Reads what there is."""
    connection.setblocking(False)
    try:
        while connection.recv(1 << 16):
            pass
    except BlockingIOError:
        return False
    return True
