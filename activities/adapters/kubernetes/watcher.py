"""Who waits for attempts to begin and to end: told by the informer, and looking by itself where only time tells."""

import logging
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import OURS, ROLE, label, ref_of
from activities.adapters.kubernetes.observing import Observer
from activities.adapters.kubernetes.picture import Pictures
from activities.adapters.kubernetes.tracking import Attempt, Tracker
from activities.ports import PortError
from definitions.attempt import AttemptObservation

WAIT = 0.2  # seconds that a request to stop may go unseen
LOOK_EVERY = 5.0  # seconds between two looks at everything that is not collected
TELL_AGAIN = 60.0  # after which an attempt that ended and was not collected is told of once more

logger = logging.getLogger(__name__)


class News(NamedTuple):
    """What was told of an attempt, and when."""

    ended: bool
    running: bool
    note: str
    at: float

    def says_the_same(self, now: "News") -> bool:
        """An end is told again until somebody collects the attempt."""
        again = self.ended and now.at - self.at >= TELL_AGAIN
        return self[:3] == now[:3] and not again


class Watcher:
    """Yields what began to run, waits for another reason, or has ended; a new one begins anew with all there is."""

    def __init__(self, client: KubeClient, tracker: Tracker, pictures: Pictures, observer: Observer) -> None:
        self._client = client
        self._tracker = tracker
        self._pictures = pictures
        self._observer = observer
        self._told: dict[str, News] = {}
        self._listed = False

    def changes(self, stop: threading.Event) -> Iterator[AttemptObservation]:
        looked = 0.0
        while not stop.is_set():
            some, everything = self._tracker.wait(WAIT), time.monotonic() - looked >= LOOK_EVERY
            if everything:
                looked = time.monotonic()
                self._list_once()
                some = self._tracker.attempts()
                tokens = {each.ref.token for each in some}
                self._told = {token: news for token, news in self._told.items() if token in tokens}
            for attempt in some:
                observation = self._look(attempt, waiting=everything)
                if observation is not None:
                    yield observation

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

    def _look(self, attempt: Attempt, *, waiting: bool) -> AttemptObservation | None:
        """The observation, when it is news. `waiting`: what still waits is news too, which it is not for moments."""
        token, now = attempt.ref.token, time.monotonic()
        told = self._told.get(token)
        if told is not None and told.ended and now - told.at < TELL_AGAIN:
            return None
        if self._pictures.is_blind():
            return None
        try:
            seen = self._observation(attempt)
        except (PortError, ValueError) as error:
            logger.warning("attempt %s of %s cannot be observed now: %s", attempt.ref.number, attempt.ref.job, error)
            return None
        if seen is None or not (seen.ended or seen.running or (waiting and seen.note)):
            return None
        news = News(seen.ended, seen.running, seen.note, now)
        if told is not None and told.says_the_same(news):
            return None
        self._told[token] = news
        return seen

    def _observation(self, attempt: Attempt) -> AttemptObservation | None:
        ref = attempt.ref
        if attempt.living_job is None:
            if self._observer.is_over(ref):
                self._tracker.forget(ref)
                return None
            attempt = self._pictures.asked(ref)  # a Job that is not seen is looked for before it counts as gone
        launch = self._observer.launch(ref)
        return None if launch is None else self._observer.judge(launch, attempt)
