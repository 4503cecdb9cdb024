"""What is kept of an attempt's pods before they are deleted: all from which its end is judged, then and later."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from activities.adapters.kubernetes.cache import Object
from activities.adapters.kubernetes.facts import termination_messages
from activities.adapters.kubernetes.markers import Markers, Proof
from activities.adapters.kubernetes.naming import object_name
from activities.adapters.kubernetes.picture import Pictures
from activities.adapters.kubernetes.pod import commands
from activities.adapters.kubernetes.tracking import Attempt
from definitions.attempt import AttemptLaunch, AttemptObservation, AttemptRef, RankEvidence, StoppedBy
from definitions.cluster import ClusterSettings
from definitions.pod import PodFacts
from policies.pod_evidence import observation

Receipts = Mapping[int, RankEvidence]


class Prover:
    """Gathers what the cluster and the pods' own words prove now."""

    def __init__(self, pictures: Pictures, markers: Markers, now: Callable[[], datetime]) -> None:
        self._pictures = pictures
        self._markers = markers
        self._now = now

    def proof(self, launch: AttemptLaunch, attempt: Attempt) -> Proof | None:
        """None when nothing of the attempt was ever let run, as far as anybody knows."""
        seen = attempt.job is not None or bool(attempt.pods)
        if not seen and self._markers.opened(launch.ref) is None:
            return None
        facts = self._pictures.facts(attempt, events=True)
        facts = _as_the_job_says(attempt, [*facts, *self._missing(launch, attempt, facts)])
        receipts = tuple(_receipts(launch.ref, attempt).values())
        return Proof(at=self._now(), pods=tuple(facts), receipts=receipts, stopped=self._stopped(attempt))

    def _missing(self, launch: AttemptLaunch, attempt: Attempt, facts: Iterable[PodFacts]) -> list[PodFacts]:
        """Pods that nobody here ever saw, of which the Job says that they ended, or that went with the Job."""
        seen = {pod.index for pod in facts}
        absent = [index for index in range(launch.nodes) if index not in seen]
        job = attempt.living_job
        base = object_name(launch.ref, launch.name)
        status = (job or {}).get("status") or {}
        well, badly = _indexes(status.get("completedIndexes", "")), _indexes(status.get("failedIndexes", ""))
        over = job is None or _finished(job) is not None
        return [
            PodFacts(
                name=f"{base}-{index}",
                uid="",
                index=index,
                phase="Succeeded" if index in well else "Unknown",
                gone=True,
                last_seen=attempt.asked_at if job is None else None,
            )
            for index in absent
            if over or index in well | badly
        ]

    def _stopped(self, attempt: Attempt) -> bool:
        """Whether its pods went because we had asked it to end. Read only where pods went."""
        went = attempt.living_job is None or any(_is_going(each.pod) or each.gone for each in attempt.pods.values())
        if not went:
            return False
        closing = self._markers.closing(attempt.ref)
        return closing is not None and closing.by == "stop"


def conclude(
    launch: AttemptLaunch, proof: Proof, settings: ClusterSettings, receipts: Iterable[RankEvidence] = ()
) -> AttemptObservation:
    """What the proof says of every rank. `receipts`: found elsewhere than in the pods' own words; they tell more."""
    known = {receipt.rank: receipt for receipt in (*proof.receipts, *receipts)}
    if proof.stopped:
        known = {rank: _on_request(receipt) for rank, receipt in known.items()}
    return observation(launch, proof.pods, settings, proof.at, known, stopped=proof.stopped)


def _receipts(ref: AttemptRef, attempt: Attempt) -> Receipts:
    found: dict[int, RankEvidence] = {}
    for each in attempt.pods.values():
        node = (each.pod.get("spec") or {}).get("nodeName", "")
        for text in termination_messages(each.pod):
            receipts = commands.parse_receipts(text, node)
            if receipts is not None and receipts.token == ref.token:
                found |= receipts.ranks
    return found


def _on_request(receipt: RankEvidence) -> RankEvidence:
    """A pod that we delete cannot tell our request from a machine that goes down."""
    if receipt.stopped_by is not StoppedBy.SHUTDOWN:
        return receipt
    return receipt.model_copy(update={"stopped_by": StoppedBy.REQUEST})


def _as_the_job_says(attempt: Attempt, facts: list[PodFacts]) -> list[PodFacts]:
    """Pods that the cluster takes down at the Job's own deadline do not say why; the Job does."""
    finished = None if attempt.job is None else _finished(attempt.job)
    if finished is None or finished[0] != "DeadlineExceeded":
        return facts
    told = {"reason": finished[0], "message": finished[1]}
    return [pod.model_copy(update=told) if (pod.deleting or pod.gone) and not pod.reason else pod for pod in facts]


def _finished(job: Object) -> tuple[str, str] | None:
    """Reason and words of a Job's last condition."""
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition.get("type") in ("Complete", "Failed", "FailureTarget") and condition.get("status") == "True":
            return condition.get("reason", ""), condition.get("message", "")
    return None


def _indexes(text: str) -> set[int]:
    """Of `0,2-4`."""
    found: set[int] = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        found |= set(range(int(first), int(last or first) + 1))
    return found


def _is_going(pod: Object) -> bool:
    return pod["metadata"].get("deletionTimestamp") is not None
