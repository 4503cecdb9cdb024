"""After the end of an attempt: nothing of it is left in the cluster but the job's volume, and what it left is kept."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.keeper import Keepers
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.markers import Closing, Markers, Proof
from activities.adapters.kubernetes.naming import TOKEN, label, object_name
from activities.adapters.kubernetes.objects import render
from activities.adapters.kubernetes.observing import Observer
from activities.adapters.kubernetes.picture import Pictures
from activities.adapters.kubernetes.pod_logs import PodLogs, with_lines
from activities.adapters.kubernetes.proving import Prover, conclude
from activities.adapters.kubernetes.requests import Requests
from activities.adapters.kubernetes.tracking import Attempt, SeenPod, Tracker
from activities.effects import crash_point
from activities.ports import PortError
from definitions.attempt import AttemptLaunch, AttemptObservation, AttemptRef, Collected, StopRequest
from definitions.cluster import ClusterSettings

PAUSE = 0.1
ASK_EVERY = 5.0  # seconds after which the API is asked where the informer has not told of an end
AGENTS_WITHIN = timedelta(seconds=20)  # for agents that were told to end at once
GONE_WITHIN = timedelta(seconds=60)  # for pods that were deleted
LOCAL_RUN = "the run folder went with its pods: the cluster has no volume that all nodes of the job could share"
NO_RUN = "the run folder went with its pods: the cluster keeps none"


class Collector:
    """Collects ended attempts, and ends those that have not."""

    def __init__(
        self,
        client: KubeClient,
        tracker: Tracker,
        pictures: Pictures,
        markers: Markers,
        prover: Prover,
        observer: Observer,
        requests: Requests,
        keepers: Keepers,
        logs: PodLogs,
        settings: ClusterSettings,
        now: Callable[[], datetime],
    ) -> None:
        self._client = client
        self._tracker = tracker
        self._pictures = pictures
        self._markers = markers
        self._prover = prover
        self._observer = observer
        self._requests = requests
        self._keepers = keepers
        self._logs = logs
        self._settings = settings
        self._now = now

    def collect(self, launch: AttemptLaunch) -> Collected:
        """Safe to repeat: what is kept has keys of its own, and an attempt that was collected is described again.

        Raises PortError: PD-3159 when pods do not go, or what the keeper, the cluster or the object store say.
        """
        collected = self._markers.collected(launch.ref)
        if collected is None:
            self._markers.close(launch.ref, Closing(by="collect", reason="collected before it began"))
            crash_point("kube-collect:closed")
            collected = self._keep(launch)
            crash_point("kube-collect:kept")
            collected = self._markers.write_collected(launch.ref, collected)
            crash_point("kube-collect:written")
        self._clear(launch)
        self._tracker.forget(launch.ref)
        self._observer.forget(launch.ref)
        return collected

    def collect_earlier(self, ref: AttemptRef) -> None:
        """Collect what was launched of the job before this attempt and never collected, so that two never run at once.

        Whoever launches writes that down before anything else: of two launches, one sees the other.
        """
        for other in self._markers.uncollected(ref):
            launch = self._markers.launch(other) if other.number < ref.number else None
            if launch is not None:
                self.collect(launch)

    def _keep(self, launch: AttemptLaunch) -> Collected:
        ref = launch.ref
        if self._markers.launch(ref) is None:
            return Collected(observation=AttemptObservation(ref=ref, at=self._now(), exists=True, ended=True))
        claim = self._claim(ref)
        proof = self._markers.proof(ref)
        attempt = self._pictures.now(ref) if proof is not None else self._ended(launch)
        if proof is None:
            proof = self._prove(launch, attempt, claim)
            crash_point("kube-collect:proved")
        self._remove(launch, attempt)
        if proof is None:
            return Collected(observation=self._observer.judge(launch, attempt))
        if claim is not None:
            return self._keep_volume(launch, proof, claim)
        seen = with_lines(conclude(launch, proof, self._settings), proof.lines)
        return Collected(observation=seen, log_bytes=proof.log_bytes, problems=proof.problems)

    def _claim(self, ref: AttemptRef) -> str | None:
        """The claim of the volume with the run folder, for an attempt that was let run."""
        opened = self._markers.opened(ref)
        return None if opened is None else opened.claim

    def _prove(self, launch: AttemptLaunch, attempt: Attempt, claim: str | None) -> Proof | None:
        """Keep what only the pods can tell, before they are deleted; without a volume that is their logs too."""
        proof = self._prover.proof(launch, attempt)
        if proof is None:
            return None
        if claim is None:
            kept = self._logs.keep(attempt, launch)
            reason = NO_RUN if self._settings.storage_bytes is None else LOCAL_RUN
            told = {"lines": kept.last_lines(), "log_bytes": kept.bytes, "problems": (*kept.problems, reason)}
            proof = proof.model_copy(update=told)
        return self._markers.write_proof(launch.ref, proof)

    def _ended(self, launch: AttemptLaunch) -> Attempt:
        """The attempt once nothing of it runs: told to end, and waited for; what does not listen is deleted."""
        attempt = self._pictures.now(launch.ref)
        if attempt.living_job is None or self._observer.judge(launch, attempt).ended:
            return attempt
        stop = StopRequest(reason="collected", grace=timedelta(0))
        self._requests.end_now(launch, attempt, stop)
        ends = time.monotonic() + AGENTS_WITHIN.total_seconds()
        while time.monotonic() < ends:
            attempt = self._pictures.now(launch.ref)
            if self._observer.judge(launch, attempt).ended:
                return attempt
            time.sleep(PAUSE)
        self._requests.delete(attempt, timedelta(0))
        return self._until_gone(launch, attempt)

    def _keep_volume(self, launch: AttemptLaunch, proof: Proof, claim: str) -> Collected:
        if self._client.get(Kind.PERSISTENT_VOLUME_CLAIM, claim) is None:
            gone = f"the volume claim {claim} was deleted, and all that was on it"
            return Collected(observation=conclude(launch, proof, self._settings), problems=(gone,))
        outcome = self._keepers.collect(launch, claim)
        seen = conclude(launch, proof, self._settings, outcome.receipts)
        return Collected(
            observation=self._logs.with_kept_lines(seen),
            checkpoints=outcome.checkpoints,
            reached_step=outcome.reached_step,
            progress=outcome.progress,
            artifacts=len(outcome.artifact_files),
            artifact_files=outcome.artifact_files,
            log_bytes=outcome.log_bytes,
            problems=outcome.problems,
        )

    def _remove(self, launch: AttemptLaunch, attempt: Attempt) -> None:
        """Delete the Job, with which its pods and Service go, and wait until no pod is left."""
        job = attempt.living_job
        if job is not None:
            # A pod that nobody has seen yet must go before its Job does, or nothing would tell of it.
            meta, all_seen = job["metadata"], len(attempt.pods) >= launch.nodes or bool(job["spec"].get("suspend"))
            self._client.delete(Kind.JOB, meta["name"], uid=meta["uid"], background=all_seen)
            crash_point("kube-collect:deleted")
        self._until_gone(launch, attempt)

    def _until_gone(self, launch: AttemptLaunch, attempt: Attempt) -> Attempt:
        """Raises PortError (PD-3159) when pods stay. Those of a lost node are forced out only once nothing can come of
        them any more: the node is gone, or it has been silent for twice as long as it takes to call it lost."""
        began = asked = time.monotonic()
        forced: set[str] = set()
        while True:
            attempt = self._tracker.get(launch.ref) or attempt
            if attempt.living_job is None and not attempt.living:
                return attempt
            lost = [each for each in attempt.living if self._is_lost(each, patiences=1)]
            self._force(attempt, forced)
            within = GONE_WITHIN + (2 * self._settings.node_patience if lost else timedelta(0))
            if time.monotonic() - began > within.total_seconds():
                names = ", ".join(each.pod["metadata"]["name"] for each in attempt.living[:3])
                raise PortError(f"what was deleted does not go: {names or 'the Job'}", code="PD-3159")
            time.sleep(PAUSE)
            if time.monotonic() - asked > ASK_EVERY:
                asked, attempt = time.monotonic(), self._pictures.asked(launch.ref)

    def _force(self, attempt: Attempt, forced: set[str]) -> None:
        for each in attempt.living:
            meta = each.pod["metadata"]
            if meta["uid"] not in forced and self._is_lost(each, patiences=2):
                forced.add(meta["uid"])
                self._client.delete(Kind.POD, meta["name"], grace=0, uid=meta["uid"])

    def _is_lost(self, each: SeenPod, *, patiences: int) -> bool:
        node = self._pictures.node((each.pod.get("spec") or {}).get("nodeName"))
        if node.gone:
            return True
        silent = node.ready is False and node.heard is not None
        return silent and node.heard is not None and self._now() - node.heard > patiences * self._settings.node_patience

    def _clear(self, launch: AttemptLaunch) -> None:
        """Remove what an attempt that was collected may still have in the cluster."""
        ref = launch.ref
        if self._markers.launch(ref) is None:
            return
        base = object_name(ref, launch.name)
        attempt = self._tracker.get(ref) or self._pictures.asked(ref)
        if attempt.living_job is not None:
            self._remove(launch, attempt)
        opened = self._markers.opened(ref)
        uid = self._secret_uid(ref, base) if opened is None else opened.secret_uid
        if uid is not None:
            self._client.delete(Kind.SECRET, base, uid=uid)

    def _secret_uid(self, ref: AttemptRef, base: str) -> str | None:
        """The uid of a Secret that was made for this attempt, and not of another's with that name."""
        secret = self._client.get(Kind.SECRET, base)
        return str(secret["metadata"]["uid"]) if secret is not None and label(secret, TOKEN) == ref.token else None


def claim_of(markers: Markers, ref: AttemptRef, settings: ClusterSettings) -> tuple[AttemptLaunch, str] | None:
    """The job's newest launch with a volume, and that volume's claim; None when it has none."""
    for known in sorted(markers.known(ref), key=lambda each: each.number, reverse=True):
        launch = markers.launch(known)
        if launch is not None and (claim := render.claim_for(launch, settings)) is not None:
            return launch, claim
    return None
