"""What a job's ranks report, seen while they run: in the run folders of their pods, and as kept of earlier attempts."""

import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from activities.adapters.kubernetes.cache import Object
from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.facts import is_up, main_state
from activities.adapters.kubernetes.markers import Markers
from activities.adapters.kubernetes.objects.pod import MAIN
from activities.adapters.kubernetes.picture import Pictures
from activities.adapters.kubernetes.pod import commands
from activities.adapters.kubernetes.pod_logs import LEAST_REPORTS, PodLogs
from activities.adapters.kubernetes.tracking import Attempt
from activities.ports import ObjectStore, PortError
from activities.progress import WHOLE, kept_progress
from definitions.attempt import AttemptRef
from definitions.pod import ContainerState
from definitions.progress import ProgressPoint
from policies.progress import parse_points

WITHIN = timedelta(seconds=20)
TOGETHER = 16  # pods that are asked at a time
logger = logging.getLogger(__name__)


class Reports:
    """Reads progress files through the agents, which stand beside them."""

    def __init__(
        self, client: KubeClient, pictures: Pictures, markers: Markers, logs: PodLogs, objects: ObjectStore
    ) -> None:
        self._client = client
        self._pictures = pictures
        self._markers = markers
        self._logs = logs
        self._objects = objects

    def points(self, ref: AttemptRef) -> list[ProgressPoint]:
        """Of earlier attempts as they were kept, and of this one from the run folder of every pod that has its own.

        What cannot be seen of some pods is left out. Raises PortError when it cannot be seen of any that runs.
        """
        kept = kept_progress(self._objects, ref.tenant, ref.project, ref.job)
        attempt = self._pictures.now(ref)
        try:
            return kept + self._live(attempt)
        except PortError:
            attempt = self._pictures.asked(ref)  # it may have ended just then
            if _running(attempt):
                raise
            return kept

    def _live(self, attempt: Attempt) -> list[ProgressPoint]:
        opened = self._markers.opened(attempt.ref)
        if opened is None:
            return []
        shared = opened.claim is not None
        begun = [each.pod for each in attempt.living if main_state(each.pod) is not ContainerState.WAITING]
        asked = _running(attempt)[:1] if shared else begun
        most = max(WHOLE // max(len(asked), 1), LEAST_REPORTS)
        with ThreadPoolExecutor(TOGETHER, "reports") as threads:
            answers = list(threads.map(lambda pod: self._of_pod(pod, most), asked))
        heard = [answer for answer in answers if not isinstance(answer, PortError)]
        for answer in answers:
            if isinstance(answer, PortError):
                if not heard:
                    raise answer
                logger.info("no look into the run folder of a pod of %s: %s", attempt.ref.job, answer)
        return [point for points in heard for point in points]

    def _of_pod(self, pod: Object, most: int) -> list[ProgressPoint] | PortError:
        """Of one that has ended, from its log. An agent of an earlier version knows the shorter question alone."""
        try:
            if not is_up(pod):
                return parse_points(self._logs.reports(pod["metadata"]["name"])[-most:])
            answer = self._ask(pod, commands.ask_progress(most)) or self._ask(pod, commands.ask_look())
            return parse_points(commands.parse_look(answer or "").progress.encode())
        except PortError as error:
            return error

    def _ask(self, pod: Object, argv: tuple[str, ...]) -> str | None:
        """The answer; None when the agent says no."""
        answer = self._client.exec(pod["metadata"]["name"], MAIN, list(argv), within=WITHIN)
        return answer.stdout.decode(errors="replace") if answer.code == 0 else None


def _running(attempt: Attempt) -> list[Object]:
    return [each.pod for each in attempt.living if is_up(each.pod)]
