"""Objects of ours that belong to nobody any more: found by their labels, reported first, deleted later or when told to.

Whoever works on an attempt removes what it made. What is found here was left by a process that was killed in between
and that nobody went on for, or by a store that was restored from a backup: hence the time before anything is deleted.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from activities.adapters.kubernetes.cache import Object
from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.facts import keeper_ended_at
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.markers import Markers
from activities.adapters.kubernetes.naming import INSTALLATION, KEEPER, OURS, ROLE, label, ref_of
from activities.ports import ObjectStore
from definitions.attempt import AttemptRef
from definitions.wire import Wire
from policies.pod_keepers import input_is_left, keeper_is_left

KINDS = (Kind.JOB, Kind.POD, Kind.SERVICE, Kind.SECRET, Kind.PERSISTENT_VOLUME_CLAIM)
YOUNG = timedelta(minutes=10)  # somebody may be working on it
REPORTED_FOR = timedelta(hours=24)
DELETED, COLLECTED, NEVER = "its job was deleted", "its attempt was collected", "its attempt was never launched"
UNREADABLE = "it has our label and does not say whose it is"


class Stray(Wire):
    """`since`: when it was reported first. `deleted`: whether it was by the sweep that tells of it."""

    kind: str
    name: str
    uid: str
    why: str
    since: datetime
    ref: AttemptRef | None = None
    deleted: bool = False


class Janitor:
    """Sweeps one namespace, and leaves alone what another installation has made there. What names none was made before
    there were ids, and counts as ours. `is_known(ref)`: whether the ref's job is there, in whatever state."""

    def __init__(
        self,
        client: KubeClient,
        objects: ObjectStore,
        is_known: Callable[[AttemptRef], bool],
        now: Callable[[], datetime],
        reported_for: timedelta = REPORTED_FOR,
        installation: str = "",
    ) -> None:
        self._client = client
        self._markers = Markers(objects)
        self._is_known = is_known
        self._now = now
        self._reported_for = reported_for
        self._installation = installation
        self._since: dict[str, datetime] = {}  # uid -> first report; a new process reports anew before it deletes

    def sweep(self, *, told: bool = False) -> tuple[Stray, ...]:
        """Every stray. Deletes those that were reported for long enough, with `told` all; never one that is unreadable,
        and volumes only when told: what looks like nobody's data may be that of another installation's job.

        Safe to repeat: uids name what is meant. Raises PortError.
        """
        found = self._find()
        self._since = {each.uid: each.since for each in found}
        return tuple(self._delete(each) if self._is_due(each, told) else each for each in found)

    def sweep_keepers(self) -> tuple[Stray, ...]:
        """Delete keepers that nobody waits for any more, and Secrets of such as were never made; returns those.

        Safe to repeat, and beside other workers: one that is waited for is younger, and uids name what is meant.
        """
        now, labels = self._now(), f"{OURS},{ROLE}={KEEPER}"
        secrets = self._ours(Kind.SECRET, labels)  # first: each is made before its pod
        pods = {pod["metadata"]["name"]: pod for pod in self._ours(Kind.POD, labels)}
        left = [(Kind.POD, pod, keeper_is_left(_made_at(pod), keeper_ended_at(pod), now)) for pod in pods.values()]
        bodiless = [secret for secret in secrets if secret["metadata"]["name"] not in pods]
        left += [(Kind.SECRET, secret, input_is_left(_made_at(secret), now)) for secret in bodiless]
        return tuple(self._delete(_stray(kind, thing, ref_of(thing), why, now)) for kind, thing, why in left if why)

    def _ours(self, kind: Kind, labels: str = OURS) -> list[Object]:
        there = self._client.list(kind, labels=labels)
        return [thing for thing in there if label(thing, INSTALLATION) in ("", self._installation)]

    def _find(self) -> list[Stray]:
        now = self._now()
        why: dict[tuple[Kind, str], str] = {}
        found = []
        for kind in KINDS:
            for thing in self._ours(kind):
                meta = thing["metadata"]
                if now - _made_at(thing) < YOUNG:
                    continue
                ref = ref_of(thing)
                reason = UNREADABLE if ref is None else self._why(kind, ref, why)
                if reason:
                    found.append(_stray(kind, thing, ref, reason, self._since.get(meta["uid"], now)))
        return found

    def _why(self, kind: Kind, ref: AttemptRef, known: dict[tuple[Kind, str], str]) -> str:
        """Why an object of the ref belongs to nobody; empty when it belongs to its attempt, or a volume to its job."""
        key = (kind if kind is Kind.PERSISTENT_VOLUME_CLAIM else Kind.JOB, ref.token)
        if key not in known:
            known[key] = self._judge(kind, ref)
        return known[key]

    def _judge(self, kind: Kind, ref: AttemptRef) -> str:
        if not self._is_known(ref):
            return DELETED
        if kind is Kind.PERSISTENT_VOLUME_CLAIM:
            return ""
        if self._markers.collected(ref) is not None:
            return COLLECTED
        return NEVER if self._markers.launch(ref) is None else ""

    def _is_due(self, stray: Stray, told: bool) -> bool:
        if stray.ref is None or told:
            return told and stray.ref is not None
        is_data = stray.kind == Kind.PERSISTENT_VOLUME_CLAIM.value.name
        return not is_data and self._now() - stray.since >= self._reported_for

    def _delete(self, stray: Stray) -> Stray:
        kind = next(each for each in KINDS if each.value.name == stray.kind)
        self._client.delete(kind, stray.name, uid=stray.uid)
        return stray.model_copy(update={"deleted": True})


def _made_at(thing: Object) -> datetime:
    return datetime.fromisoformat(thing["metadata"]["creationTimestamp"])


def _stray(kind: Kind, thing: Object, ref: AttemptRef | None, why: str, since: datetime) -> Stray:
    meta = thing["metadata"]
    return Stray(kind=kind.value.name, name=meta["name"], uid=meta["uid"], why=why, since=since, ref=ref)
