"""Strays are found by their labels, reported first, and deleted later or when somebody says so."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from activities.adapters.kubernetes.janitor import Janitor, Stray
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import INSTALLATION, object_name
from activities.adapters.kubernetes.objects.keeper import keeper
from definitions.attempt import AttemptLaunch, AttemptRef
from definitions.pod_needs import PodNeeds
from policies.pod_keepers import READ_WITHIN, START_WITHIN, WORK_WITHIN
from tests.activities.kubernetes.simulated import Hooks, Killed, SimulatedWorld
from tests.activities.runtime_world import until_running
from tests.support.polling import eventually

pytestmark = pytest.mark.kube
HOUR = timedelta(hours=1)


class Clock:
    """Later than the cluster's by what a test says."""

    def __init__(self) -> None:
        self.ahead = HOUR

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@pytest.fixture
def world(make_world: Callable[[], SimulatedWorld]) -> SimulatedWorld:
    return make_world()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gone() -> set[AttemptRef]:
    """Attempts whose jobs were deleted."""
    return set()


@pytest.fixture
def janitor(world: SimulatedWorld, clock: Clock, gone: set[AttemptRef]) -> Janitor:
    return Janitor(world.client, world.objects, lambda ref: ref not in gone, clock, timedelta(hours=24))


def told(strays: tuple[Stray, ...]) -> set[tuple[str, str, bool]]:
    return {(each.kind, each.why, each.deleted) for each in strays}


def left_behind(world: SimulatedWorld, hooks: Hooks) -> AttemptLaunch:
    """An attempt that was collected while its launcher stood still after making the Job, and died then."""
    launch = world.launch_of(nodes=2)
    with world.another() as other:

        def collected_then_dead() -> None:
            other.runtime.collect(launch)
            raise Killed

        hooks.at("kube-launch:recorded", collected_then_dead)
        with pytest.raises(Killed):
            world.runtime.launch(launch)
    plan = world.runtime._launcher.plan(launch)
    world.runtime._launcher._make(plan)  # what the launcher would have done next, had it not looked
    return launch


def test_what_belongs_to_an_attempt_is_no_stray(world: SimulatedWorld, janitor: Janitor) -> None:
    launch = world.launch_of()
    world.runtime.launch(launch)
    until_running(world, launch.ref)
    assert janitor.sweep(told=True) == ()


def test_what_a_collected_attempt_left_is_reported_then_deleted(
    world: SimulatedWorld, janitor: Janitor, hooks: Hooks, clock: Clock
) -> None:
    left_behind(world, hooks)
    reported = told(janitor.sweep())
    assert reported == {(kind, "its attempt was collected", False) for kind in ("Job", "Service", "Secret")}
    clock.ahead += timedelta(hours=23)
    assert told(janitor.sweep()) == reported
    clock.ahead += HOUR
    assert {deleted for _, _, deleted in told(janitor.sweep())} == {True}
    eventually(lambda: janitor.sweep() == (), 30, "no stray is left")


def test_what_a_deleted_job_left_is_deleted_when_somebody_says_so(
    world: SimulatedWorld, janitor: Janitor, gone: set[AttemptRef]
) -> None:
    launch = world.launch_of(nodes=2)
    world.runtime.launch(launch)
    until_running(world, launch.ref)
    gone.add(launch.ref)
    assert told(janitor.sweep()) == {
        (kind, "its job was deleted", False) for kind in ("Job", "Pod", "Service", "Secret")
    }
    janitor.sweep(told=True)
    eventually(lambda: world.objects_of(launch.ref) == [], 30, "nothing is left")


def test_a_volume_is_a_stray_only_without_its_job_and_goes_only_when_somebody_says_so(
    world: SimulatedWorld, janitor: Janitor, gone: set[AttemptRef], clock: Clock
) -> None:
    launch = world.launch_of()
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "c",
            "labels": {"app.kubernetes.io/managed-by": "perdure"},
            "annotations": {"perdure.dev/ref": launch.ref.model_dump_json()},
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "none",
        },
    }
    world.client.create(Kind.PERSISTENT_VOLUME_CLAIM, claim)
    world.runtime.collect(launch)
    assert janitor.sweep() == ()
    gone.add(launch.ref)
    for _ in range(2):
        assert told(janitor.sweep()) == {("PersistentVolumeClaim", "its job was deleted", False)}
        clock.ahead += 25 * HOUR
    assert told(janitor.sweep(told=True)) == {("PersistentVolumeClaim", "its job was deleted", True)}


def test_what_is_young_may_be_somebodys_work(
    world: SimulatedWorld, janitor: Janitor, clock: Clock, gone: set[AttemptRef]
) -> None:
    launch = world.launch_of()
    world.runtime.launch(launch)
    gone.add(launch.ref)
    clock.ahead = timedelta(0)
    assert janitor.sweep(told=True) == ()


def test_what_says_nothing_of_itself_is_reported_and_never_deleted(world: SimulatedWorld, janitor: Janitor) -> None:
    metadata = {"name": "x", "labels": {"app.kubernetes.io/managed-by": "perdure"}}
    world.client.create(Kind.SECRET, {"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
    why = "it has our label and does not say whose it is"
    assert told(janitor.sweep(told=True)) == {("Secret", why, False)}
    assert world.client.get(Kind.SECRET, "x") is not None


def keeper_of(world: SimulatedWorld, name: str, **labels: str) -> dict[str, Any]:
    """A keeper as a worker makes one, with its Secret, that never gets a place."""
    ref = world.launch_of().ref
    pod = keeper(ref, PodNeeds(), world.settings, name, secret=name, claim="none")
    pod["metadata"]["labels"] |= labels
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": pod["metadata"]}
    world.client.create(Kind.SECRET, secret)
    return world.client.create(Kind.POD, pod)


def test_a_keeper_goes_when_nobody_can_wait_for_it_any_more(
    world: SimulatedWorld, janitor: Janitor, clock: Clock
) -> None:
    keeper_of(world, "waited-for")
    clock.ahead = START_WITHIN + WORK_WITHIN
    assert janitor.sweep_keepers() == ()
    clock.ahead += READ_WITHIN + timedelta(minutes=1)
    assert told(janitor.sweep_keepers()) == {("Pod", "its time is over", True)}
    eventually(lambda: world.client.get(Kind.POD, "waited-for") is None, 30, "the pod is gone")
    assert told(janitor.sweep_keepers()) == {("Secret", "its keeper is gone", True)}
    assert world.client.get(Kind.SECRET, "waited-for") is None


def test_what_another_installation_made_is_none_of_ours(world: SimulatedWorld, clock: Clock) -> None:
    ours, theirs = (
        Janitor(world.client, world.objects, lambda ref: False, clock, installation=name) for name in ("us", "them")
    )
    keeper_of(world, "ours", **{INSTALLATION: "us"})
    keeper_of(world, "old")
    clock.ahead += HOUR
    names = {("Pod", "old"), ("Secret", "old")}
    assert {(each.kind, each.name) for each in theirs.sweep()} == names
    assert {(each.kind, each.name) for each in ours.sweep()} == names | {("Pod", "ours"), ("Secret", "ours")}
    assert [each.name for each in theirs.sweep_keepers()] == ["old"]
    theirs.sweep(told=True)
    assert world.client.get(Kind.POD, "ours") is not None
    assert world.client.get(Kind.SECRET, "ours") is not None


def test_a_stray_names_the_object(world: SimulatedWorld, janitor: Janitor, hooks: Hooks) -> None:
    launch = left_behind(world, hooks)
    names = {(each.kind, each.name, each.ref) for each in janitor.sweep()}
    assert ("Job", object_name(launch.ref, launch.name), launch.ref) in names
