"""Names of pods: waited for as long as the time for them lasts, and told when they are found."""

import socket
import threading

from activities.adapters.kubernetes.agent.names import Names
from tests.support.polling import eventually

LONG = 3600.0


class Service:
    """A name service that learns."""

    def __init__(self, *known: str) -> None:
        self.known = set(known)
        self.asked: list[str] = []

    def __call__(self, name: str, port: int) -> None:
        self.asked.append(name)
        if name not in self.known:
            raise socket.gaierror(socket.EAI_AGAIN, "temporary failure in name resolution")


def test_names_are_known_once_each_of_them_was_found() -> None:
    service, news = Service("pod-0.gang"), threading.Event()
    names = Names(["pod-0.gang", "pod-1.gang", "pod-0.gang"], LONG, news.set, service)
    names.start()
    eventually(lambda: "pod-1.gang" in service.asked, 10, "the second name is asked for")
    assert not names.known()
    assert names.missing is None
    service.known.add("pod-1.gang")
    assert news.wait(10)
    assert names.known()
    assert service.asked.count("pod-0.gang") == 1


def test_a_name_that_is_never_found_is_told_when_the_time_is_up() -> None:
    news = threading.Event()
    names = Names(["nowhere"], -1.0, news.set, Service())
    names.start()
    assert news.wait(10)
    assert not names.known()
    assert names.missing == "nowhere"


def test_nothing_to_find_is_known_at_once() -> None:
    news = threading.Event()
    names = Names([], LONG, news.set, Service())
    names.start()
    assert news.wait(10)
    assert names.known()
