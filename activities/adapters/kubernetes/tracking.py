"""What has been seen of each attempt that is not collected: its Job and its pods, also those that are gone again.

A pod that was deleted takes its receipts along; here the last that was seen of it stays until the attempt is collected.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from activities.adapters.kubernetes.cache import Change, Watched
from activities.adapters.kubernetes.facts import Seen, pod_index, waiting_reasons
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import OURS, RANKS, ROLE, label, ref_of
from activities.adapters.kubernetes.watching import Listing, is_earlier
from definitions.attempt import AttemptRef

Object = dict[str, Any]
FORGOTTEN = 10_000


@dataclass(frozen=True)
class SeenPod:
    pod: Object
    at: datetime  # when it was last known to be as it is here
    gone: bool = False
    waiting: dict[str, tuple[str, datetime]] = field(default_factory=dict)  # container -> reason, since when

    def seen(self, alive_at: datetime, warning: str = "") -> Seen:
        """`alive_at`: until when everything that is not known to be gone is known to be there."""
        since = {name: at for name, (_, at) in self.waiting.items()}
        return Seen(gone=self.gone, at=self.at if self.gone else max(self.at, alive_at), waiting=since, warning=warning)


@dataclass(frozen=True)
class Attempt:
    """`job` is the last that was seen of it, also when it is gone. `asked_at`: when the API itself was asked last."""

    ref: AttemptRef
    job: Object | None = None
    job_gone: bool = False
    pods: dict[str, SeenPod] = field(default_factory=dict)  # by uid
    asked_at: datetime | None = None

    @property
    def living_job(self) -> Object | None:
        return None if self.job_gone else self.job

    @property
    def living(self) -> list[SeenPod]:
        """Pods that are there, by index."""
        return sorted((each for each in self.pods.values() if not each.gone), key=lambda each: pod_index(each.pod))


def watched(labels: str = OURS) -> tuple[Watched, ...]:
    """What the informer of a cluster's worker has to follow for the runtime."""
    return (
        Watched(Kind.JOB, labels=labels, trim=_trim),
        Watched(Kind.POD, labels=labels, trim=_trim),
        Watched(Kind.NODE, trim=_trim),
    )


class Tracker:
    """Attempts by token. Told by the informer's threads and by whoever asked the API; read by any thread."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._attempts: dict[str, Attempt] = {}
        self._changed: set[str] = set()
        self._forgotten: dict[str, None] = {}  # news of these may still come
        self._lock = threading.Condition()

    def changed(self, change: Change) -> None:
        """Hear of a change that the informer saw."""
        if change.kind is Kind.NODE:
            self._node_changed(change)
            return
        thing = change.new or change.old
        if thing is None or change.kind not in (Kind.JOB, Kind.POD):
            return
        if change.kind is Kind.POD and label(thing, ROLE) != RANKS:
            return
        ref = ref_of(thing)
        if ref is None:
            return
        with self._lock:
            unknown = ref.token not in self._attempts and change.new is None
            if unknown or ref.token in self._forgotten:
                return
            attempt = self._attempts.get(ref.token, Attempt(ref))
            if change.kind is Kind.JOB:
                attempt = _with_job(attempt, thing, gone=change.new is None)
            else:
                attempt = _with_pod(attempt, thing, change.at, gone=change.new is None)
            self._put(attempt)

    def get(self, ref: AttemptRef) -> Attempt | None:
        with self._lock:
            return self._attempts.get(ref.token)

    def add(self, ref: AttemptRef) -> None:
        """Look after an attempt of which nothing has been seen in the cluster."""
        with self._lock:
            if ref.token not in self._attempts:
                self._put(Attempt(ref))

    def put_job(self, ref: AttemptRef, job: Object) -> Attempt:
        """What a call that changed the Job returned."""
        with self._lock:
            attempt = _with_job(self._attempts.get(ref.token, Attempt(ref)), job, gone=False)
            self._put(attempt)
            return attempt

    def answered(self, ref: AttemptRef, jobs: Listing, pods: Listing) -> Attempt:
        """What the API said when it was asked for all of an attempt. What it did not name is gone, but for what was
        made since: a launch may go on beside the question."""
        now = self._now()
        with self._lock:
            attempt = self._attempts.get(ref.token, Attempt(ref))
            for job in jobs.items[:1]:
                attempt = _with_job(attempt, job, gone=False)
            if not jobs.items and not _is_later(attempt.job, jobs):
                attempt = replace(attempt, job_gone=True)
            for pod in pods.items:
                attempt = _with_pod(attempt, pod, now, gone=False)
            there = {pod["metadata"]["uid"] for pod in pods.items}
            missing = [each for uid, each in attempt.pods.items() if uid not in there and not each.gone]
            for each in missing:
                if not _is_later(each.pod, pods):
                    attempt = _with_pod(attempt, each.pod, each.at, gone=True)
            attempt = replace(attempt, asked_at=now)
            if ref.token in self._attempts or attempt.living_job is not None or attempt.pods:
                self._put(attempt)
            return attempt

    def forget(self, ref: AttemptRef) -> None:
        with self._lock:
            self._attempts.pop(ref.token, None)
            self._changed.discard(ref.token)
            self._forgotten[ref.token] = None
            if len(self._forgotten) > FORGOTTEN:
                del self._forgotten[next(iter(self._forgotten))]

    def attempts(self) -> list[Attempt]:
        with self._lock:
            return list(self._attempts.values())

    def wait(self, seconds: float) -> list[Attempt]:
        """Attempts of which something changed since the last call; waits so long for the first."""
        with self._lock:
            if not self._changed:
                self._lock.wait(seconds)
            tokens, self._changed = self._changed, set()
            return [self._attempts[token] for token in tokens if token in self._attempts]

    def _put(self, attempt: Attempt) -> None:
        self._attempts[attempt.ref.token] = attempt
        self._changed.add(attempt.ref.token)
        self._lock.notify_all()

    def _node_changed(self, change: Change) -> None:
        with self._lock:
            for token, attempt in self._attempts.items():
                if any((each.pod.get("spec") or {}).get("nodeName") == change.name for each in attempt.living):
                    self._changed.add(token)
            if self._changed:
                self._lock.notify_all()


def _with_job(attempt: Attempt, job: Object, *, gone: bool) -> Attempt:
    if attempt.job is not None and job["metadata"]["uid"] != attempt.job["metadata"]["uid"] and gone:
        return attempt  # the end of another that had the name before
    if attempt.job is not None and not gone and _older(job, attempt.job):
        return attempt
    return replace(attempt, job=job, job_gone=gone)


def _with_pod(attempt: Attempt, pod: Object, at: datetime, *, gone: bool) -> Attempt:
    uid = pod["metadata"]["uid"]
    known = attempt.pods.get(uid)
    if known is not None and known.gone:
        return attempt
    if known is not None and _older(pod, known.pod):
        pod = known.pod
    before = {} if known is None else known.waiting
    waiting = {
        name: before[name] if name in before and before[name][0] == reason else (reason, at)
        for name, reason in waiting_reasons(pod).items()
    }
    return replace(attempt, pods={**attempt.pods, uid: SeenPod(pod, at, gone, waiting)})


def _older(one: Object, other: Object) -> bool:
    """Whether an object was read before another of the same uid."""
    return one["metadata"]["uid"] == other["metadata"]["uid"] and is_earlier(_version(one), _version(other))


def _is_later(thing: Object | None, listing: Listing) -> bool:
    """Whether an object was made or changed after a list was read, which therefore says nothing of its end."""
    return thing is not None and is_earlier(listing.version, _version(thing))


def _version(thing: Object) -> str:
    return str(thing["metadata"].get("resourceVersion", ""))


def _trim(thing: Object) -> Object:
    """Without what nobody reads: it is most of an object's size."""
    thing["metadata"].pop("managedFields", None)
    if "images" in (thing.get("status") or {}):
        thing["status"].pop("images")
    return thing
