"""Calls survive what networks and servers do on bad days, and nothing happens twice because of it."""

import itertools
import time

import pytest

from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.errors import KubeError
from activities.adapters.kubernetes.kinds import Kind
from tests.activities.kubernetes.client.conftest import World
from tests.activities.kubernetes.client.objects import config_map, refusal
from tests.support.chaos_proxy import Act, Fault

FAULTS = {
    "reset before the server heard": Fault(Act.DROP),
    "reset after it was done": Fault(Act.LOSE_ANSWER),
    "reset in the middle of the answer": Fault(Act.CUT_ANSWER),
    "silence beyond the read limit": Fault(Act.DELAY, seconds=0.8),
    "500": Fault(Act.ANSWER, status=500),
    "502 of a proxy": Fault(Act.ANSWER, status=502),
    "503": Fault(Act.ANSWER, status=503),
    "504 after it was done": Fault(Act.ANSWER_AFTER, status=504),
    "429": Fault(Act.ANSWER, status=429, headers={"Retry-After": "1"}),
    "401 once": Fault(Act.ANSWER, status=401),
}
OF_TWO = (
    "reset before the server heard",
    "reset after it was done",
    "silence beyond the read limit",
    "429",
    "401 once",
)
TWICE = list(itertools.product(OF_TWO, repeat=2))


@pytest.mark.parametrize("name", FAULTS)
def test_every_verb_survives_a_fault_and_takes_effect_once(name: str, client: KubeClient, world: World) -> None:
    fault = FAULTS[name]
    for verb in ("create", "get", "list", "patch", "delete"):
        world.script.add(verb, fault)
    assert client.create(Kind.CONFIG_MAP, config_map("a", x="1"))["data"] == {"x": "1"}
    found = client.get(Kind.CONFIG_MAP, "a")
    assert found is not None
    assert [item["metadata"]["uid"] for item in client.list(Kind.CONFIG_MAP)] == [found["metadata"]["uid"]]
    changed = client.patch(Kind.CONFIG_MAP, "a", {"data": {"y": "2"}})
    assert changed is not None
    assert changed["data"] == {"x": "1", "y": "2"}
    client.delete(Kind.CONFIG_MAP, "a", uid=found["metadata"]["uid"])
    assert [event.type for event in world.server.log] == ["ADDED", "MODIFIED", "DELETED"]
    assert sum(world.proxy.did.values()) == 5


@pytest.mark.parametrize(("first", "second"), TWICE, ids=[f"{one}, then {two}" for one, two in TWICE])
def test_a_create_that_fails_twice_makes_one_object(first: str, second: str, world: World) -> None:
    client = world.client(read=0.2)
    for name in (first, second):
        fault = FAULTS[name]
        world.script.add("create", Fault(fault.act, fault.status, headers=fault.headers, seconds=fault.seconds and 0.3))
    if first == second == "401 once":
        with pytest.raises(KubeError, match="does not accept our credentials"):
            client.create(Kind.JOB, config_map("once"))
    else:
        assert client.create(Kind.JOB, config_map("once"))["metadata"]["name"] == "once"
        assert world.created("once") == 1
    client.close()


def test_a_create_returns_what_has_the_name_already(client: KubeClient, world: World) -> None:
    ours = client.create(Kind.CONFIG_MAP, config_map("a", token="ours"))
    assert client.create(Kind.CONFIG_MAP, config_map("a", token="theirs")) == ours
    assert world.created("a") == 1


def test_an_answer_that_is_lost_is_read_back_and_not_sent_again(client: KubeClient, world: World) -> None:
    world.script.add("create", Fault(Act.LOSE_ANSWER))
    client.create(Kind.CONFIG_MAP, config_map("a"))
    assert [(verb, status) for verb, _, status, _ in world.calls] == [("create", 0), ("get", 200)]


def test_retry_after_is_heeded_within_bounds(client: KubeClient, world: World) -> None:
    for seconds in ("2", "3000", "nonsense"):
        world.script.add("get", Fault(Act.ANSWER, status=429, headers={"Retry-After": seconds}))
    slow = world.client(within=30.0)
    slow.get(Kind.POD, "x")
    assert world.pauses[0] == 2.0
    assert world.pauses[1] == 10.0
    assert 0 < world.pauses[2] < 1.0
    slow.close()


def test_a_pause_that_does_not_fit_ends_the_call_at_once(client: KubeClient, world: World) -> None:
    world.script.add("get", Fault(Act.ANSWER, status=429, headers={"Retry-After": "9"}))
    with pytest.raises(KubeError, match="HTTP 429") as caught:
        client.get(Kind.POD, "x")
    assert (caught.value.code, caught.value.permanent, world.pauses) == ("PD-3105", False, [])


@pytest.mark.parametrize("act", [Act.DROP, Act.ANSWER], ids=["resets", "500s"])
def test_a_call_ends_in_its_time_whatever_happens(act: Act, world: World) -> None:
    world.proxy.plan = lambda _: Fault(act, status=500)
    client = KubeClient(world.connection(within=0.6))
    began = time.monotonic()
    with pytest.raises(KubeError) as caught:
        client.create(Kind.CONFIG_MAP, config_map("a"))
    assert time.monotonic() - began < 3
    assert caught.value.code == ("PD-3100" if act is Act.DROP else "PD-3105")
    assert not caught.value.permanent
    client.close()


def test_pauses_grow_and_never_repeat_exactly(world: World) -> None:
    for _ in range(6):
        world.script.add("get", Fault(Act.DROP))
    client = world.client(within=60)
    client.get(Kind.POD, "x")
    bounds = [(0.05 * 2**n, 0.1 * 2**n) for n in range(6)]
    assert all(low <= pause <= high for pause, (low, high) in zip(world.pauses, bounds, strict=True))
    assert len(set(world.pauses)) == 6
    client.close()


def test_a_repeated_delete_does_not_hit_the_next_object_of_the_name(client: KubeClient, world: World) -> None:
    client.create(Kind.CONFIG_MAP, config_map("a", of="first"))
    world.script.add("delete", Fault(Act.LOSE_ANSWER))

    def meanwhile(seconds: float) -> None:
        stranger.create(Kind.CONFIG_MAP, config_map("a", of="stranger"))

    stranger = world.client()
    ours = KubeClient(world.connection(), pause=meanwhile)
    ours.delete(Kind.CONFIG_MAP, "a")
    left = client.get(Kind.CONFIG_MAP, "a")
    assert left is not None
    assert left["data"] == {"of": "stranger"}
    stranger.close()
    ours.close()


def test_a_delete_passes_a_conflict_that_is_not_about_the_uid(client: KubeClient, world: World) -> None:
    client.create(Kind.CONFIG_MAP, config_map("a"))
    world.script.add("delete", Fault(Act.ANSWER, status=409, body=refusal(409, "Conflict", "modified")))
    assert client.delete(Kind.CONFIG_MAP, "a") is True
    assert client.get(Kind.CONFIG_MAP, "a") is None


def test_a_patch_passes_other_writers_but_not_the_callers_own_lock(client: KubeClient, world: World) -> None:
    made = client.create(Kind.CONFIG_MAP, config_map("a"))
    world.script.add("patch", Fault(Act.ANSWER, status=409, body=refusal(409, "Conflict", "modified")))
    assert client.patch(Kind.CONFIG_MAP, "a", {"data": {"x": "1"}})
    lock = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}, "data": {"x": "2"}}
    with pytest.raises(KubeError) as caught:
        client.patch(Kind.CONFIG_MAP, "a", lock)
    assert (caught.value.code, caught.value.status) == ("PD-3109", 409)


def test_a_list_whose_pages_are_thrown_away_begins_anew(client: KubeClient, world: World) -> None:
    world.server.pages = 2
    for name in "abcde":
        client.create(Kind.CONFIG_MAP, config_map(name))
    world.script.add("list", None)
    world.script.add("list", Fault(Act.ANSWER, status=410, body=refusal(410, "Expired", "too old")))
    assert [item["metadata"]["name"] for item in client.list(Kind.CONFIG_MAP)] == list("abcde")
    assert sum(verb == "list" for verb, *_ in world.calls) == 2 + 3


def test_a_list_reads_all_pages_and_names_the_kind_of_each_object(client: KubeClient, world: World) -> None:
    world.server.pages = 2
    for name in "abc":
        client.create(Kind.JOB, config_map(name))
    assert {(item["kind"], item["apiVersion"]) for item in client.list(Kind.JOB)} == {("Job", "batch/v1")}


def test_every_try_is_told_to_the_listener(client: KubeClient, world: World) -> None:
    world.script.add("get", Fault(Act.DROP))
    world.script.add("get", Fault(Act.ANSWER, status=503))
    client.get(Kind.POD, "x")
    assert [call[:3] for call in world.calls] == [("get", "pods", 0), ("get", "pods", 503), ("get", "pods", 404)]
    assert all(0 <= seconds < 2 for *_, seconds in world.calls)
