"""Somebody's work on objects through a proxy full of faults, with a stranger at work on the same names."""

import queue
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from activities.adapters.kubernetes.cache import Change, Watched
from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.errors import KubeError
from activities.adapters.kubernetes.informer import Informer
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.watching import WatchEvent
from tests.support.polling import eventually

KIND = Kind.CONFIG_MAP
NAMES = tuple(f"m-{number}" for number in range(5))
LABEL = "storm"
SELECTOR = f"{LABEL}=yes"


@dataclass
class Storm:
    """`ours` goes through the faults, `stranger` does not. What both did is noted."""

    ours: KubeClient
    stranger: KubeClient
    dice: random.Random
    mine: dict[str, str] = field(default_factory=dict)  # name -> uid
    theirs: set[str] = field(default_factory=set)  # uids that the stranger made
    deleted_by_them: set[str] = field(default_factory=set)
    failed: Counter[str] = field(default_factory=Counter)
    asked: int = 0

    def step(self) -> None:
        name = self.dice.choice(NAMES)
        if self.dice.random() < 0.3:
            self._strange(name)
            return
        act = self.dice.choice((self._create, self._create, self._patch, self._delete))
        try:
            act(name)
        except KubeError as error:
            if error.permanent:
                raise
            self.failed[act.__name__] += 1

    def _create(self, name: str) -> None:
        self.asked += 1
        token = f"ours-{self.asked}"
        made = self.ours.create(KIND, _object(name, token))
        if made["data"]["token"] == token:
            self.mine[name] = made["metadata"]["uid"]

    def _patch(self, name: str) -> None:
        if uid := self.mine.get(name):
            changed = self.ours.patch(KIND, name, {"data": {"n": str(self.dice.random())}}, uid=uid)
            assert changed is None or changed["metadata"]["uid"] == uid

    def _delete(self, name: str) -> None:
        if uid := self.mine.get(name):
            self.ours.delete(KIND, name, uid=uid)
            del self.mine[name]

    def _strange(self, name: str) -> None:
        """Makes what is missing; takes away what is there, or changes it."""
        found = self.stranger.get(KIND, name)
        if found is None:
            made = self.stranger.create(KIND, _object(name, "theirs"))
            if made["data"]["token"] == "theirs":
                self.theirs.add(made["metadata"]["uid"])
        elif self.dice.random() < 0.5:
            self.deleted_by_them.add(found["metadata"]["uid"])
            self.stranger.delete(KIND, name, uid=found["metadata"]["uid"])
        else:
            self.stranger.patch(KIND, name, {"data": {"n": str(self.dice.random())}})


def rage(ours: KubeClient, stranger: KubeClient, seed: int, steps: int, calm: Any) -> Storm:
    """So many steps in a storm; then `calm()` ends the faults, and everything must be right.

    The picture equals the server's truth, a believer of the changes knows the same, no object of one request was made
    twice, and nothing of the stranger's was deleted by us.
    """
    storm = Storm(ours, stranger, random.Random(seed))
    with _witness(stranger) as seen, _informed(ours) as (informer, changes):
        for _ in range(steps):
            storm.step()
        calm()
        eventually(lambda: _picture(informer) == _truth(stranger), 40, "the picture is the truth")
        truth = _truth(stranger)
        eventually(lambda: _after(seen) == truth, 20, "the witness saw everything")
    tokens = Counter(each.object["data"]["token"] for each in seen if each.type == "ADDED")
    assert {token: number for token, number in tokens.items() if number > 1 and token != "theirs"} == {}
    gone = {each.object["metadata"]["uid"] for each in seen if each.type == "DELETED"}
    assert gone & storm.theirs <= storm.deleted_by_them
    told = _drained(changes)
    assert _believed(told) == truth
    births = Counter(change.new["metadata"]["uid"] for change in told if change.new and not change.old)
    assert {uid: number for uid, number in births.items() if number > 1} == {}
    return storm


def _object(name: str, token: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {LABEL: "yes"}}, "data": {"token": token}}


@contextmanager
def _witness(client: KubeClient) -> Iterator[list[WatchEvent]]:
    """Everything that really happened, from the server itself."""
    seen: list[WatchEvent] = []
    watch = client.watch(KIND, client.listing(KIND, labels=SELECTOR).version, labels=SELECTOR, seconds=110)

    def note() -> None:
        for event in watch:
            seen.append(event)

    thread = threading.Thread(target=note, name="witness", daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        watch.close()
        thread.join(5)


@contextmanager
def _informed(client: KubeClient) -> Iterator[tuple[Informer, "queue.SimpleQueue[Change]"]]:
    informer = Informer(client, [Watched(KIND, labels=SELECTOR)], watch_seconds=2)
    changes: queue.SimpleQueue[Change] = queue.SimpleQueue()
    informer.subscribe(changes.put)
    informer.start()
    try:
        yield informer, changes
    finally:
        began = time.monotonic()
        informer.stop()
        assert time.monotonic() - began < 1.5


def _state(item: dict[str, Any]) -> tuple[str, str]:
    return item["metadata"]["uid"], item["metadata"]["resourceVersion"]


def _picture(informer: Informer) -> dict[str, tuple[str, str]]:
    return {name: _state(item) for name, item in informer.cache(KIND).items()}


def _truth(client: KubeClient) -> dict[str, tuple[str, str]]:
    return {item["metadata"]["name"]: _state(item) for item in client.list(KIND, labels=SELECTOR)}


def _after(events: list[WatchEvent]) -> dict[str, tuple[str, str]]:
    known: dict[str, tuple[str, str]] = {}
    for event in tuple(events):
        if event.type == "DELETED":
            known.pop(event.object["metadata"]["name"], None)
        elif event.type != "BOOKMARK":
            known[event.object["metadata"]["name"]] = _state(event.object)
    return known


def _drained(changes: "queue.SimpleQueue[Change]") -> list[Change]:
    found = []
    while not changes.empty():
        found.append(changes.get())
    return found


def _believed(changes: list[Change]) -> dict[str, tuple[str, str]]:
    """What a subscriber knows who believes every change; fails when one does not follow from those before it."""
    known: dict[str, tuple[str, str]] = {}
    for change in changes:
        before = known.pop(change.name, None)
        assert (before and before[0]) == (change.old and change.old["metadata"]["uid"]), change
        if change.new is not None:
            assert before != _state(change.new), "told twice"
            known[change.name] = _state(change.new)
    return known
