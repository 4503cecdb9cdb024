"""A picture that is kept up to date: nothing lost, nothing told twice, whatever happens to the watch."""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from activities.adapters.kubernetes.cache import Change, Watched
from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.informer import Informer
from activities.adapters.kubernetes.kinds import Kind
from tests.activities.kubernetes.client.conftest import World
from tests.activities.kubernetes.client.objects import config_map
from tests.support.chaos_proxy import Act, Fault, expired
from tests.support.polling import eventually

BROKEN: dict[str, tuple[str, Fault]] = {
    "cut between events": ("watch", Fault(Act.CUT_WATCH, lines=2)),
    "cut in an event": ("watch", Fault(Act.CUT_WATCH, lines=0)),
    "reset": ("watch", Fault(Act.DROP)),
    "an error": ("watch", Fault(Act.ANSWER, status=503)),
    "410 as an answer": ("watch", Fault(Act.ANSWER, status=410, body=expired())),
    "410 as an event": ("watch", Fault(Act.GONE_IN_WATCH, lines=1)),
    "a list that fails": ("list", Fault(Act.ANSWER, status=500)),
}


@contextmanager
def informed(client: KubeClient, **options: Any) -> Iterator[tuple[Informer, "queue.SimpleQueue[Change]"]]:
    informer = Informer(client, [Watched(Kind.CONFIG_MAP)], **options)
    changes: queue.SimpleQueue[Change] = queue.SimpleQueue()
    informer.subscribe(changes.put)
    informer.start()
    try:
        yield informer, changes
    finally:
        informer.stop()


def picture(informer: Informer) -> dict[str, str]:
    return {name: found["metadata"]["resourceVersion"] for name, found in informer.cache(Kind.CONFIG_MAP).items()}


def truth(world: World) -> dict[str, str]:
    return {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in world.server.objects.values()}


def lists(world: World) -> int:
    """How often everything was listed; the question for the present version is no list."""
    return sum(request.verb == "list" and "limit=1" not in request.query.split("&") for request in world.proxy.requests)


def drained(changes: "queue.SimpleQueue[Change]") -> list[Change]:
    found = []
    while not changes.empty():
        found.append(changes.get())
    return found


def replayed(changes: list[Change]) -> dict[str, str]:
    """What a subscriber knows who believes every change; fails when one does not follow from those before."""
    known: dict[str, dict[str, Any]] = {}
    for change in changes:
        uid = known[change.name]["metadata"]["uid"] if change.name in known else None
        assert uid == (change.old["metadata"]["uid"] if change.old else None), change
        if change.new is None:
            del known[change.name]
        else:
            assert known.get(change.name) != change.new, "told twice"
            known[change.name] = change.new
    return {name: found["metadata"]["resourceVersion"] for name, found in known.items()}


@pytest.mark.parametrize("name", BROKEN)
def test_no_event_is_lost_or_told_twice_when_a_watch_breaks(name: str, client: KubeClient, world: World) -> None:
    client.create(Kind.CONFIG_MAP, config_map("old"))
    for _ in range(3):
        world.script.add(*BROKEN[name])
    with informed(client) as (informer, changes):
        assert informer.wait_synced(10)
        for number in range(5):
            client.create(Kind.CONFIG_MAP, config_map(f"new-{number}"))
            client.patch(Kind.CONFIG_MAP, "old", {"data": {"n": str(number)}})
        client.delete(Kind.CONFIG_MAP, "new-0")
        eventually(lambda: picture(informer) == truth(world) and sum(world.proxy.did.values()) == 3, 15)
        assert replayed(drained(changes)) == truth(world)


def test_what_ended_while_nobody_listened_is_dated_by_the_last_proof_of_life(client: KubeClient, world: World) -> None:
    client.create(Kind.CONFIG_MAP, config_map("a"))
    with informed(client) as (informer, changes):
        eventually(lambda: not changes.empty(), 10)
        changes.get()
        world.proxy.plan = lambda request: Fault(Act.DROP) if request.verb in ("watch", "list") else None
        direct = world.client()
        world.server.forget()
        open_watches_end(world)
        eventually(lambda: informer.trouble(Kind.CONFIG_MAP), 10)
        seen = informer.last_proof(Kind.CONFIG_MAP)
        direct.delete(Kind.CONFIG_MAP, "a")
        world.proxy.plan = world.script
        change = changes.get(timeout=30)
        assert (change.new, change.at) == (None, seen)
        direct.close()


def open_watches_end(world: World) -> None:
    """The server ends its watches, as it does every few minutes."""
    with world.server.changed:
        world.server.closing = True
        world.server.changed.notify_all()
    time.sleep(0.2)
    world.server.closing = False


def test_proof_of_life_goes_on_while_nothing_happens(client: KubeClient) -> None:
    with informed(client) as (informer, _):
        assert informer.wait_synced(10)
        first = informer.last_proof(Kind.CONFIG_MAP)
        assert first is not None
        later: Callable[[], bool] = lambda: (informer.last_proof(Kind.CONFIG_MAP) or first) > first  # noqa: E731
        eventually(later, 10, "a bookmark is a proof")
        silent = informer.seconds_since_proof(Kind.CONFIG_MAP)
        assert silent is not None
        assert 0 <= silent < 5
        assert datetime.now(UTC) >= first


def test_a_cluster_that_is_not_heard_shows_in_the_gauge_and_in_the_trouble(client: KubeClient, world: World) -> None:
    with informed(client, watch_seconds=1) as (informer, _):
        assert informer.wait_synced(10)
        world.proxy.plan = lambda _: Fault(Act.DROP)
        trouble = eventually(lambda: informer.trouble(Kind.CONFIG_MAP), 20)
        assert trouble.code in ("PD-3100", "PD-3114")
        silent = informer.seconds_since_proof(Kind.CONFIG_MAP) or 0.0
        eventually(lambda: (informer.seconds_since_proof(Kind.CONFIG_MAP) or 0.0) > silent, 10)
        world.proxy.plan = world.script
        eventually(lambda: informer.trouble(Kind.CONFIG_MAP) is None, 40)


def test_a_watch_that_the_server_ends_goes_on_without_a_new_list(client: KubeClient, world: World) -> None:
    with informed(client, watch_seconds=1) as (informer, _):
        assert informer.wait_synced(10)
        eventually(lambda: sum(request.watching for request in world.proxy.requests) >= 3, 15)
        assert lists(world) == 1


def test_a_server_that_was_restored_from_a_backup_is_listed_anew(client: KubeClient, world: World) -> None:
    """It accepts a watch from the version of before, and waits until its own versions get there."""
    for name in "abc":
        client.create(Kind.CONFIG_MAP, config_map(name))
    with informed(client, watch_seconds=1) as (informer, _):
        assert informer.wait_synced(10)
        world.server.restore()
        client.create(Kind.CONFIG_MAP, config_map("since"))
        eventually(lambda: list(informer.cache(Kind.CONFIG_MAP)) == ["since"], 10)


def test_a_version_that_the_server_never_accepts_is_given_up(client: KubeClient, world: World) -> None:
    """As after etcd was restored from a backup: the server waits for a version that does not come, and says 504."""
    for _ in range(3):
        world.script.add("watch", Fault(Act.ANSWER, status=504))
    with informed(client) as (informer, _):
        eventually(lambda: lists(world) == 2, 15)
        client.create(Kind.CONFIG_MAP, config_map("a"))
        eventually(lambda: picture(informer) == truth(world), 10)


STUCK = {
    "in a watch": None,
    "before an answer": Fault(Act.DELAY, seconds=2),
    "in a pause": Fault(Act.ANSWER, status=500),
}


@pytest.mark.parametrize("where", STUCK)
def test_an_informer_stops_within_a_second_and_then_tells_nothing(where: str, world: World) -> None:
    patient = KubeClient(world.connection(read=10, within=25))
    world.proxy.plan = lambda _: STUCK[where]
    with informed(patient) as (informer, changes):
        eventually(lambda: world.proxy.requests, 10)
        began = time.monotonic()
        informer.stop()
        assert time.monotonic() - began < 1.3
        world.proxy.plan = world.script
        patient.create(Kind.CONFIG_MAP, config_map("late"))
        eventually(lambda: not any(thread.name.startswith("informer") for thread in threading.enumerate()), 10)
        assert changes.empty()
    patient.close()


def test_a_subscriber_that_fails_stops_nothing(client: KubeClient) -> None:
    def fails(change: Change) -> None:
        raise RuntimeError(change.name)

    informer = Informer(client, [Watched(Kind.CONFIG_MAP)])
    heard: queue.SimpleQueue[Change] = queue.SimpleQueue()
    informer.subscribe(fails)
    informer.subscribe(heard.put)
    informer.start()
    try:
        client.create(Kind.CONFIG_MAP, config_map("a"))
        assert heard.get(timeout=10).name == "a"
    finally:
        informer.stop()


def test_only_what_matches_the_labels_is_in_the_picture(client: KubeClient) -> None:
    informer = Informer(client, [Watched(Kind.POD, labels="app=ours")])
    for name, app in (("a", "ours"), ("b", "theirs")):
        client.create(Kind.POD, {"metadata": {"name": name, "labels": {"app": app}}})
    informer.start()
    try:
        assert informer.wait_synced(10)
        assert list(informer.cache(Kind.POD)) == ["a"]
        assert informer.get(Kind.POD, "b") is None
    finally:
        informer.stop()
