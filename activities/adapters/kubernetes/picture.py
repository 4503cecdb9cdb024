"""One attempt as the cluster has it now: from the informer where that is proven fresh, else from the API itself."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.events import Warnings
from activities.adapters.kubernetes.facts import NodeFacts, node_facts, pod_facts
from activities.adapters.kubernetes.informer import Informer
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import RANKS, ROLE, TOKEN, selector
from activities.adapters.kubernetes.tracking import Attempt, SeenPod, Tracker
from definitions.attempt import AttemptRef
from definitions.pod import ContainerState, PodFacts

FRESH = timedelta(seconds=5)
SLOW = timedelta(seconds=15)  # a pod that is not up by then may be kept from it by what only events tell


class Pictures:
    """Answers with what the tracker knows, and makes it know more where it has to."""

    def __init__(self, client: KubeClient, informer: Informer, tracker: Tracker, now: Callable[[], datetime]) -> None:
        self._client = client
        self._informer = informer
        self._tracker = tracker
        self._now = now
        self._warnings = Warnings(client, now)

    def cached(self, ref: AttemptRef) -> Attempt | None:
        """What is known without asking; None when that is too old, or when no Job is known to be there."""
        attempt = self._tracker.get(ref)
        if attempt is None or attempt.living_job is None or not self._is_fresh(attempt):
            return None
        return attempt

    def asked(self, ref: AttemptRef) -> Attempt:
        """What the API says now, together with what was seen before. Two calls."""
        labels = selector({TOKEN: ref.token})
        jobs = self._client.listing(Kind.JOB, labels=labels)
        pods = self._client.listing(Kind.POD, labels=f"{labels},{ROLE}={RANKS}")
        return self._tracker.answered(ref, jobs, pods)

    def is_blind(self) -> bool:
        """Whether the cluster is not heard now: what is known ages, and nothing follows from that."""
        return any(self._informer.trouble(kind) is not None for kind in (Kind.JOB, Kind.POD, Kind.NODE))

    def now(self, ref: AttemptRef) -> Attempt:
        return self.cached(ref) or self.asked(ref)

    def facts(self, attempt: Attempt, *, events: bool = False) -> list[PodFacts]:
        """The attempt's pods. With `events`, pods that do not come up are looked for in the cluster's warnings."""
        alive_at = max(filter(None, (self._proof(Kind.POD), attempt.asked_at)), default=self._now())
        found = [(each, self._facts(each, alive_at, "")) for each in attempt.pods.values()]
        return [
            self._facts(each, alive_at, self._warnings.about(facts.uid)) if events and self._is_slow(facts) else facts
            for each, facts in found
        ]

    def refusal(self, attempt: Attempt) -> str:
        """Why the cluster makes no pods for the attempt's Job, in its own words; empty when it says nothing."""
        job = attempt.living_job
        if job is None or attempt.pods or not self._is_old(job):
            return ""
        return self._warnings.about(job["metadata"]["uid"])

    def node(self, name: str | None) -> NodeFacts:
        known = name is not None and self._proof(Kind.NODE) is not None
        return node_facts(self._informer.get(Kind.NODE, name) if known and name else None, name, known=known)

    def _facts(self, seen: SeenPod, alive_at: datetime, warning: str) -> PodFacts:
        node = self.node((seen.pod.get("spec") or {}).get("nodeName"))
        return pod_facts(seen.pod, node, seen.seen(alive_at, warning))

    def _is_fresh(self, attempt: Attempt) -> bool:
        known = [at for at in (self._proof(Kind.POD), attempt.asked_at) if at is not None]
        return bool(known) and self._now() - max(known) < FRESH

    def _proof(self, kind: Kind) -> datetime | None:
        return self._informer.last_proof(kind)

    def _is_slow(self, pod: PodFacts) -> bool:
        up = pod.main is not None and pod.main.state is not ContainerState.WAITING
        over = pod.gone or pod.phase in ("Succeeded", "Failed")
        begun = pod.started_at or pod.created_at
        return not up and not over and pod.scheduled and begun is not None and self._now() - begun > SLOW

    def _is_old(self, job: dict[str, Any]) -> bool:
        started = (job.get("status") or {}).get("startTime")
        return started is not None and self._now() - datetime.fromisoformat(started) > SLOW
