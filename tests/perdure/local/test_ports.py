"""Ports: chosen from flags, then the environment, then the defaults; refused when taken."""

import os
import socket
from collections.abc import Iterator

import pytest

from perdure.local.errors import LocalError
from perdure.local.listeners import holders, is_free, listening_inodes, listens
from perdure.local.ports import Ports, choose, require_free
from tests.support.ports import free_port

TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:21C2 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000 100 0 0 10 0
   1: 0100007F:21C2 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0000 20 4 30 10 -1
   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 0000 100 0 0 10 0
"""


@pytest.fixture
def listener() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize(
    ("flags", "environment", "ports"),
    [
        ({}, {}, Ports(8642, 7233, 8233, 9642)),
        ({}, {"PERDURE_API_PORT": "9000", "PERDURE_UI_PORT": ""}, Ports(9000, 7233, 8233, 9642)),
        ({"api": 9001, "ui": None}, {"PERDURE_API_PORT": "9000"}, Ports(9001, 7233, 8233, 9642)),
    ],
)
def test_a_flag_wins_over_the_environment_and_that_over_the_default(
    flags: dict[str, int | None], environment: dict[str, str], ports: Ports
) -> None:
    assert choose(flags, environment) == ports


@pytest.mark.parametrize(
    ("flags", "environment", "words"),
    [
        ({"api": 7233}, {}, "the temporal port and the api port are both 7233"),
        ({"ui": 0}, {}, "the ui port cannot be 0"),
        ({"metrics": 65536}, {}, "the metrics port cannot be 65536"),
        ({}, {"PERDURE_TEMPORAL_PORT": "-1"}, "PERDURE_TEMPORAL_PORT is '-1'"),
    ],
)
def test_ports_that_cannot_be_served_are_refused_by_name(
    flags: dict[str, int | None], environment: dict[str, str], words: str
) -> None:
    with pytest.raises(LocalError, match=rf"{words}.*\[PD-4004\]"):
        choose(flags, environment)


def test_only_listening_sockets_of_the_port_count() -> None:
    assert listening_inodes(TABLE, 8642) == {4711}
    assert listening_inodes(TABLE, 22) == {4713}
    assert listening_inodes(TABLE, 80) == set()


def test_a_taken_port_is_refused_naming_port_flag_and_process(listener: int) -> None:
    ports = Ports(free_port(), free_port(), listener, free_port())
    with pytest.raises(LocalError, match=rf"port {listener}, .*--port-ui.* pid {os.getpid()} \(.*\[PD-4002\]"):
        require_free(ports)


def test_the_listener_of_a_port_is_known_by_its_process(listener: int) -> None:
    assert listens(os.getpid(), listener)
    assert not listens(os.getppid(), listener)
    assert holders(listener) == [os.getpid()]
    assert not is_free(listener)


def test_connections_that_are_closing_down_do_not_hold_a_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        accepted, _ = server.accept()
        accepted.close()
        client.close()
    assert is_free(port)
    assert holders(port) == []
