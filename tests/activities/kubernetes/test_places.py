"""Attempts with places on a real API server: each pod goes to its own node, whoever lets it go, and however often."""

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.errors import KubeError
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import PLACES, TOKEN
from activities.ports import PortError
from definitions.attempt import AttemptLaunch
from definitions.places import PlacedPod, Placement
from definitions.pod_needs import PodNeeds
from tests.activities.kubernetes.simulated import Hooks, Killed, SimulatedWorld
from tests.activities.kubernetes.world import running
from tests.activities.runtime_world import until_running
from tests.support.polling import eventually

pytestmark = pytest.mark.kube
Make = Callable[..., SimulatedWorld]


@pytest.fixture
def world(make_world: Make) -> SimulatedWorld:
    """Pods run until they are deleted."""
    return make_world()


def nodes_of(world: SimulatedWorld) -> list[str]:
    labels = f"perdure.test/place={world.place}"
    return sorted(str(node["metadata"]["name"]) for node in world.client.list(Kind.NODE, labels=labels))


def placed(world: SimulatedWorld, *nodes: str, needs: PodNeeds | None = None) -> AttemptLaunch:
    pods = tuple(PlacedPod(node=node) for node in nodes)
    launch = world.launch_of(nodes=len(nodes), placement=Placement(pool="north", decision=5, pods=pods))
    return launch if needs is None else launch.model_copy(update={"pod": needs})


def pods(world: SimulatedWorld, launch: AttemptLaunch) -> list[dict[str, Any]]:
    """In order of their index."""
    found = world.client.list(Kind.POD, labels=f"{TOKEN}={launch.ref.token}")
    return sorted(found, key=lambda pod: int(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]))


def runs_at(world: SimulatedWorld, launch: AttemptLaunch) -> list[str]:
    return [rank.node for rank in until_running(world, launch.ref).ranks]


def patches(world: SimulatedWorld) -> int:
    return world.calls.count("patch pods")


def test_two_pods_that_fit_on_one_node_run_on_the_two_that_they_were_given_in_that_order(world: SimulatedWorld) -> None:
    first, second = nodes_of(world)
    for order in ((second, first), (first, second), (second, second)):
        world.calls.clear()
        launch = placed(world, *order)
        world.runtime.launch(launch)
        assert runs_at(world, launch) == list(order)
        assert patches(world) == 2
        (job,) = world.client.list(Kind.JOB, labels=f"{TOKEN}={launch.ref.token}")
        assert json.loads(job["metadata"]["annotations"][PLACES]) == list(order)
        world.runtime.collect(launch)


def test_pods_without_places_have_no_gate_and_cost_no_call(world: SimulatedWorld) -> None:
    launch = world.launch_of(nodes=2)
    world.runtime.launch(launch)
    until_running(world, launch.ref)
    assert patches(world) == 0
    assert not any("schedulingGates" in json.dumps(pod) for pod in pods(world, launch))


def test_what_a_job_asks_of_its_nodes_holds_beside_its_places(world: SimulatedWorld) -> None:
    first, second = nodes_of(world)
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [first]}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    needs = world.needs().model_copy(update={"affinity": affinity, "spread": True})
    fits, misses = placed(world, first, needs=needs), placed(world, second, needs=needs)
    for launch in (fits, misses):
        world.runtime.launch(launch)
    assert runs_at(world, fits) == [first]
    waits = eventually(lambda: world.runtime.observe(misses.ref).note, 30, "the cluster finds no node for it")
    assert "waits" in waits


def test_pods_that_are_made_again_go_to_the_same_nodes(world: SimulatedWorld) -> None:
    """As a Job's controller does that is told to stop and to go on."""
    first, second = nodes_of(world)
    launch = placed(world, second, first)
    world.runtime.launch(launch)
    until_running(world, launch.ref)
    (job,) = world.client.list(Kind.JOB, labels=f"{TOKEN}={launch.ref.token}")
    before = set(_names(world, launch))
    for suspend in (True, False):
        world.client.patch(Kind.JOB, job["metadata"]["name"], {"spec": {"suspend": suspend}})
        eventually(lambda: before.isdisjoint(_names(world, launch)), 30, "the first pods are gone")
    eventually(lambda: _there(world, launch) == [second, first], 30, "pods at the same places")
    assert patches(world) == 4


@pytest.mark.parametrize("step", ["found", "opened"])
def test_a_worker_that_dies_over_a_gate_leaves_it_to_the_next(world: SimulatedWorld, hooks: Hooks, step: str) -> None:
    first, second = nodes_of(world)
    launch = placed(world, second, first)
    hooks.die_at(f"kube-gate:{step}")
    died = threading.Event()
    with _quiet(died):
        world.runtime.launch(launch)
        assert died.wait(30)
    assert hooks.fired(f"kube-gate:{step}")
    world.stop()
    with world.another() as next_worker:
        assert runs_at(next_worker, launch) == [second, first]
        assert len(pods(next_worker, launch)) == 2


def test_workers_that_open_the_same_gates_at_once_do_not_hinder_each_other(world: SimulatedWorld) -> None:
    first, second = nodes_of(world)
    order = [first, second, second, first, second, first]
    with world.another() as other, ThreadPoolExecutor(2) as pool:
        launch = placed(world, *order)
        list(pool.map(lambda each: each.runtime.launch(launch), (world, other)))
        assert runs_at(world, launch) == order
        assert runs_at(other, launch) == order
    assert len(world.pods_ever(launch.ref)) == len(order)


class Refusing(KubeClient):
    """Is told no by the server when it is to change a pod."""

    says_no = False

    def patch(self, kind: Kind, *given: object, **named: object) -> dict[str, Any] | None:
        if kind is Kind.POD and self.says_no:
            raise KubeError("PD-3103", "you may not", status=403)
        return super().patch(kind, *given, **named)  # type: ignore[arg-type]


class RefusedWorld(SimulatedWorld):
    client_class = Refusing


def test_a_gate_that_cannot_be_opened_is_told_of_and_tried_again(world: SimulatedWorld) -> None:
    first, second = nodes_of(world)
    world.stop()
    with running(RefusedWorld(world.cluster, world.space, world.objects, world.place)) as refused:
        assert isinstance(refused.client, Refusing)
        refused.client.says_no = True
        launch = placed(refused, second, first)
        refused.runtime.launch(launch)
        note = "waits: its pods cannot be let to their nodes: you may not"
        eventually(lambda: refused.runtime.observe(launch.ref).note == note, 30, "the refusal is told")
        refused.client.says_no = False
        assert runs_at(refused, launch) == [second, first]
        assert refused.runtime.observe(launch.ref).note == ""


def test_pods_behind_their_gates_are_collected_like_any_others(world: SimulatedWorld) -> None:
    (first, _) = nodes_of(world)
    world.stop()
    with running(RefusedWorld(world.cluster, world.space, world.objects, world.place)) as refused:
        assert isinstance(refused.client, Refusing)
        refused.client.says_no = True
        launch = placed(refused, first, first)
        refused.runtime.launch(launch)
        eventually(lambda: len(pods(refused, launch)) == 2, 30, "its pods")
        assert refused.runtime.collect(launch).observation.ended
        eventually(lambda: not refused.objects_of(launch.ref), 30, "nothing of the attempt is left")


def test_simulated_nodes_of_a_pool_are_none_that_pods_can_run_on(world: SimulatedWorld) -> None:
    pod = PlacedPod(node="sim-1", simulated=True)
    launch = world.launch_of(placement=Placement(pool="north", decision=5, pods=(pod,)))
    with pytest.raises(PortError) as refused:
        world.runtime.launch(launch)
    assert (refused.value.permanent, refused.value.code) == (True, "PD-3031")
    assert not world.objects_of(launch.ref)


def _there(world: SimulatedWorld, launch: AttemptLaunch) -> list[str]:
    return [pod["spec"].get("nodeName", "") for pod in pods(world, launch)]


def _names(world: SimulatedWorld, launch: AttemptLaunch) -> list[str]:
    return [pod["metadata"]["name"] for pod in pods(world, launch)]


class _quiet:
    """Hears of the thread that dies in place of the process."""

    def __init__(self, died: threading.Event) -> None:
        self._died = died

    def __enter__(self) -> None:
        self._usual, threading.excepthook = threading.excepthook, self._heard

    def __exit__(self, *_: object) -> None:
        threading.excepthook = self._usual

    def _heard(self, told: threading.ExceptHookArgs) -> None:
        if told.exc_type is Killed:
            self._died.set()
        else:
            self._usual(told)
