"""Ends that a node brings about: its kubelet stands still, or is short of memory. Everything on that node feels it."""

from definitions.attempt import AttemptLaunch, AttemptObservation
from definitions.pod import PodCause
from definitions.pod_needs import PodNeeds
from definitions.states import FailureClass
from tests.activities.runtime_world import until_ended, until_running
from tests.pods_report.provocations import Provocation
from tests.pods_report.stage import Stage
from tests.support.kubelets import keeping_free, paused

NODE = "node-b"
THERE = PodNeeds(nodes=(NODE,))
EVERYTHING = "99%"  # of a node's memory: no node has so much left


def silent(stage: Stage, launch: AttemptLaunch) -> AttemptObservation:
    """A node that is heard again brings its pod back, as long as the attempt was not collected."""
    until_running(stage, launch.ref)
    with paused(stage.cluster, NODE):
        return until_ended(stage, launch.ref)


def short_of_memory(stage: Stage, launch: AttemptLaunch) -> AttemptObservation:
    """The kubelet is told to keep more memory free than the machine has, so it evicts what it can."""
    until_running(stage, launch.ref)
    with keeping_free(stage.cluster, NODE, EVERYTHING):
        return until_ended(stage, launch.ref)  # not before the kubelet has written why


PROVOCATIONS: tuple[Provocation, ...] = (
    Provocation(
        "Evicted: node pressure",
        "its node is to keep more memory free than it has",
        FailureClass.EVICTED,
        PodCause.EVICTED_PRESSURE,
        needs=THERE,
        then=short_of_memory,
    ),
    Provocation(
        "node NotReady",
        "the kubelet of its node stands still",
        FailureClass.NODE_LOST,
        PodCause.NODE_LOST,
        needs=THERE,
        then=silent,
    ),
)
