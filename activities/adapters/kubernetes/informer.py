"""A picture of some kinds of objects that is kept up to date by list and watch."""

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType

from activities.adapters.kubernetes.cache import Change, KindCache, Object, Watched
from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.errors import Gone, KubeError
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.watching import WatchStream, is_earlier

Subscriber = Callable[[Change], None]
WATCH_SECONDS = 240.0  # after about so long the server ends a watch, and a new one goes to another of its replicas
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 30.0
FRUITLESS = 3  # watches in a row that broke without an event: the version itself may be what the server rejects
STOP_WITHIN = 1.0

log = logging.getLogger(__name__)


class Informer:
    """Keeps a cache of each kind and tells subscribers what changes, in order, each change once per kind's thread.

    Subscribers are called on the kind's thread and must return soon (`queue.put` is a good one): meanwhile its watch
    is not read. Readers get objects that nobody changes.
    """

    def __init__(
        self,
        client: KubeClient,
        watched: Iterable[Watched],
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        watch_seconds: float = WATCH_SECONDS,
    ) -> None:
        self._stopping = threading.Event()
        self._subscribers: list[Subscriber] = []
        waiting = client.until(self._stopping)
        self._loops = {
            each.kind: _Loop(waiting, each, self._stopping, self._subscribers, now, watch_seconds) for each in watched
        }

    def subscribe(self, subscriber: Subscriber) -> None:
        """Before `start`, to hear of everything: the objects of the first list come as changes from nothing."""
        self._subscribers.append(subscriber)

    def start(self) -> None:
        for loop in self._loops.values():
            loop.start()

    def stop(self) -> None:
        """Ends within a second; no subscriber is called afterwards. Safe to repeat."""
        self._stopping.set()
        ends = time.monotonic() + STOP_WITHIN
        for loop in self._loops.values():
            loop.interrupt()
        for loop in self._loops.values():
            loop.join(max(0.0, ends - time.monotonic()))

    def ends_within(self, seconds: float) -> bool:
        """Wait so long at the most for `stop`; whether it came, which it may have done before."""
        return self._stopping.wait(seconds)

    def wait_synced(self, seconds: float) -> bool:
        """Whether every kind has been listed once, within that time."""
        ends = time.monotonic() + seconds
        return all(loop.synced.wait(max(0.0, ends - time.monotonic())) for loop in self._loops.values())

    def cache(self, kind: Kind) -> Mapping[str, Object]:
        """All objects by name, as they are now; the mapping does not change afterwards."""
        return MappingProxyType(self._loops[kind].cache.snapshot())

    def get(self, kind: Kind, name: str) -> Object | None:
        return self._loops[kind].cache.get(name)

    def having(self, kind: Kind, group: str) -> list[Object]:
        """The objects that the kind's `index` put into a group."""
        return self._loops[kind].cache.having(group)

    def last_proof(self, kind: Kind) -> datetime | None:
        """The latest moment for which the cache is known to have been right; None before the first list."""
        return self._loops[kind].last_proof

    def seconds_since_proof(self, kind: Kind) -> float | None:
        """A gauge: a minute or two is ordinary on a quiet cluster, more means that the cluster is not heard."""
        return self._loops[kind].seconds_since_proof()

    def trouble(self, kind: Kind) -> KubeError | None:
        """Why the kind cannot be followed now; None while it is."""
        return self._loops[kind].trouble


class _Loop:
    """One kind: list, watch from there, and again from where it broke, or from a new list."""

    def __init__(
        self,
        client: KubeClient,
        watched: Watched,
        stopping: threading.Event,
        subscribers: list[Subscriber],
        now: Callable[[], datetime],
        watch_seconds: float,
    ) -> None:
        self._client, self._watched, self._now, self._watch_seconds = client, watched, now, watch_seconds
        self._stopping, self._subscribers = stopping, subscribers
        self._thread = threading.Thread(target=self._run, name=f"informer-{watched.kind.plural}", daemon=True)
        self._telling = threading.Lock()
        self._stream: WatchStream | None = None
        self._version = ""
        self._fruitless = 0
        self._heard = False
        self._proof = 0.0
        self.cache = KindCache(watched)
        self.synced = threading.Event()
        self.last_proof: datetime | None = None
        self.trouble: KubeError | None = None

    def start(self) -> None:
        self._thread.start()

    def interrupt(self) -> None:
        if (stream := self._stream) is not None:
            stream.close()

    def join(self, seconds: float) -> None:
        """A request whose answer has not begun cannot be interrupted; it ends by its own limit, and tells nothing."""
        if self._thread.is_alive():
            self._thread.join(seconds)
        with self._telling:
            pass

    def seconds_since_proof(self) -> float | None:
        return None if self.last_proof is None else time.monotonic() - self._proof

    def _run(self) -> None:
        pause = FIRST_PAUSE
        while not self._stopping.is_set():
            self._heard = False
            try:
                self._step()
            except Gone:
                self._version = ""
            except KubeError as error:
                self._failed(error)
            if self._heard:
                pause = FIRST_PAUSE
            else:
                self._stopping.wait(pause * random.uniform(0.5, 1.0))
                pause = min(pause * 2, LONGEST_PAUSE)

    def _step(self) -> None:
        """One watch, from a new list when there is no version to go on from."""
        if self._version and is_earlier(self._client.current_version(self._watched.kind), self._version):
            self._version = ""  # restored from a backup: the server would wait for our version, and tell nothing
        if not self._version:
            self._list()
        self._follow()

    def _failed(self, error: KubeError) -> None:
        self.trouble = error
        self._fruitless += 1
        if self._fruitless >= FRUITLESS:
            self._version, self._fruitless = "", 0

    def _list(self) -> None:
        began, moment = time.monotonic(), self._now()
        listing = self._client.listing(self._watched.kind, labels=self._watched.labels, fields=self._watched.fields)
        self._tell(self.cache.replace(listing.items, self._now(), self.last_proof))
        self._version = listing.version
        self._proved(began, moment)
        self.synced.set()

    def _follow(self) -> None:
        """Watch from the last version on, until the watch ends."""
        watched, seconds = self._watched, self._watch_seconds * random.uniform(0.75, 1.25)
        stream = self._client.watch(
            watched.kind, self._version, labels=watched.labels, fields=watched.fields, seconds=seconds
        )
        self._stream = stream
        if self._stopping.is_set():
            stream.close()
        began = time.monotonic()
        for event in stream:
            moment = self._now()
            if is_earlier(event.version, self._version):
                raise Gone(f"versions of {watched.kind.plural} went back from {self._version} to {event.version}")
            if event.type == "DELETED":
                self._tell(self.cache.remove(event.object, moment))
            elif event.type in ("ADDED", "MODIFIED"):
                self._tell(self.cache.put(event.object, moment))
            self._version = event.version
            self._proved(time.monotonic(), moment)
            self._heard, self._fruitless = True, 0
        # A watch that ends at once has told nothing: a pause follows, lest this becomes a storm of its own.
        self._heard = self._heard or time.monotonic() - began > FIRST_PAUSE

    def _proved(self, mark: float, moment: datetime) -> None:
        self._proof, self.last_proof, self.trouble = mark, moment, None

    def _tell(self, changes: list[Change]) -> None:
        with self._telling:
            for change in changes:
                for subscriber in () if self._stopping.is_set() else tuple(self._subscribers):
                    try:
                        subscriber(change)
                    except Exception:
                        log.exception("a subscriber failed on a change of %s %s", change.kind.plural, change.name)
