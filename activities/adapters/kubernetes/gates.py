"""Pods with places are made behind a gate: the cluster's scheduler leaves them alone until each is narrowed to a node.

Their Job says which node each of them is for. A pod that appears, also one that the Job's controller makes again or
that an earlier worker left behind its gate, gets one call that narrows it and opens the gate: none goes elsewhere.
"""

import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable

from activities.adapters.kubernetes.cache import Change, Object
from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.facts import pod_index
from activities.adapters.kubernetes.informer import Informer
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import PLACES
from activities.adapters.kubernetes.objects.placement import is_gated, narrowed
from activities.effects import crash_point
from activities.ports import PortError

TOGETHER = 8  # pods that are let go at a time
PAUSE = 1.0  # seconds after a pod that could not be

logger = logging.getLogger(__name__)


class Gates:
    """Opens gates as their pods appear. It has threads only while there are any, and no cost for pods without one."""

    def __init__(self, client: KubeClient, informer: Informer) -> None:
        self._client = client
        self._informer = informer
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, Object] = OrderedDict()  # by uid
        self._taken: set[str] = set()  # uids of all that are not known to be open or gone
        self._refused: dict[str, str] = {}  # by uid: why its last try failed
        self._threads = 0

    def trouble(self, uids: Iterable[str]) -> str:
        """Why one of these pods could not be let go, in the cluster's words; empty while all goes well."""
        if not self._refused:
            return ""
        with self._lock:
            return next((self._refused[uid] for uid in uids if uid in self._refused), "")

    def changed(self, change: Change) -> None:
        """Hear of a change that the informer saw. Returns at once."""
        if change.kind is not Kind.POD:
            return
        pod = change.new
        if pod is not None and is_gated(pod):
            self._take(pod)
        elif self._taken and (known := pod or change.old) is not None:
            with self._lock:
                self._taken.discard(known["metadata"]["uid"])
                self._refused.pop(known["metadata"]["uid"], None)

    def _take(self, pod: Object) -> None:
        uid = str(pod["metadata"]["uid"])
        with self._lock:
            if uid in self._taken:
                return
            self._taken.add(uid)
            self._waiting[uid] = pod
            if self._threads < TOGETHER:
                self._threads += 1
                threading.Thread(target=self._work, name="gates", daemon=True).start()

    def _work(self) -> None:
        while (pod := self._next()) is not None:
            try:
                self._open(pod)
            except PortError as error:
                logger.warning("pod %s cannot be let to its node now: %s", pod["metadata"]["name"], error)
                self._note(pod, str(error))
                if not self._informer.ends_within(PAUSE):
                    self._again(pod)

    def _next(self) -> Object | None:
        """None also ends the thread that asks."""
        with self._lock:
            if self._waiting:
                return self._waiting.popitem(last=False)[1]
            self._threads -= 1
            return None

    def _note(self, pod: Object, why: str) -> None:
        uid = pod["metadata"]["uid"]
        with self._lock:
            if uid in self._taken:  # else it went meanwhile
                self._refused[uid] = why

    def _again(self, pod: Object) -> None:
        """Try it once more, after all others, unless it is open or gone by now."""
        uid, now = pod["metadata"]["uid"], self._informer.get(Kind.POD, pod["metadata"]["name"])
        with self._lock:
            if uid in self._taken and now is not None and now["metadata"]["uid"] == uid and is_gated(now):
                self._waiting[uid] = now

    def _open(self, pod: Object) -> None:
        """Safe to repeat, by several at once: they ask for the same, and an open pod is not changed by it."""
        crash_point("kube-gate:found")
        node = self._node_of(pod)
        if node is None:
            return
        meta = pod["metadata"]
        self._client.patch(Kind.POD, meta["name"], {"spec": narrowed(pod["spec"], node)}, uid=meta["uid"])
        crash_point("kube-gate:opened")

    def _node_of(self, pod: Object) -> str | None:
        """The node that its Job has for it; None where there is no such Job any more, and the pod goes with it."""
        owner = next((each for each in pod["metadata"].get("ownerReferences") or () if each["kind"] == "Job"), None)
        job = None if owner is None else self._job(owner["name"], owner["uid"])
        if job is None:
            return None
        try:
            nodes = json.loads((job["metadata"].get("annotations") or {})[PLACES])
            return str(nodes[pod_index(pod)]) if pod_index(pod) >= 0 else None
        except (KeyError, IndexError, TypeError, ValueError):
            logger.error("Job %s does not say where its pod %s is to run", owner, pod["metadata"]["name"])
            return None

    def _job(self, name: str, uid: str) -> Object | None:
        """As the informer has it, which may hear of a pod before its Job; else as the API has it."""
        job = self._informer.get(Kind.JOB, name)
        if job is None or job["metadata"]["uid"] != uid:
            job = self._client.get(Kind.JOB, name)
        return job if job is not None and job["metadata"]["uid"] == uid else None
