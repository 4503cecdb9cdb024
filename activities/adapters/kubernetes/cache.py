"""What is known of one kind's objects, and what each list or event changes in it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from activities.adapters.kubernetes.kinds import Kind

Object = dict[str, Any]


def name_of(thing: Object) -> str:
    return str(thing["metadata"]["name"])


@dataclass(frozen=True)
class Watched:
    """A kind to keep a picture of. `key`: by what its objects are told apart.

    `trim` is applied to an object before it is kept, and may change and return its argument; name, uid and
    resourceVersion must stay. `index` groups objects for `Informer.having`.
    """

    kind: Kind
    labels: str | None = None
    fields: str | None = None
    trim: Callable[[Object], Object] | None = None
    index: Callable[[Object], str | None] | None = None
    key: Callable[[Object], str] = name_of


@dataclass(frozen=True)
class Change:
    """`old` is None for an object that appeared, `new` for one that is gone; then `old` is its last known state.

    `at` is when it was seen; for an end that was found by listing anew, when the object was last known to live.
    """

    kind: Kind
    name: str
    old: Object | None
    new: Object | None
    at: datetime


class KindCache:
    """One writer, any number of readers. Objects that were handed out are never changed afterwards."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._lock = threading.Lock()
        self._objects: dict[str, Object] = {}
        self._groups: dict[str, dict[str, Object]] = {}

    def snapshot(self) -> dict[str, Object]:
        with self._lock:
            return dict(self._objects)

    def get(self, name: str) -> Object | None:
        with self._lock:
            return self._objects.get(name)

    def having(self, group: str) -> list[Object]:
        with self._lock:
            return list(self._groups.get(group, {}).values())

    def replace(self, items: list[Object], at: datetime, last_proof: datetime | None) -> list[Change]:
        """Take over a list: first what is gone (known to have lived at `last_proof`), then what is new or changed."""
        found = {self._watched.key(item): item for item in items}
        gone = [name for name, old in self.snapshot().items() if name not in found or not _same(old, found[name])]
        changes = [change for name in gone if (change := self._drop(name, None, last_proof or at))]
        for item in items:
            changes += self.put(item, at)
        return changes

    def put(self, item: Object, at: datetime) -> list[Change]:
        """An object as it is now. What is known already changes nothing."""
        name = self._watched.key(item)
        old = self.get(name)
        changes = []
        if old is not None and not _same(old, item):
            changes += [change] if (change := self._drop(name, None, at)) else []
            old = None
        if old is not None and old["metadata"]["resourceVersion"] == item["metadata"]["resourceVersion"]:
            return changes
        new = self._watched.trim(item) if self._watched.trim else item
        with self._lock:
            self._objects[name] = new
            self._regroup(name, old, new)
        return [*changes, Change(self._watched.kind, name, old, new, at)]

    def remove(self, item: Object, at: datetime) -> list[Change]:
        """An object that is gone, in its last state. A deletion of an earlier object of the name changes nothing."""
        name = self._watched.key(item)
        old = self.get(name)
        if old is None or not _same(old, item):
            return []
        last = self._watched.trim(item) if self._watched.trim else item
        return [change] if (change := self._drop(name, last, at)) else []

    def _drop(self, name: str, last: Object | None, at: datetime) -> Change | None:
        with self._lock:
            old = self._objects.pop(name, None)
            if old is None:
                return None
            self._regroup(name, old, None)
        return Change(self._watched.kind, name, last or old, None, at)

    def _regroup(self, name: str, old: Object | None, new: Object | None) -> None:
        if self._watched.index is None:
            return
        before = self._watched.index(old) if old is not None else None
        now = self._watched.index(new) if new is not None else None
        if before is not None and before != now:
            group = self._groups.get(before, {})
            group.pop(name, None)
            if not group:
                self._groups.pop(before, None)
        if now is not None and new is not None:
            self._groups.setdefault(now, {})[name] = new


def _same(one: Object, other: Object) -> bool:
    """Whether both are states of one object, and not of two that had the same name one after the other."""
    return bool(one["metadata"]["uid"] == other["metadata"]["uid"])
