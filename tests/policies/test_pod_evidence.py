"""What a cluster's words about one pod are taken to mean: the rows are what an API server shows."""

from datetime import timedelta
from typing import Any

import pytest

from definitions.attempt import AttemptObservation, RankState
from definitions.pod import ContainerState, PodCause, PodFacts
from definitions.states import FailureClass
from policies.failure import CAUSES, judge
from policies.pod_evidence import evidence, hopeless, note, observation, patience_ends
from tests.support.jobs import NOW
from tests.support.pods import (
    BEGAN,
    SETTINGS,
    container,
    pod,
    pod_launch,
    running,
    terminated,
    unprepared,
    waiting,
)

LATE = NOW + timedelta(hours=1)
NO_IMAGE = 'failed to pull and unpack image "x/y:1": failed to resolve reference "x/y:1": x/y:1: not found'
LOW = (
    "The node was low on resource: {0}. Threshold quantity: 100Mi, available: 50Mi. Container main was using 9Gi, "
    "request is 0, has larger consumption of {0}. "
)
OVER_SCRATCH = 'Container main exceeded its local ephemeral storage limit "1Gi". '
OVER_VOLUME = 'Usage of EmptyDir volume "shm" exceeds the limit "1Gi". '
SCHEDULER = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu. preemption: 0/2 nodes are available."
NO_CLAIM = '0/2 nodes are available: persistentvolumeclaim "datasets" not found. not found'
CLASSES = FailureClass


def evicted(words: str) -> PodFacts:
    return pod(phase="Failed", reason="Evicted", message=words, disruption="TerminationByKubelet")


def taken(disruption: str, **changes: Any) -> PodFacts:
    """A pod that was taken away while it ran, and that left no receipt."""
    told = {"disruption": disruption, "disruption_message": "its words", "disruption_at": NOW}
    return running(**{**told, "deleting": True, "gone": True, **changes})


def failed(word: str, words: str = "its words") -> PodFacts:
    return pod(phase="Failed", reason=word, message=words)


@pytest.mark.parametrize(
    ("seen", "cause", "failure", "words"),
    [
        (terminated(0, "Completed"), None, None, "ended with 0"),
        (pod(phase="Succeeded", gone=True), None, None, "ended with 0"),
        (terminated(3), None, CLASSES.USER_ERROR, "exit code 3"),
        (terminated(3, deleting=True), None, CLASSES.USER_ERROR, "exit code 3"),
        (terminated(137), None, CLASSES.SIGNAL, "as shells report SIGKILL"),
        (terminated(137, deleting=True), PodCause.DELETED, CLASSES.EVICTED, "pod train-0 was deleted"),
        (terminated(137, "OOMKilled"), PodCause.OUT_OF_MEMORY, CLASSES.OUT_OF_MEMORY, "at its limit of 32Mi"),
        (terminated(137, "ContainerStatusUnknown"), PodCause.LOST, CLASSES.INFRASTRUCTURE, "nothing says how"),
        (terminated(255, "Unknown"), PodCause.LOST, CLASSES.INFRASTRUCTURE, "nothing says how"),
        (terminated(128, "StartError", "no such file"), PodCause.CONFIG, CLASSES.CONFIG, "(StartError): no such file"),
        (evicted(LOW.format("memory")), PodCause.EVICTED_PRESSURE, CLASSES.EVICTED, "which was short of memory: The"),
        (evicted(LOW.format("ephemeral-storage")), PodCause.EVICTED_PRESSURE, CLASSES.EVICTED, "short of disk: The"),
        (evicted(LOW.format("pids")), PodCause.EVICTED_PRESSURE, CLASSES.EVICTED, "short of process ids: The"),
        (
            evicted("The node had condition: [DiskPressure, MemoryPressure]. "),
            PodCause.EVICTED_PRESSURE,
            CLASSES.EVICTED,
            "short of disk and memory",
        ),
        (evicted(OVER_SCRATCH), PodCause.OVER_EPHEMERAL, CLASSES.DISK_FULL, 'storage limit "1Gi"'),
        (evicted(OVER_VOLUME), PodCause.OVER_EPHEMERAL, CLASSES.DISK_FULL, 'volume "shm" exceeds'),
        (
            failed("DeadlineExceeded", "Pod was active on the node longer than the specified deadline"),
            PodCause.DEADLINE,
            CLASSES.TIMEOUT,
            "(DeadlineExceeded): Pod was active",
        ),
        (failed("Preempting"), PodCause.PREEMPTED, CLASSES.PREEMPTED, "for a pod that goes first"),
        (failed("NodeShutdown"), PodCause.NODE_LOST, CLASSES.NODE_LOST, "its node node-0 went down"),
        (failed("Terminated"), PodCause.NODE_LOST, CLASSES.NODE_LOST, "its node node-0 went down"),
        (failed("OutOfcpu"), PodCause.REFUSED, CLASSES.INFRASTRUCTURE, "did not accept its pod (OutOfcpu)"),
        (failed("UnexpectedAdmissionError"), PodCause.REFUSED, CLASSES.INFRASTRUCTURE, "did not accept its pod"),
        (failed("NodeAffinity"), PodCause.REFUSED, CLASSES.INFRASTRUCTURE, "(NodeAffinity): its words"),
        (taken("PreemptionByScheduler"), PodCause.PREEMPTED, CLASSES.PREEMPTED, "preempted on node-0"),
        (taken("EvictionByEvictionAPI"), PodCause.EVICTED, CLASSES.EVICTED, "(EvictionByEvictionAPI): its words"),
        (taken("DeletionByTaintManager"), PodCause.EVICTED, CLASSES.EVICTED, "evicted from node-0"),
        (taken("DeletionByTaintManager", node_ready=False), PodCause.NODE_LOST, CLASSES.NODE_LOST, "node-0 is lost"),
        (taken("DeletionByPodGC"), PodCause.NODE_LOST, CLASSES.NODE_LOST, "node-0 is lost"),
        (taken("SomethingNewer"), PodCause.EVICTED, CLASSES.EVICTED, "(SomethingNewer): its words"),
        (running(deleting=True, gone=True), PodCause.DELETED, CLASSES.EVICTED, "train-0 was deleted"),
        (running(gone=True), PodCause.LOST, CLASSES.INFRASTRUCTURE, "last seen 2026-01-01T12:00:00"),
        (running(gone=True, node_gone=True), PodCause.NODE_LOST, CLASSES.NODE_LOST, "is gone from the cluster"),
        (running(node_gone=True), PodCause.NODE_LOST, CLASSES.NODE_LOST, "last sign of life 2026-01-01T12:00:00"),
        (
            unprepared('{"code": "PD-3401", "message": "the bytes are others"}'),
            PodCause.INIT,
            CLASSES.INFRASTRUCTURE,
            "(PD-3401): the bytes are others",
        ),
        (
            unprepared('{"code": "PD-3012", "message": "leads outside"}'),
            PodCause.INIT,
            CLASSES.USER_ERROR,
            "(PD-3012): leads outside",
        ),
        (unprepared("killed", 3), PodCause.INIT, CLASSES.INFRASTRUCTURE, "(Error, exit code 3): killed"),
        (unprepared("", 137, deleting=True), PodCause.DELETED, CLASSES.EVICTED, "was deleted"),
    ],
)
def test_the_end_of_a_pod_says_its_cause_its_class_and_its_sentence(
    seen: PodFacts, cause: PodCause | None, failure: FailureClass | None, words: str
) -> None:
    launch = pod_launch()
    (found,) = evidence([seen], launch, SETTINGS, NOW)
    judged = judge(AttemptObservation(ref=launch.ref, at=NOW, ranks=(found,), ended=True))
    assert (found.cause, judged.failure) == (cause, failure)
    assert words in judged.reason
    assert found.state in (RankState.EXITED, RankState.LOST)


def test_every_cause_has_its_class() -> None:
    assert set(CAUSES) == set(PodCause)


@pytest.mark.parametrize(
    ("seen", "cause", "words", "patience"),
    [
        (waiting("ErrImagePull", NO_IMAGE), PodCause.IMAGE, "x/y:1: not found", SETTINGS.image_patience),
        (waiting("ErrImageNeverPull", "not present"), PodCause.IMAGE, "not present", SETTINGS.image_patience),
        (waiting("InvalidImageName", "no tag"), PodCause.IMAGE, "no tag", timedelta(0)),
        (
            pod(init=(container(ContainerState.WAITING, "prepare", reason="ImagePullBackOff", message="denied"),)),
            PodCause.IMAGE,
            "denied",
            SETTINGS.image_patience,
        ),
        (
            waiting("CreateContainerConfigError", "couldn't find key TOKEN in Secret jobs/hub"),
            PodCause.CONFIG,
            "couldn't find key TOKEN",
            SETTINGS.config_patience,
        ),
        (waiting("CreateContainerError", "no such device"), PodCause.CONFIG, "no such", SETTINGS.config_patience),
        (waiting("RunContainerError", "no such device"), PodCause.CONFIG, "no such", SETTINGS.config_patience),
        (
            waiting("ContainerCreating", warning='FailedMount: secret "data" not found'),
            PodCause.CONFIG,
            'secret "data" not found',
            SETTINGS.config_patience,
        ),
        (
            waiting(
                "PodInitializing",
                warning="FailedMount: MountVolume.SetUp failed: references non-existent secret key: k",
            ),
            PodCause.CONFIG,
            "secret key: k",
            SETTINGS.config_patience,
        ),
        (
            pod(scheduled=False, node=None, unschedulable=NO_CLAIM),
            PodCause.CONFIG,
            'persistentvolumeclaim "datasets" not found',
            SETTINGS.config_patience,
        ),
    ],
)
def test_what_keeps_a_pod_from_starting_is_told_at_once_and_given_up_after_its_patience(
    seen: PodFacts, cause: PodCause, words: str, patience: timedelta
) -> None:
    launch, end = pod_launch(), BEGAN + patience
    just_before = end - timedelta(milliseconds=1)
    (before,) = evidence([seen], launch, SETTINGS, just_before)
    (then,) = evidence([seen], launch, SETTINGS, end)
    assert (before.state, then.state) == (RankState.WAITING, RankState.LOST)
    assert before.cause is then.cause is cause
    assert words in note([seen], launch)
    assert (hopeless([seen], SETTINGS, just_before), hopeless([seen], SETTINGS, end)) == (False, True)
    assert patience_ends([seen], SETTINGS, just_before) == end
    assert observation(launch, [seen], SETTINGS, end).ended


def test_patience_counts_from_when_it_was_first_seen_to_fail() -> None:
    slow = container(ContainerState.WAITING, reason="ErrImagePull", message=NO_IMAGE, waiting_since=LATE)
    assert not hopeless([pod(main=slow)], SETTINGS, LATE)
    assert hopeless([pod(main=slow)], SETTINGS, LATE + SETTINGS.image_patience)


def test_a_pod_that_no_node_can_take_waits_for_ever_and_says_the_schedulers_sentence() -> None:
    seen = pod(scheduled=False, node=None, unschedulable=SCHEDULER)
    found = observation(pod_launch(), [seen], SETTINGS, LATE)
    assert (found.ended, found.waits, found.ranks[0].cause) == (False, True, PodCause.UNSCHEDULABLE)
    assert found.note == f"waits: no node can take it: {SCHEDULER}"
    assert patience_ends([seen], SETTINGS, NOW) is None


def test_pulling_and_backing_off_tell_the_same_note() -> None:
    pulling = waiting("ErrImagePull", NO_IMAGE)
    backing_off = waiting("ImagePullBackOff", f'Back-off pulling image "x/y:1": ErrImagePull: {NO_IMAGE}')
    assert note([pulling], pod_launch()) == note([backing_off], pod_launch())


def test_what_somebody_must_mend_is_told_before_what_waits_for_room() -> None:
    seen = [
        pod(0, scheduled=False, node=None, unschedulable=SCHEDULER),
        waiting("ErrImagePull", NO_IMAGE, 1),
        waiting("ErrImagePull", NO_IMAGE, 2),
    ]
    assert note(seen, pod_launch(3)).startswith("waits: 2 of 3 pods: its image cannot be had")


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ([], "waits: its pods are being made"),
        ([running(0)], "waits: its pods are being made"),
        ([running(0), pod(1)], "waits: its pods are being prepared"),
        ([running(0), running(1)], ""),
    ],
)
def test_the_note_of_a_gang_says_how_far_it_is(seen: list[PodFacts], words: str) -> None:
    assert observation(pod_launch(2), seen, SETTINGS, NOW).note == words


def test_a_silent_node_is_lost_only_after_its_patience_and_dated_with_its_last_sign_of_life() -> None:
    seen = running(node_ready=False)
    end = NOW + SETTINGS.node_patience
    assert evidence([seen], pod_launch(), SETTINGS, end - timedelta(seconds=1))[0].state is RankState.RUNNING
    (lost,) = evidence([seen], pod_launch(), SETTINGS, end)
    assert (lost.state, lost.cause, lost.node_lost, lost.ended_at) == (RankState.LOST, PodCause.NODE_LOST, True, NOW)
    assert patience_ends([seen], SETTINGS, NOW) == end


def test_a_pod_that_is_being_deleted_still_runs() -> None:
    found = observation(pod_launch(), [running(deleting=True)], SETTINGS, NOW)
    assert (found.ranks[0].state, found.running, found.ended) == (RankState.RUNNING, True, False)
