"""Pods in the words of a cluster: short builders of facts, so that a test says only what it is about."""

from datetime import timedelta
from typing import Any

from definitions.attempt import AttemptLaunch
from definitions.cluster import ClusterSettings
from definitions.pod import ContainerFacts, ContainerState, PodFacts
from definitions.pod_needs import PodNeeds
from tests.support.jobs import NOW, launch_of

SETTINGS = ClusterSettings()
BEGAN = NOW - timedelta(minutes=1)
LIMIT = 32 * 1024**2


def pod_launch(nodes: int = 1, **changes: Any) -> AttemptLaunch:
    return launch_of(nodes=nodes, pod=PodNeeds(memory=LIMIT), **changes)


def pod(index: int = 0, **changes: Any) -> PodFacts:
    """A scheduled pod whose main container has not begun."""
    given = {
        "name": f"train-{index}",
        "uid": f"uid-{index}",
        "index": index,
        "node": f"node-{index}",
        "scheduled": True,
        "created_at": BEGAN,
        "started_at": BEGAN,
        "last_seen": NOW,
        "node_ready": True,
    }
    return PodFacts(**{**given, **changes})


def container(state: ContainerState, name: str = "main", **changes: Any) -> ContainerFacts:
    return ContainerFacts(name=name, state=state, **changes)


def running(index: int = 0, **changes: Any) -> PodFacts:
    main = container(ContainerState.RUNNING, ready=True, started_at=BEGAN)
    return pod(index, phase="Running", main=main, **changes)


def waiting(word: str, words: str = "", index: int = 0, **changes: Any) -> PodFacts:
    """`word`, `words`: the kubelet's reason and message for its main container."""
    return pod(index, main=container(ContainerState.WAITING, reason=word, message=words), **changes)


def terminated(exit_code: int, word: str = "Error", words: str = "", index: int = 0, **changes: Any) -> PodFacts:
    main = container(
        ContainerState.TERMINATED,
        reason=word,
        message=words,
        exit_code=exit_code,
        started_at=BEGAN,
        ended_at=NOW,
    )
    return pod(index, **{"phase": "Succeeded" if exit_code == 0 else "Failed", "main": main, **changes})


def unprepared(message: str, exit_code: int = 1, index: int = 0, **changes: Any) -> PodFacts:
    init = container(
        ContainerState.TERMINATED, "prepare", reason="Error", message=message, exit_code=exit_code, ended_at=NOW
    )
    return pod(index, **{"phase": "Failed", "init": (init,), **changes})
