"""Attempts on a real API server with simulated pods: what is asked of it, what is left, and who wins a race."""

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import TOKEN, object_name
from activities.ports import PortError
from definitions.attempt import AttemptLaunch, AttemptObservation, RankState, StoppedBy, StopRequest
from definitions.pod import PodCause
from tests.activities.kubernetes.simulated import Hooks, Killed, SimulatedWorld
from tests.activities.runtime_world import until_ended, until_running
from tests.support.polling import eventually

pytestmark = pytest.mark.kube
LAUNCH_STEPS = ("recorded", "secret", "job", "service", "opened", "checked", "started")
COLLECT_STEPS = ("closed", "proved", "deleted", "kept", "written")
MOST_CALLS = 12
Make = Callable[..., SimulatedWorld]


def first_end(world: SimulatedWorld, launch: AttemptLaunch) -> AttemptObservation:
    """What a watcher is told of the attempt's end."""
    stop = threading.Event()
    for seen in world.runtime.changes(stop):
        if seen.ref == launch.ref and seen.ended:
            return seen
    raise AssertionError("the watcher ended by itself")


def nothing_left(world: SimulatedWorld, launch: AttemptLaunch) -> None:
    eventually(lambda: not world.objects_of(launch.ref), 30, "nothing of the attempt is left")


@pytest.fixture
def running_world(make_world: Make) -> SimulatedWorld:
    """Pods run until they are deleted."""
    return make_world()


def test_a_plain_job_of_four_pods_costs_at_most_twelve_calls_and_leaves_nothing(make_world: Make) -> None:
    world = make_world("1s")
    launch = world.launch_of(nodes=4)
    assert world.runtime.launch(launch).ended is False
    seen = first_end(world, launch)
    assert [(rank.state, rank.exit_code) for rank in seen.ranks] == [(RankState.EXITED, 0)] * 4
    collected = world.runtime.collect(launch)
    calls = [call for call in world.calls if not call.startswith(("watch", "list"))]
    assert len(calls) <= MOST_CALLS, calls
    nothing_left(world, launch)
    assert world.runtime.observe(launch.ref) == collected.observation
    assert world.runtime.collect(launch) == collected


def test_an_attempt_that_runs_is_observed_without_asking_the_cluster(running_world: SimulatedWorld) -> None:
    launch = running_world.launch_of(nodes=3)
    running_world.runtime.launch(launch)
    until_running(running_world, launch.ref)
    running_world.calls.clear()
    assert running_world.runtime.observe(launch.ref).running
    assert running_world.calls == []


def test_an_attempt_that_was_not_launched_is_known_without_asking_the_cluster(running_world: SimulatedWorld) -> None:
    running_world.calls.clear()
    seen = running_world.runtime.observe(running_world.launch_of().ref)
    assert (seen.exists, seen.ended) == (False, False)
    assert [call for call in running_world.calls if not call.startswith("watch")] == []


def test_thirty_launches_by_two_workers_make_one_job_and_its_pods_once(running_world: SimulatedWorld) -> None:
    launch = running_world.launch_of(nodes=2)
    with running_world.another() as other, ThreadPoolExecutor(30) as pool:
        list(pool.map(lambda world: world.runtime.launch(launch), [running_world, other] * 15))
        until_running(running_world, launch.ref)
    assert len(running_world.pods_ever(launch.ref)) == 2
    (job,) = running_world.client.list(Kind.JOB, labels=f"{TOKEN}={launch.ref.token}")
    assert job["status"]["active"] == 2


@pytest.mark.parametrize("step", LAUNCH_STEPS)
def test_a_launch_that_dies_at_any_step_is_gone_on_with_by_the_next(
    running_world: SimulatedWorld, hooks: Hooks, step: str
) -> None:
    launch = running_world.launch_of(nodes=2)
    hooks.die_at(f"kube-launch:{step}")
    with pytest.raises(Killed):
        running_world.runtime.launch(launch)
    with running_world.another() as next_worker:
        next_worker.runtime.launch(launch)
        until_running(next_worker, launch.ref)
        assert len(next_worker.pods_ever(launch.ref)) == 2


@pytest.mark.parametrize("step", LAUNCH_STEPS)
def test_a_launch_that_died_at_any_step_can_be_collected_and_never_runs_again(
    running_world: SimulatedWorld, hooks: Hooks, step: str
) -> None:
    launch = running_world.launch_of(nodes=2)
    hooks.die_at(f"kube-launch:{step}")
    with pytest.raises(Killed):
        running_world.runtime.launch(launch)
    with running_world.another() as next_worker:
        assert next_worker.runtime.collect(launch).observation.ended
        nothing_left(next_worker, launch)
        assert next_worker.runtime.launch(launch).ended
        nothing_left(next_worker, launch)


@pytest.mark.parametrize("step", LAUNCH_STEPS[1:-1])
def test_what_is_collected_while_it_is_launched_never_runs(
    running_world: SimulatedWorld, hooks: Hooks, step: str
) -> None:
    """The launcher stands still at this step for as long as another worker needs to collect."""
    launch = running_world.launch_of(nodes=2)
    with running_world.another() as other:
        hooks.at(f"kube-launch:{step}", lambda: other.runtime.collect(launch))
        assert running_world.runtime.launch(launch).ended
    assert hooks.fired(f"kube-launch:{step}")
    assert running_world.pods_ever(launch.ref) == []
    nothing_left(running_world, launch)


@pytest.mark.parametrize("step", LAUNCH_STEPS[:-1])
def test_what_is_stopped_while_it_is_launched_never_runs(
    running_world: SimulatedWorld, hooks: Hooks, step: str
) -> None:
    launch = running_world.launch_of(nodes=2)
    with running_world.another() as other:
        hooks.at(f"kube-launch:{step}", lambda: other.runtime.stop(launch.ref, StopRequest(reason="cancelled")))
        running_world.runtime.launch(launch)
    seen = until_ended(running_world, launch.ref)
    assert {rank.stopped_by for rank in seen.ranks} == {StoppedBy.REQUEST}
    assert running_world.pods_ever(launch.ref) == []


@pytest.mark.parametrize("step", COLLECT_STEPS)
def test_a_collection_that_dies_at_any_step_is_gone_on_with(make_world: Make, hooks: Hooks, step: str) -> None:
    world = make_world("1s")
    launch = world.launch_of(nodes=2)
    world.runtime.launch(launch)
    until_ended(world, launch.ref)
    hooks.die_at(f"kube-collect:{step}")
    with pytest.raises(Killed):
        world.runtime.collect(launch)
    with world.another() as next_worker:
        collected = next_worker.runtime.collect(launch)
        assert [rank.state for rank in collected.observation.ranks] == [RankState.EXITED] * 2
        nothing_left(next_worker, launch)


def test_a_later_attempt_collects_the_earlier_one_first(running_world: SimulatedWorld) -> None:
    first = running_world.launch_of(nodes=2)
    running_world.runtime.launch(first)
    until_running(running_world, first.ref)
    ref = first.ref.model_copy(update={"number": 2, "token": uuid.uuid4().hex})
    with running_world.another() as next_worker:
        next_worker.runtime.launch(first.model_copy(update={"ref": ref}))
        assert next_worker.objects_of(first.ref) == []
        until_running(next_worker, ref)


@pytest.mark.parametrize("watched", [True, False])
def test_a_job_that_is_deleted_under_us_is_told_of_and_what_it_ran_is_lost(
    running_world: SimulatedWorld, watched: bool
) -> None:
    """Also when nobody watched: the attempt's Secret is there still."""
    launch = running_world.launch_of(nodes=2)
    running_world.runtime.launch(launch)
    until_running(running_world, launch.ref)
    if not watched:
        running_world.informer.stop()
    running_world.client.delete(Kind.JOB, object_name(launch.ref, launch.name))
    eventually(lambda: len(running_world.objects_of(launch.ref)) == 1, 30, "only the Secret is left")
    with running_world.another() as other:
        seen = first_end(running_world if watched else other, launch)
        assert [rank.state for rank in seen.ranks] == [RankState.LOST] * 2
        assert {rank.cause for rank in seen.ranks} <= {PodCause.DELETED, PodCause.LOST}
        other.runtime.collect(launch)
        nothing_left(other, launch)


def test_a_pod_that_finds_no_place_says_why_and_is_stopped_at_once(running_world: SimulatedWorld) -> None:
    launch = running_world.launch_of(nodes=2)
    needs = launch.pod.model_copy(update={"gpus": 64}) if launch.pod else None
    launch = launch.model_copy(update={"pod": needs})
    running_world.runtime.launch(launch)

    def note() -> str:
        return running_world.runtime.observe(launch.ref).note

    eventually(lambda: "Insufficient nvidia.com/gpu" in note(), 30, "the scheduler's sentence")
    running_world.runtime.stop(launch.ref, StopRequest(reason="cancelled", grace=timedelta(hours=1)))
    seen = until_ended(running_world, launch.ref)
    assert {rank.stopped_by for rank in seen.ranks} == {StoppedBy.REQUEST}


def test_pods_that_no_agent_answers_for_are_deleted_by_a_stop(running_world: SimulatedWorld) -> None:
    launch = running_world.launch_of(nodes=2)
    running_world.runtime.launch(launch)
    until_running(running_world, launch.ref)
    running_world.runtime.stop(launch.ref, StopRequest(reason="cancelled", grace=timedelta(seconds=1)))
    seen = until_ended(running_world, launch.ref)
    assert {rank.stopped_by for rank in seen.ranks} == {StoppedBy.REQUEST}
    assert running_world.runtime.collect(launch).observation.ended


def test_an_object_of_somebody_else_under_our_name_is_left_alone(running_world: SimulatedWorld) -> None:
    launch = running_world.launch_of()
    name = object_name(launch.ref, launch.name)
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": running_world.space.name}}
    running_world.client.create(Kind.SECRET, body)
    with pytest.raises(PortError) as refused:
        running_world.runtime.launch(launch)
    assert (refused.value.code, refused.value.permanent) == ("PD-3157", True)
    running_world.runtime.collect(launch)
    assert running_world.client.get(Kind.SECRET, name) is not None


def test_a_job_is_not_forgotten_before_it_is_collected(running_world: SimulatedWorld) -> None:
    launch = running_world.launch_of()
    running_world.runtime.launch(launch)
    with pytest.raises(PortError) as refused:
        running_world.runtime.forget(launch.ref)
    assert (refused.value.code, refused.value.permanent) == ("PD-3162", False)


def test_a_node_that_is_deleted_loses_its_rank_which_is_forced_out(running_world: SimulatedWorld) -> None:
    launch = running_world.launch_of(nodes=2)
    running_world.runtime.launch(launch)
    until_running(running_world, launch.ref)
    lost = running_world.runtime.observe(launch.ref).ranks[0].node
    running_world.client.delete(Kind.NODE, lost)

    def lost_ranks() -> set[str]:
        return {rank.node for rank in running_world.runtime.observe(launch.ref).ranks if rank.node_lost}

    assert eventually(lost_ranks, 30, "a rank is lost with its node") == {lost}
    collected = running_world.runtime.collect(launch)
    assert {rank.node for rank in collected.observation.ranks if rank.node_lost} == {lost}
    nothing_left(running_world, launch)


def test_what_waits_for_another_reason_is_told_once_and_its_start_and_end_too(make_world: Make) -> None:
    world = make_world("2s")
    launch = world.launch_of()
    needs = launch.pod.model_copy(update={"node_selector": {"no": "such"}}) if launch.pod else None
    waiting = world.launch_of().model_copy(update={"pod": needs})
    world.runtime.launch(waiting)
    world.runtime.launch(launch)
    stop, told = threading.Event(), []
    for seen in world.runtime.changes(stop):
        told.append((seen.ref.job, seen.running, seen.ended, "didn't match" in seen.note))
        if (waiting.ref.job, False, False, True) in told and (launch.ref.job, False, True, False) in told:
            stop.set()
    of_waiting = [news for news in told if news[0] == waiting.ref.job and news[3]]
    of_running = [news[1:3] for news in told if news[0] == launch.ref.job and (news[1] or news[2])]
    assert len(of_waiting) == 1
    assert of_running == [(True, False), (False, True)]
    world.runtime.collect(waiting)
