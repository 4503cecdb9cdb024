"""What is known of an attempt: receipts, the cluster's words, and the markers for what the cluster has forgotten."""

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TypeVar

from activities.adapters.kubernetes.cache import Object
from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.gates import Gates
from activities.adapters.kubernetes.markers import Markers
from activities.adapters.kubernetes.objects.pod import MAIN
from activities.adapters.kubernetes.picture import Pictures
from activities.adapters.kubernetes.pod import commands
from activities.adapters.kubernetes.pod_logs import PodLogs, with_lines
from activities.adapters.kubernetes.proving import Prover, conclude
from activities.adapters.kubernetes.tracking import Attempt
from activities.ports import PortError
from definitions.attempt import AttemptLaunch, AttemptObservation, AttemptRef, RankEvidence, RankState, StoppedBy
from definitions.cluster import ClusterSettings
from definitions.states import Mode

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
        gates: Gates,
        prover: Prover,
        markers: Markers,
        logs: PodLogs,
        settings: ClusterSettings,
        now: Callable[[], datetime],
    ) -> None:
        self._client = client
        self._pictures = pictures
        self._gates = gates
        self._prover = prover
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
        launch = self.launch(ref)
        if launch is None:  # that is written before anything is made, so the cluster need not be asked
            closed = self._markers.closing(ref) is not None
            return AttemptObservation(ref=ref, at=self._now(), exists=closed, ended=closed)
        if attempt is None:
            attempt = self._pictures.asked(ref)
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

    def judge(self, launch: AttemptLaunch, attempt: Attempt) -> AttemptObservation:
        """What a picture of the attempt proves."""
        proof = self._prover.proof(launch, attempt)
        if proof is None:
            return self._never_began(launch)
        seen = conclude(launch, proof, self._settings)
        if seen.ended:
            return seen
        if refusal := self._pictures.refusal(attempt):
            return seen.model_copy(update={"note": f"waits: its pods are refused: {refusal}"})
        if held := self._gates.trouble(attempt.pods):
            return seen.model_copy(update={"note": f"waits: its pods cannot be let to their nodes: {held}"})
        return seen

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


def _keep(kept: OrderedDict[str, V], key: str, value: V) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > KEPT:
        kept.popitem(last=False)
