"""What is asked of an attempt: told to its agents where they can be reached, else done to its objects.

Agents carry a request out by themselves, and say so in their receipts. Where none can hear it, the attempt is closed
by a marker and its objects are deleted, which gives whatever runs its grace.
"""

import contextlib
import logging
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

from activities.adapters.kubernetes.cache import Object
from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.facts import is_up, main_state, may_be_up, pod_index
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.markers import Closing, Markers
from activities.adapters.kubernetes.objects.job import active_deadline
from activities.adapters.kubernetes.objects.pod import MAIN, save_time
from activities.adapters.kubernetes.objects.storage import decode, encode
from activities.adapters.kubernetes.observing import Observer
from activities.adapters.kubernetes.picture import Pictures
from activities.adapters.kubernetes.pod import commands
from activities.adapters.kubernetes.tracking import Attempt
from activities.effects import crash_point
from activities.ports import PortError, RunLook
from definitions.attempt import AttemptLaunch, AttemptRef, StopRequest
from definitions.pod import ContainerState
from definitions.pod_launch import PodLaunch

WITHIN = timedelta(seconds=15)
TOGETHER = 32  # pods that save at a time
logger = logging.getLogger(__name__)


class Requests:
    """Stops, checkpoints, deadlines, and looks into a run folder."""

    def __init__(
        self,
        client: KubeClient,
        pictures: Pictures,
        markers: Markers,
        observer: Observer,
        now: Callable[[], datetime],
    ) -> None:
        self._client = client
        self._pictures = pictures
        self._markers = markers
        self._observer = observer
        self._now = now

    def stop(self, ref: AttemptRef, request: StopRequest) -> None:
        """Have an attempt end; one that was not launched never will be. Safe to repeat."""
        attempt = self._pictures.now(ref)
        launch = self._observer.launch(ref)
        if launch is not None and self._observer.judge(launch, attempt).ended:
            return
        if launch is not None and self._is_heard(launch, attempt, request):
            return
        self._markers.close(ref, Closing(by="stop", reason=request.reason))
        crash_point("kube-stop:closed")
        # A launcher that looked for the marker before it was there has let the Job run by now, or is about to.
        self.delete(self._pictures.asked(ref), request.grace)

    def control(self, ref: AttemptRef, request_id: str, *, checkpoint: bool, deadline: datetime | None) -> None:
        """Ask the ranks to save, tell them a deadline. Agents carry it out once per `request_id`.

        What has not begun has nothing to save.
        """
        attempt, launch = self._pictures.now(ref), self._observer.launch(ref)
        job = attempt.living_job
        if job is None or launch is None:
            return
        if deadline is not None:
            self._move_deadline(launch, job, deadline)
        first = _first(attempt, is_up)
        if first is not None:
            self._ask(first, commands.ask_control(request_id, checkpoint=checkpoint, deadline=deadline))
        elif deadline is not None:
            self._hand_over(job, deadline)
        if checkpoint and launch.pod is not None and launch.pod.save_command:
            self._save(launch, launch.pod.save_command, attempt, request_id)

    def look(self, ref: AttemptRef) -> RunLook | None:
        """What the first pod sees of the run folder; None when there is no such pod, or it cannot be reached now."""
        first = _first(self._pictures.now(ref), is_up)
        if first is None:
            return None
        try:
            return commands.parse_look(self._ask(first, commands.ask_look()))
        except PortError as error:
            logger.info("no look into the run folder of %s: %s", ref.job, error)
            return None

    def end_now(self, launch: AttemptLaunch, attempt: Attempt, request: StopRequest) -> None:
        """Have what runs end at once: by its agents, whose receipts tell how, else by deleting it."""
        if not self._is_heard(launch, attempt, request):
            self.delete(attempt, request.grace)

    def delete(self, attempt: Attempt, grace: timedelta) -> None:
        """Delete an attempt's Job and pods; pods get `grace`. Safe to repeat: uids name what is meant."""
        job = attempt.living_job
        if job is not None:
            self._client.delete(Kind.JOB, job["metadata"]["name"], uid=job["metadata"]["uid"])
            crash_point("kube-stop:job")
        for each in attempt.living:
            meta = each.pod["metadata"]
            if is_up(each.pod):
                seconds = max(0, math.ceil(grace.total_seconds()))
                self._client.delete(Kind.POD, meta["name"], grace=max(seconds, 1), uid=meta["uid"])

    def _is_heard(self, launch: AttemptLaunch, attempt: Attempt, request: StopRequest) -> bool:
        """Whether the agents took the request. Before all pods have begun nothing has run, and deleting is quicker; but
        what the cluster tells of that may be late, so the first pod is asked.

        A command of the job's own for saving runs in pods that are deleted, so a stop that saves first deletes them.
        """
        own_way = request.checkpoint_first and launch.pod is not None and bool(launch.pod.save_command)
        begun = [each for each in attempt.living if main_state(each.pod) is not ContainerState.WAITING]
        first = _first(attempt, is_up) or _first(attempt, may_be_up)
        if own_way or first is None:
            return False
        with contextlib.suppress(PortError):
            opened = commands.parse_stop(self._ask(first, commands.ask_stop(request)))
            return opened or len(begun) == launch.nodes
        return False

    def _save(self, launch: AttemptLaunch, command: tuple[str, ...], attempt: Attempt, request_id: str) -> None:
        """Have the job's own program save, in all its pods at once. Safe to repeat: not again once all have."""
        pods = [each.pod for each in attempt.living if is_up(each.pod)]
        if not pods or self._markers.is_done(launch.ref, request_id):
            return
        within, argv = save_time(launch), (*commands.SAVE, *command)
        with ThreadPoolExecutor(min(len(pods), TOGETHER)) as pool:
            list(pool.map(lambda pod: self._ask(pod, argv, within), pods))
        self._markers.write_done(launch.ref, request_id)

    def _move_deadline(self, launch: AttemptLaunch, job: Object, deadline: datetime) -> None:
        """The cluster's own deadline, far behind the agents', moves along."""
        started = (job.get("status") or {}).get("startTime")
        since = self._now() if started is None else datetime.fromisoformat(started)
        seconds = active_deadline(launch, deadline, since)
        meta = job["metadata"]
        self._client.patch(Kind.JOB, meta["name"], {"spec": {"activeDeadlineSeconds": seconds}}, uid=meta["uid"])

    def _hand_over(self, job: Object, deadline: datetime) -> None:
        """Pods that have not begun find the deadline in what they are handed."""
        name = job["metadata"]["name"]
        secret = self._client.get(Kind.SECRET, name)
        if secret is None:
            return
        handed = PodLaunch.model_validate_json(decode(secret["data"][commands.LAUNCH_KEY]))
        launch = handed.launch.model_copy(update={"deadline": deadline, "time_limit": None})
        content = handed.model_copy(update={"launch": launch}).model_dump_json()
        self._client.patch(Kind.SECRET, name, {"data": {commands.LAUNCH_KEY: encode(content)}})

    def _ask(self, pod: Object, argv: tuple[str, ...], within: timedelta = WITHIN) -> str:
        """The answer of a pod's agent. Raises PortError (PD-3160) when it says no."""
        name = pod["metadata"]["name"]
        answer = self._client.exec(name, MAIN, list(argv), within=within)
        if answer.code != 0:
            words = (answer.stderr or answer.stdout).decode(errors="replace").strip()[-300:]
            raise PortError(f"the agent in pod {name} did not take a request: {words}", code="PD-3160")
        return answer.stdout.decode(errors="replace")


def _first(attempt: Attempt, holds: Callable[[Object], bool]) -> Object | None:
    """The gang's first pod, if that holds of it."""
    return next((each.pod for each in attempt.living if pod_index(each.pod) == 0 and holds(each.pod)), None)
