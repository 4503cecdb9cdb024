"""Pods that KWOK plays, whose lives are thrown by seed: how long each runs, and how it ends. What the API server tells
of them all is noted, in its own order, so that nothing is believed of anybody else."""

import json
import random
import re
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import httpx

from tests.support.cluster import Namespace, TestCluster

JOB_NAME, INDEX = "batch.kubernetes.io/job-name", "batch.kubernetes.io/job-completion-index"
OVER = ("Succeeded", "Failed")
WATCH_SECONDS = 5


class Place(NamedTuple):
    """A pod's place: which job, which attempt of it, which of its nodes."""

    name: str
    attempt: int
    node: int


@dataclass(frozen=True)
class Fate:
    seconds: float
    code: int


class Trainers(threading.Thread):
    """Gives every pod of a namespace its fate as soon as it is there.

    `ended`: with what each pod ended, as its status said. `made`: how many pods each place had. `beside`: pods that
    came to be while one of another attempt of the same job, or of the same place, was still there and not over.
    """

    def __init__(self, cluster: TestCluster, space: Namespace, seed: int, failing: float, last: int) -> None:
        """`failing`: the share of pods that fail; none of attempt `last` or later does."""
        super().__init__(name="trainers", daemon=True)
        self.ended: dict[Place, int] = {}
        self.made: dict[Place, int] = {}
        self.beside: list[tuple[Place, Place]] = []
        self.error: BaseException | None = None
        self._cluster, self._space = cluster, space
        self._seed, self._failing, self._last = seed, failing, last
        self._running: dict[str, Place] = {}  # by uid
        self._over = threading.Event()

    def fate(self, place: Place) -> Fate:
        dice = random.Random(f"{self._seed}/{place}")
        seconds = dice.uniform(0.3, 4)
        fails = place.attempt < self._last and dice.random() < self._failing
        return Fate(seconds, dice.choice((1, 137)) if fails else 0)

    def attempts(self, name: str, nodes: int) -> int:
        """How many attempts a job needs: all pods of the last end well."""
        number = 1
        while any(self.fate(Place(name, number, index)).code for index in range(nodes)):
            number += 1
        return number

    def close(self) -> None:
        self._over.set()
        self.join(60)

    def run(self) -> None:
        try:
            for what, pod in self._events():
                self._note(what, pod)
        except BaseException as error:  # pods without a fate would only look like jobs that take long
            self.error = error

    def _note(self, what: str, pod: dict[str, Any]) -> None:
        place, uid = _place(pod), pod["metadata"]["uid"]
        status = pod.get("status") or {}
        if what == "ADDED":
            self.beside += [(place, other) for other in self._running.values() if _may_not_be_beside(place, other)]
            self.made[place] = self.made.get(place, 0) + 1
            self._running[uid] = place
            self._give(pod, self.fate(place))
        if status.get("phase") in OVER:
            self.ended[place] = _exit_code(status)
        if what == "DELETED" or status.get("phase") in OVER:
            self._running.pop(uid, None)

    def _give(self, pod: dict[str, Any], fate: Fate) -> None:
        annotations = {
            "fake.perdure.dev/run-for": f"{fate.seconds:.2f}s",
            "fake.perdure.dev/fail-percent": "100" if fate.code else "0",
            "fake.perdure.dev/exit-code": str(fate.code),
        }
        path = f"{self._space.path}/pods/{pod['metadata']['name']}"
        try:
            self._space.api.patch(path, {"metadata": {"annotations": annotations}})
        except httpx.HTTPStatusError as error:
            if error.response.status_code != httpx.codes.NOT_FOUND:  # deleted already: it is missing from `ended`
                raise

    def _events(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """All changes of the namespace's pods, from before the first one on. Raises when one could have been missed."""
        path = f"{self._space.path}/pods"
        version = self._space.api.get(path, limit="1")["metadata"]["resourceVersion"]
        context = ssl.create_default_context(cafile=str(self._cluster.certificate))
        headers = {"Authorization": f"Bearer {self._cluster.token}"}
        with httpx.Client(base_url=self._cluster.url, verify=context, headers=headers, trust_env=False) as client:
            while not self._over.is_set():
                query = {
                    "watch": "true",
                    "allowWatchBookmarks": "true",
                    "resourceVersion": version,
                    "timeoutSeconds": str(WATCH_SECONDS),
                }
                with client.stream("GET", path, params=query, timeout=WATCH_SECONDS + 30) as lines:
                    for line in lines.iter_lines():
                        event = json.loads(line)
                        if event["type"] == "ERROR":
                            raise RuntimeError(f"pods may have been missed: {event['object']}")
                        version = event["object"]["metadata"]["resourceVersion"]
                        if event["type"] != "BOOKMARK":
                            yield event["type"], event["object"]


def _may_not_be_beside(one: Place, other: Place) -> bool:
    return one.name == other.name and (one.attempt != other.attempt or one.node == other.node)


def _place(pod: dict[str, Any]) -> Place:
    labels = pod["metadata"]["labels"]
    found = re.fullmatch(r"(.+)-[0-9a-f]{12}-(\d+)", labels[JOB_NAME])
    assert found, labels
    return Place(found[1], int(found[2]), int(labels[INDEX]))


def _exit_code(status: dict[str, Any]) -> int:
    (container,) = status["containerStatuses"]
    return int(container["state"]["terminated"]["exitCode"])
