"""Who waits for attempts to end: told by the informer, and looking by itself where only time tells."""

import logging
import threading
import time
from collections.abc import Iterator

from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import OURS, ROLE, label, ref_of
from activities.adapters.kubernetes.observing import Observer
from activities.adapters.kubernetes.picture import Pictures
from activities.adapters.kubernetes.tracking import Attempt, Tracker
from activities.ports import PortError
from definitions.attempt import AttemptObservation, AttemptRef

WAIT = 0.2  # seconds that a request to stop may go unseen
LOOK_EVERY = 5.0  # seconds between two looks at everything that is not collected
TELL_AGAIN = 60.0  # after which an attempt that ended and was not collected is told of once more

logger = logging.getLogger(__name__)


class EndsWatcher:
    """Yields what has ended, at least once; a new one begins anew with all that has not been collected."""

    def __init__(
        self,
        client: KubeClient,
        tracker: Tracker,
        pictures: Pictures,
        observer: Observer,
    ) -> None:
        self._client = client
        self._tracker = tracker
        self._pictures = pictures
        self._observer = observer
        self._told: dict[str, float] = {}
        self._listed = False

    def changes(self, stop: threading.Event) -> Iterator[AttemptObservation]:
        looked = 0.0
        while not stop.is_set():
            some = self._tracker.wait(WAIT)
            if time.monotonic() - looked >= LOOK_EVERY:
                looked = time.monotonic()
                self._list_once()
                some = self._tracker.attempts()
                self._told = {ref.token: at for ref, at in self._told_of(some)}
            for attempt in some:
                observation = self._look(attempt)
                if observation is not None:
                    yield observation

    def _told_of(self, attempts: list[Attempt]) -> list[tuple[AttemptRef, float]]:
        return [(each.ref, self._told[each.ref.token]) for each in attempts if each.ref.token in self._told]

    def _list_once(self) -> None:
        """Find attempts whose Job was deleted before this process began: their Secrets are there until they are
        collected."""
        if self._listed:
            return
        try:
            for secret in self._client.list(Kind.SECRET, labels=OURS):
                ref = ref_of(secret)
                if ref is not None and not label(secret, ROLE):
                    self._tracker.add(ref)
            self._listed = True
        except PortError as error:
            logger.warning("attempts that were not collected cannot be listed now: %s", error)

    def _look(self, attempt: Attempt) -> AttemptObservation | None:
        """The observation of an attempt that has ended and was not told of lately."""
        if time.monotonic() - self._told.get(attempt.ref.token, -TELL_AGAIN) < TELL_AGAIN:
            return None
        try:
            observation = self._observation(attempt)
        except (PortError, ValueError) as error:
            logger.warning("attempt %s of %s cannot be observed now: %s", attempt.ref.number, attempt.ref.job, error)
            return None
        if observation is None or not observation.ended:
            return None
        self._told[attempt.ref.token] = time.monotonic()
        return observation

    def _observation(self, attempt: Attempt) -> AttemptObservation | None:
        ref = attempt.ref
        if attempt.living_job is None:
            if self._observer.is_over(ref):
                self._tracker.forget(ref)
                return None
            attempt = self._pictures.asked(ref)  # a Job that is not seen is looked for before it counts as gone
        launch = self._observer.launch(ref)
        return None if launch is None else self._observer.judge(launch, attempt)
