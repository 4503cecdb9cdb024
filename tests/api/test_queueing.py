"""What waits, what there is, and what was decided: of one's own jobs everything, of others' amounts."""

import json
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from api.app import create_app
from definitions.cluster import NodeView, TakenByOthers
from definitions.principal import Role
from definitions.states import Phase
from store import clusters
from store.engine import session
from store.verdicts import Verdict
from tests.api.world import World, cluster_document
from tests.support.waiting_world import (
    GPU,
    PATHS,
    decide,
    furnish,
    gang,
    given,
    places,
    shape,
    told,
    wait,
    waits,
)

OURS = ("runs", "tuned", "late")
PAGES = ("queue", "capacity", "queue-usage", "decisions", "decisions/local/1", "decisions/local/2")


async def furnished(world: World) -> dict[str, str]:
    """Ids by name: `theirs` belongs to the rival, the others to acme."""
    jobs = {name: (await world.submit(name))["id"] for name in OURS}
    jobs["theirs"] = (await world.submit("theirs", key=world.key("rival")))["id"]
    furnish(world.engine, jobs, world.clock.now())
    return jobs


def names(items: list[dict[str, Any]]) -> list[str | None]:
    return [item["name"] for item in items]


def aware(text: str) -> datetime:
    return datetime.fromisoformat(text)


async def test_who_waits_is_listed_in_order_with_what_it_lacks_and_when_it_starts(world: World) -> None:
    jobs = await furnished(world)
    now = world.clock.now()
    first, second, last = (await world.get("/v1/queue"))["items"]
    assert (first["job"], first["name"], first["yours"], first["position"]) == (jobs["tuned"], "tuned", True, 1)
    assert (first["queue"], first["pool"], first["nodes"], first["gpus"]) == ("research", "local", 3, 24)
    (ask,) = first["asks"]
    assert (ask["count"], ask["gpus"], ask["gpuType"]) == (3, 8, "H100")
    assert first["shortage"] == {
        "resource": "gpu", "unit": "GPUs", "needed": 24, "free": 16, "limit": 32, "at": "",
        "words": "needs 24 GPUs, 16 of 32 free",
    }  # fmt: skip
    assert first["reason"] == "needs 24 GPUs, and 16 of 32 are free on nodes that it may be on"
    assert (aware(first["since"]), aware(first["startAt"])) == (now - timedelta(minutes=30), now + timedelta(hours=1))
    assert [item["confidence"] for item in (first, second, last)] == ["promise", "estimate", "none"]
    assert [item["decision"] for item in (first, second, last)] == [2, 2, None]
    assert (last["name"], last["position"], last["cause"], last["reason"]) == ("late", None, None, "")


async def test_of_others_jobs_only_places_in_the_order_and_amounts_are_told(world: World) -> None:
    jobs = await furnished(world)
    seen = await world.get("/v1/queue", key=world.key("rival"))
    first, own, last = seen["items"]
    for item, gpus in ((first, 24), (last, 1)):
        assert (item["job"], item["name"], item["project"], item["yours"]) == (None, None, None, False)
        assert (item["reason"], item["gpus"]) == ("", gpus)
    assert own["name"] == "theirs"
    assert own["reason"] == "its places are being freed: another job saves and leaves them"
    for page in PAGES:
        text = json.dumps(await world.get(f"/v1/{page}", key=world.key("rival")))
        for name in OURS:
            assert jobs[name] not in text, page
            assert f'"{name}"' not in text, page


async def test_a_key_for_other_projects_sees_the_jobs_of_its_tenant_like_those_of_others(sqlite_world: World) -> None:
    world = sqlite_world
    await furnished(world)
    seen = await world.get("/v1/queue", key=world.key(role=Role.MEMBER, projects=("vision",)))
    assert names(seen["items"]) == [None, None, None]


async def test_the_queue_is_paged_and_can_be_of_one_queue(sqlite_world: World) -> None:
    world = sqlite_world
    jobs = await furnished(world)
    found: list[Any] = []
    cursor = ""
    while True:
        page = await world.get(f"/v1/queue?limit=1{cursor}")
        found += page["items"]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert names(found) == ["tuned", None, "late"]
    assert [item["queue"] for item in (await world.get("/v1/queue?queue=production"))["items"]] == ["production"]
    await world.expect(404, "GET", "/v1/queue?queue=none")
    assert jobs["tuned"] == found[0]["job"]


async def test_why_tells_a_waiting_job_all_that_was_stored_with_the_decision(sqlite_world: World) -> None:
    world = sqlite_world
    await furnished(world)
    why = await world.get("/v1/jobs/tuned/why")
    waiting = why["waiting"]
    assert (why["phase"], why["reason"]) == ("Queued", waiting["reason"])
    assert why["reason"] == "needs 24 GPUs, and 16 of 32 are free on nodes that it may be on"
    assert (waiting["position"], waiting["decision"], waiting["confidence"]) == (1, 2, "promise")
    assert aware(waiting["decidedAt"]) == world.clock.now() - timedelta(minutes=10)
    assert waiting["canEver"] is True
    assert waiting["wouldHelp"] == [
        "8 GPUs more, free on nodes that it may be on.",
        "Or ask for at most 16 GPUs in all.",
    ]
    assert why["places"] is None
    late = await world.get("/v1/jobs/late/why")
    assert late["reason"] == "waits in queue research"
    assert (late["waiting"]["canEver"], late["waiting"]["wouldHelp"]) == (None, [])


def refused(cause: str, resource: str, *amounts: int, at: str = "") -> dict[str, Any]:
    """`amounts`: needed, free and, where there is one, bound."""
    named = dict(zip(("needed", "free", "bound"), amounts, strict=False))
    return {"cause": cause, "resource": resource, "at": at, **named}


REFUSALS: list[tuple[dict[str, Any], bool | None, str, str]] = [
    ({"cause": "queue-stopped", "at": "all"}, None, "", "Start queue all, or the one above it, again"),
    (
        refused("limit", "gpu/H100", 24 * GPU, 8 * GPU, 24 * GPU, at="research"), None, "",
        "For queue research to be allowed 40 GPUs of H100 instead of 24 GPUs of H100.",
    ),
    (
        refused("limit", "gpu", 40 * GPU, 32 * GPU, 32 * GPU, at="all"), False, "",
        "Or ask for at most 32 GPUs in all.",
    ),
    (
        refused("fits-nowhere", "gpu", 16 * GPU, 8 * GPU, 8 * GPU), False, "",
        "Nodes with 8 GPUs more that it may be on.",
    ),
    (refused("fits-nowhere", "pods", 1, 0), False, "", "labels, tolerations and gpuType"),
    (
        refused("no-domain", "pods", 4, 3, 8, at="rack-3"), True, "rack-3",
        "Room for 1 more of its nodes close together, as in rack-3.",
    ),
    ({"cause": "promised"}, True, "", "A shorter spec.timeout"),
    ({"cause": "behind", "at": "research"}, None, "", "order: bestEffort"),
    ({"cause": "evicting"}, True, "", "its places are being freed"),
]  # fmt: skip


@pytest.mark.parametrize(("refusal", "ever", "domain", "words"), REFUSALS)
async def test_what_would_help_and_whether_it_ever_can_follow_from_the_stored_refusal(
    sqlite_world: World, refusal: dict[str, Any], ever: bool | None, domain: str, words: str
) -> None:
    world = sqlite_world
    jobs = await furnished(world)
    said = waits(world.engine, jobs["late"], 3, refusal, "as it was decided")
    decide(world.engine, Verdict(digest="d3", waits=(said,), paths=PATHS), world.clock.now())
    waiting = (await world.get("/v1/jobs/late/why"))["waiting"]
    assert (waiting["canEver"], waiting["domain"]) == (ever, domain)
    assert any(words in line for line in waiting["wouldHelp"]), waiting["wouldHelp"]


async def test_a_cause_of_a_newer_version_is_shown_without_numbers(sqlite_world: World) -> None:
    world = sqlite_world
    jobs = await furnished(world)
    said = waits(world.engine, jobs["late"], 3, {"cause": "moon", "tide": 3}, "the moon is not right")
    decide(world.engine, Verdict(digest="d3", waits=(said,), paths=PATHS), world.clock.now())
    waiting = (await world.get("/v1/jobs/late/why"))["waiting"]
    assert (waiting["cause"], waiting["reason"], waiting["shortage"]) == ("moon", "the moon is not right", None)
    assert waiting["canEver"] is None


async def test_why_tells_a_placed_job_its_nodes_and_devices_and_whom_it_leaves_for(sqlite_world: World) -> None:
    world = sqlite_world
    jobs = await furnished(world)
    world.change(jobs["runs"], phase=Phase.RUNNING, reason="all 2 ranks started", attempt=1)
    why = await world.get("/v1/jobs/runs/why")
    assert (why["waiting"], why["reason"]) == (None, "all 2 ranks started")
    held = why["places"]
    assert (held["pool"], held["decision"], held["leaving"], held["leavesFor"]) == ("local", 1, False, None)
    assert aware(held["since"]) == world.clock.now() - timedelta(hours=1)
    assert held["nodes"][1] == {"rank": 1, "node": "lab-0001", "devices": list(range(8)), "simulated": True}
    for beneficiary, name in (("theirs", None), ("tuned", "tuned")):
        going = told(world.engine, jobs["runs"], jobs[beneficiary])
        if gang(world.engine, jobs["runs"]).state == "placed":
            decide(world.engine, Verdict(told=(going,), paths=PATHS), world.clock.now())
        with session(world.engine) as active:
            active.merge(gang(world.engine, jobs["runs"])).leaves_for = jobs[beneficiary]
        held = (await world.get("/v1/jobs/runs/why"))["places"]
        assert (held["leaving"], held["leavesFor"]) == (True, name)


async def test_a_job_that_the_scheduler_knows_nothing_of_is_explained_as_before(sqlite_world: World) -> None:
    await sqlite_world.submit("plain")
    why = await sqlite_world.get("/v1/jobs/plain/why")
    assert (why["waiting"], why["places"], why["reason"]) == (None, None, "submitted")


async def test_capacity_shows_nodes_and_what_is_wanted_of_their_gpus(world: World) -> None:
    await furnished(world)
    found = await world.get("/v1/capacity")
    assert [(node["name"], node["gpus"], node["gpusUsed"], node["gpusFree"]) for node in found["items"]] == [
        ("lab-0000", 8, 8, 0), ("lab-0001", 8, 8, 0), ("lab-0002", 8, 0, 8), ("lab-0003", 8, 0, 8),
    ]  # fmt: skip
    assert all(node["simulated"] and node["ready"] and node["schedulable"] for node in found["items"])
    (gpus,) = found["gpus"]
    assert (gpus["gpuTypes"], gpus["total"], gpus["used"], gpus["free"]) == (["H100"], 32, 16, 16)
    assert (gpus["demand"], gpus["waiting"], gpus["shortfall"]) == (29, 3, 13)
    assert gpus["words"] == "16 free, on 2 nodes, 8 on each"


async def test_free_gpus_that_no_whole_node_has_are_told_so(sqlite_world: World) -> None:
    world = sqlite_world
    jobs = await furnished(world)
    wait(world.engine, jobs["late"], shape(2, 7), world.clock.now())
    start = given(world.engine, jobs["late"], places(2, 2, gpus=7))
    decide(world.engine, Verdict(given=(start,), paths=PATHS), world.clock.now())
    (gpus,) = (await world.get("/v1/capacity"))["gpus"]
    assert gpus["words"] == "2 free but on 2 nodes, 1 on each"


async def test_nodes_of_clusters_stand_beside_made_up_ones_and_say_when_they_are_closed(sqlite_world: World) -> None:
    world = sqlite_world
    now = world.clock.now()
    await world.post("/v1/clusters", {"document": cluster_document("north")})
    nodes = [
        NodeView(
            cluster="north", name=f"gpu-{number}", ready=number != 2, schedulable=number != 1, gpus=8,
            gpu_type="NVIDIA-H100-80GB-HBM3", cpu_millis=64000, memory=2**39, seen_at=now,
            others=TakenByOthers(pods=2, gpus=1, cpu_millis=500) if number == 0 else None,
        )
        for number in range(3)
    ]  # fmt: skip
    before = (await world.submit("plain", cluster="north", image="perdure.test/train:1", resources={"gpus": 2}))["id"]
    world.attempt(before)
    world.evidence(before, [("gpu-0", 0)])
    world.change(before, phase=Phase.RUNNING)
    await furnished(world)
    with session(world.engine) as active:
        clusters.record_nodes(active, "north", nodes, [])
    found = await world.get("/v1/capacity?pool=north")
    told_of = ("name", "ready", "schedulable", "gpusUsed", "gpusFree")
    assert [tuple(node[name] for name in told_of) for node in found["items"]] == [
        ("gpu-0", True, True, 3, 5),
        ("gpu-1", True, False, 0, 0),
        ("gpu-2", False, True, 0, 0),
    ]
    (gpus,) = found["gpus"]
    assert (gpus["pool"], gpus["gpuTypes"], gpus["free"], gpus["outOfService"]) == ("north", ["H100"], 5, 16)
    assert len((await world.get("/v1/capacity"))["items"]) == 7


async def test_capacity_is_paged_and_says_the_same_of_gpus_on_every_page(sqlite_world: World) -> None:
    world = sqlite_world
    await furnished(world)
    first = await world.get("/v1/capacity?limit=3")
    second = await world.get(f"/v1/capacity?limit=3&cursor={first['next']}")
    assert [node["name"] for node in (*first["items"], *second["items"])] == [f"lab-{number:04}" for number in range(4)]
    assert first["gpus"] == second["gpus"]
    assert second["next"] is None
    await world.expect(422, "GET", "/v1/capacity?cursor=nonsense")


async def test_without_made_up_nodes_the_local_pool_is_this_machine(sqlite_world: World) -> None:
    world = sqlite_world
    assert (await world.get("/v1/capacity"))["items"] == []
    now = world.clock.now()
    seen = NodeView(cluster="local", name="desk", ready=True, schedulable=True, cpu_millis=4000, seen_at=now)
    world.app = create_app(replace(world.deps, machine=lambda: seen))
    (node,) = (await world.get("/v1/capacity"))["items"]
    assert (node["pool"], node["name"], node["cpus"], node["simulated"]) == ("local", "desk", 4, False)


async def test_usage_tells_what_queues_have_use_borrow_lend_and_wait_for(world: World) -> None:
    jobs = await furnished(world)
    wait(world.engine, jobs["late"], shape(1, 8), world.clock.now())
    start = given(world.engine, jobs["late"], places(2, 1))
    decide(world.engine, Verdict(given=(start,), paths=PATHS), world.clock.now())
    found = await world.get("/v1/queue-usage")
    rows = {(row["queue"], row["resource"]): row for row in found["items"]}
    told_of = ("guaranteed", "limit", "used", "borrowed", "lent", "waiting", "unit")
    assert [rows[queue, "gpu/H100"][name] for queue in ("all", "research", "production") for name in told_of] == [
        32, 32, 24, 0, 0, 28, "GPUs",
        16, 24, 24, 8, 0, 24, "GPUs",
        16, None, 0, 0, 8, 4, "GPUs",
    ]  # fmt: skip
    assert rows["production", "gpu/H100"]["lentTo"] == [{"queue": "research", "amount": 8}]
    assert rows["research", "gpu/H100"]["parent"] == "all"
    order = [row["queue"] for row in found["items"]]
    assert order.index("all") < order.index("production")
    one = await world.get("/v1/queue-usage?queue=research")
    assert {row["queue"] for row in one["items"]} == {"research"}
    await world.expect(404, "GET", "/v1/queue-usage?queue=none")


async def test_usage_is_paged(sqlite_world: World) -> None:
    world = sqlite_world
    await furnished(world)
    whole = (await world.get("/v1/queue-usage"))["items"]
    first = await world.get("/v1/queue-usage?limit=2")
    rest = await world.get(f"/v1/queue-usage?cursor={first['next']}")
    assert [*first["items"], *rest["items"]] == whole
    await world.expect(422, "GET", "/v1/queue-usage?cursor=W10")


async def test_decisions_tell_what_they_were_made_from_and_what_they_said(sqlite_world: World) -> None:
    world = sqlite_world
    jobs = await furnished(world)
    page = await world.get("/v1/decisions")
    assert [(each["number"], each["digest"], each["placed"], each["waiting"]) for each in page["items"]] == [
        (2, "d2", 0, 2), (1, "d1", 1, 0),
    ]  # fmt: skip
    first = await world.get("/v1/decisions/local/1")
    (placed,) = first["gangsPlaced"]
    assert (placed["job"], placed["name"], placed["queue"], placed["count"], placed["gpus"]) == (
        jobs["runs"], "runs", "research", 2, 16,
    )  # fmt: skip
    assert [place["node"] for place in placed["places"]] == ["lab-0000", "lab-0001"]
    second = await world.get("/v1/decisions/local/2")
    assert second["causes"] == {"no-room": 1, "evicting": 1}
    assert [(each["name"], each["position"], each["cause"]) for each in second["gangsRefused"]] == [
        ("tuned", 1, "no-room"), (None, 2, "evicting"),
    ]  # fmt: skip
    (gone,) = second["gangsDisplaced"]
    assert (gone["name"], gone["leavesFor"], gone["reason"], gone["lost"]) == (
        "runs",
        None,
        "another job has priority 90, above 50",
        60,
    )
    assert (await world.get("/v1/decisions?pool=north"))["items"] == []
    await world.expect(404, "GET", "/v1/decisions/local/3")
    theirs = await world.get("/v1/decisions/local/2", key=world.key("rival"))
    assert [each["name"] for each in theirs["gangsRefused"]] == [None, "theirs"]
    assert theirs["gangsDisplaced"][0]["leavesFor"] == "theirs"
    assert theirs["gangsDisplaced"][0]["reason"] == ""


async def test_a_start_that_came_to_nothing_is_marked(sqlite_world: World) -> None:
    world = sqlite_world
    jobs = await furnished(world)
    start = given(world.engine, jobs["tuned"], places(2, 2))
    record = {"placed": [{"job": jobs["tuned"], "queue": "research", "attempt": 1, "pods": [], "amounts": {}}]}
    done = decide(
        world.engine,
        Verdict(given=(replace(start, version=99),), paths=PATHS, document=record),
        world.clock.now(),
    )
    assert done.dropped == {jobs["tuned"]}
    seen = await world.get(f"/v1/decisions/local/{done.decision}")
    assert (seen["placed"], seen["gangsPlaced"][0]["dropped"]) == (0, True)


async def test_numbers_tell_how_many_wait_how_long_and_how_often_was_decided(world: World) -> None:
    await furnished(world)
    decided = world.clock.now() - timedelta(minutes=10)
    lines = set((await world.ask("GET", "/metrics")).text.splitlines())
    assert lines >= {
        'perdure_queue_waiting{pool="local",queue="research",tenant="acme"} 2.0',
        'perdure_queue_oldest_wait_seconds{pool="local",queue="research",tenant="acme"} 1800.0',
        'perdure_scheduler_decisions_total{pool="local"} 2.0',
    }
    (last,) = [line for line in lines if line.startswith("perdure_scheduler_last_decision_timestamp_seconds{")]
    assert float(last.split()[-1]) == decided.timestamp()
    assert not any("production" in line for line in lines)
    rival = (await world.ask("GET", "/metrics", key=world.key("rival"))).text
    assert 'perdure_queue_waiting{pool="local",queue="production",tenant="rival"} 1.0' in rival
    assert "research" not in rival


def test_the_api_needs_no_array_library() -> None:
    program = "import sys, api.app; print([m for m in sys.modules if m.split('.')[0] in ('numba', 'numpy')])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
