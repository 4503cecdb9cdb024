"""What is known of an attempt: receipts, the cluster's words, and the markers for what the cluster has forgotten."""

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import TypeVar

from activities.adapters.kubernetes.cache import Object
from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.facts import termination_messages
from activities.adapters.kubernetes.markers import Markers
from activities.adapters.kubernetes.naming import object_name
from activities.adapters.kubernetes.objects.pod import MAIN
from activities.adapters.kubernetes.picture import Pictures
from activities.adapters.kubernetes.pod import commands
from activities.adapters.kubernetes.pod_logs import PodLogs, with_lines
from activities.adapters.kubernetes.tracking import Attempt
from activities.ports import PortError
from definitions.attempt import AttemptLaunch, AttemptObservation, AttemptRef, RankEvidence, RankState, StoppedBy
from definitions.cluster import ClusterSettings
from definitions.pod import PodFacts
from definitions.states import Mode
from policies.pod_evidence import observation

KEPT = 4096  # attempts of which launch and last lines are remembered
ASK_WITHIN = timedelta(seconds=10)
LAUNCHING = "waits: it is being launched"
NEVER = "stopped before it began"
V = TypeVar("V")
Receipts = Mapping[int, RankEvidence]


class Observer:
    """Looks, and changes nothing."""

    def __init__(
        self,
        client: KubeClient,
        pictures: Pictures,
        markers: Markers,
        logs: PodLogs,
        settings: ClusterSettings,
        now: Callable[[], datetime],
    ) -> None:
        self._client = client
        self._pictures = pictures
        self._markers = markers
        self._logs = logs
        self._settings = settings
        self._now = now
        self._launches: OrderedDict[str, AttemptLaunch] = OrderedDict()
        self._lines: OrderedDict[str, dict[int, tuple[str, ...]]] = OrderedDict()
        self._lock = threading.Lock()

    def observe(self, ref: AttemptRef) -> AttemptObservation:
        """Everything that is known, with the last lines of ranks that have ended."""
        attempt = self._pictures.cached(ref)
        if attempt is None:
            collected = self._markers.collected(ref)
            if collected is not None:
                return collected.observation
            attempt = self._pictures.asked(ref)
        launch = self.launch(ref)
        if launch is None:
            closed = self._markers.closing(ref) is not None
            return AttemptObservation(ref=ref, at=self._now(), exists=closed, ended=closed)
        seen = self.judge(launch, attempt)
        if seen.ended:
            return self._with_lines(seen, attempt, launch)
        return self._with_readiness(seen, attempt, launch)

    def launch(self, ref: AttemptRef) -> AttemptLaunch | None:
        """What was launched, remembered; None when nothing was."""
        with self._lock:
            known = self._launches.get(ref.token)
        if known is None and (known := self._markers.launch(ref)) is not None:
            self.remember(known)
        return known

    def is_over(self, ref: AttemptRef) -> bool:
        """Whether it was collected, so that nobody has to look after it any more."""
        return self._markers.collected(ref) is not None

    def remember(self, launch: AttemptLaunch) -> None:
        with self._lock:
            _keep(self._launches, launch.ref.token, launch)

    def forget(self, ref: AttemptRef) -> None:
        with self._lock:
            self._launches.pop(ref.token, None)
            self._lines.pop(ref.token, None)

    def judge(self, launch: AttemptLaunch, attempt: Attempt, receipts: Receipts | None = None) -> AttemptObservation:
        """What a picture of the attempt proves. `receipts`: found elsewhere than in the pods' own words."""
        opened = attempt.job is not None or bool(attempt.pods) or self._markers.opened(launch.ref) is not None
        if attempt.living_job is None and not opened:
            return self._never_began(launch)
        facts = self._pictures.facts(attempt, events=True)
        facts = _as_the_job_says(attempt, [*facts, *self._missing(launch, attempt, facts)])
        stopped = self._stopped(attempt)
        known = dict(_receipts(launch.ref, attempt)) | dict(receipts or {})
        if stopped:
            known = {rank: _on_request(receipt) for rank, receipt in known.items()}
        seen = observation(launch, facts, self._settings, self._now(), known, stopped=stopped)
        refusal = "" if seen.ended else self._pictures.refusal(attempt)
        return seen.model_copy(update={"note": f"waits: its pods are refused: {refusal}"}) if refusal else seen

    def _with_lines(self, seen: AttemptObservation, attempt: Attempt, launch: AttemptLaunch) -> AttemptObservation:
        """The observation with the last lines of each rank, from the logs of its pods while those are there."""
        with self._lock:
            lines = self._lines.get(launch.ref.token)
        if lines is None:
            lines = self._logs.last_lines(attempt, launch)
            with self._lock:
                _keep(self._lines, launch.ref.token, lines)
        return with_lines(seen, lines)

    def _never_began(self, launch: AttemptLaunch) -> AttemptObservation:
        """Nothing was ever let run: it is still being launched, or it was closed before."""
        closing = self._markers.closing(launch.ref)
        state = RankState.WAITING if closing is None else RankState.EXITED
        by = None if closing is None else StoppedBy.REQUEST
        detail = "" if closing is None else f"{NEVER}: {closing.reason}" if closing.reason else NEVER
        ranks = tuple(
            RankEvidence(rank=rank, node="", state=state, stopped_by=by, ready=False, detail=detail)
            for rank in range(launch.ranks)
        )
        note = LAUNCHING if closing is None else ""
        ended = closing is not None
        return AttemptObservation(ref=launch.ref, at=self._now(), ranks=ranks, ended=ended, note=note)

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

    def _with_readiness(self, seen: AttemptObservation, attempt: Attempt, launch: AttemptLaunch) -> AttemptObservation:
        """A service's ranks come back in place, which only their pod can tell."""
        if launch.mode is not Mode.SERVICE or not any(rank.state is RankState.RUNNING for rank in seen.ranks):
            return seen
        told: dict[int, dict[str, object]] = {}
        for pod in attempt.living:
            told |= self._readiness(pod.pod)
        ranks = tuple(
            rank.model_copy(update=told[rank.rank]) if rank.rank in told and rank.state is RankState.RUNNING else rank
            for rank in seen.ranks
        )
        return seen.model_copy(update={"ranks": ranks})

    def _readiness(self, pod: Object) -> dict[int, dict[str, object]]:
        try:
            answer = self._client.exec(pod["metadata"]["name"], MAIN, list(commands.ask_ready()), within=ASK_WITHIN)
            said = json.loads(answer.stdout)["ranks"]
            return {each["rank"]: {"ready": each["ready"], "restarts": each["restarts"]} for each in said}
        except (PortError, ValueError, KeyError, TypeError):
            return {}  # it is not up yet, or not any more: what the cluster says of it counts


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


def _keep(kept: OrderedDict[str, V], key: str, value: V) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > KEPT:
        kept.popitem(last=False)
