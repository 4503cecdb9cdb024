"""Reservations over HTTP: what one comes to, booking it, its windows and who uses them, the calendar, changes."""

from datetime import timedelta
from typing import Any

import pytest

from api.ports import EngineAway, NoAnswerYet
from definitions.principal import Role
from definitions.reservation_calls import WindowAnswer, WindowVerb
from definitions.yaml_writer import dump
from tests.api.test_scheduling_documents import APPLY, EVERYTHING, YAML
from tests.api.world import Json, World, scheduling_document
from tests.support.reserved_windows import book, change, move, use

WEEKLY: dict[str, Any] = {
    "queue": "research",
    "pool": "training",
    "capacity": {"nodes": 2},
    "start": "2027-03-26T22:00",
    "timeZone": "Europe/Berlin",
    "end": "2027-03-27T06:00",
    "repeat": {"frequency": "weekly", "count": 6},
}
NIGHT = {**WEEKLY, "start": "2027-03-27T22:00", "end": "2027-03-28T06:00"}


def reservation(name: str = "eval", **spec: Any) -> Json:
    return scheduling_document("Reservation", name, **{**WEEKLY, **spec})


async def around(world: World) -> None:
    """Queues and four nodes of 8 GPUs; it is two weeks before the first night."""
    world.clock.at = world.clock.at.replace(year=2027, month=3, day=13)
    await world.post(APPLY, {"documents": EVERYTHING}, 200)


async def made(world: World, windows: int = 3, **spec: Any) -> None:
    """A reservation with some of its windows booked."""
    await around(world)
    await world.post("/v1/reservations", {"document": reservation(**spec)})
    book(world.engine, "eval", windows, world.clock.now())


async def test_a_preview_lists_windows_with_real_hours_and_what_clocks_do_and_stores_nothing(world: World) -> None:
    await around(world)
    before = world.dump()
    text = dump(reservation(**NIGHT))
    found = await world.expect(200, "POST", "/v1/reservations:preview?weeks=3", content=text, headers=YAML)
    assert world.dump() == before
    assert [(each["number"], each["shownBegin"], each["hours"], each["clocksChange"]) for each in found["windows"]] == [
        (None, "2027-03-27 22:00 +01:00", 7, True),
        (None, "2027-04-03 22:00 +02:00", 8, False),
        (None, "2027-04-10 22:00 +02:00", 8, False),
    ]
    assert found["windows"][0]["notes"][0] == "it lasts 7h, not 8h, as clocks change"
    first = found["windows"][0]
    assert (first["nodes"], first["gpus"], first["nodeHours"], first["gpuHours"]) == (2, 16, 14, 112)
    told_of = ("hours", "nodeHours", "gpuHours", "more", "keeps", "outcome", "price")
    assert [found[name] for name in told_of] == [23, 46, 368, True, "2 nodes", "created", "none, no price book here"]


@pytest.mark.parametrize(
    ("spec", "code", "where"),
    [
        ({"queue": "nobody"}, "PD-1610", "spec.queue"),
        ({"capacity": {"nodeNames": ["training-0009"]}}, "PD-1618", "spec.capacity.nodeNames[0]"),
        ({"pool": None, "cluster": "north"}, "PD-2101", "spec.cluster"),
        ({"start": "2027-03-05T22:00", "end": "2027-03-06T06:00", "repeat": None}, "PD-2166", "spec.start"),
        ({"wieght": 1}, "PD-1101", "spec.wieght"),
    ],
)
async def test_what_cannot_be_kept_is_refused_with_its_place(
    sqlite_world: World, spec: Json, code: str, where: str
) -> None:
    await around(sqlite_world)
    document = reservation(**spec)
    document["spec"] = {name: value for name, value in document["spec"].items() if value is not None}
    for path in ("/v1/reservations", "/v1/reservations:preview", "/v1/scheduling-documents:diff"):
        body = {"documents": [document]} if path.endswith("diff") else {"document": document}
        refused = await sqlite_world.post(path, body, 422)
        assert (refused["code"], refused["where"].split("(")[-1].rstrip(")")) == (code, where)
    assert sqlite_world.dump()["reservations"] == []


async def test_creating_stores_the_document_and_begins_a_life_once(world: World) -> None:
    await around(world)
    key = {"Idempotency-Key": "k"}
    for _ in range(2):
        view = await world.post("/v1/reservations", {"document": reservation()}, headers=key)
        assert (view["phase"], view["window"]["shownBegin"]) == ("planned", "2027-03-26 22:00 +01:00")
    assert len(world.dump()["reservations"]) == 1
    taken = await world.post("/v1/reservations", {"document": reservation()}, 409)
    assert taken["code"] == "PD-2167"
    other = await world.post("/v1/reservations", {"document": EVERYTHING[0]}, 422)
    assert other["code"] == "PD-2022"


async def test_applying_changes_and_deleting_ends_the_life(world: World) -> None:
    await made(world)
    changed = await world.post(APPLY, {"documents": [reservation(capacity={"nodes": 3})]}, 200)
    assert [each["outcome"] for each in changed["items"]] == ["replaced"]
    (shown,) = (await world.get("/v1/reservations"))["items"]
    assert (shown["name"], shown["keeps"], shown["generation"]) == ("eval", "3 nodes", 2)
    await world.expect(204, "DELETE", "/v1/reservations/eval")
    await world.expect(404, "GET", "/v1/reservations/eval")
    await world.expect(404, "GET", "/v1/reservations/eval/windows")
    world.clock.at += timedelta(seconds=1)
    await world.post("/v1/reservations", {"document": reservation()})
    assert len(world.dump()["reservations"]) == 2


async def test_a_queue_that_a_reservation_names_is_not_deleted(sqlite_world: World) -> None:
    await made(sqlite_world)
    refused = await sqlite_world.expect(409, "DELETE", "/v1/queues/research")
    assert refused["code"] == "PD-2142"


async def test_everybody_looks_and_only_admins_of_the_installation_change(sqlite_world: World) -> None:
    world = sqlite_world
    await made(world)
    for key in (world.key("rival"), world.key(role=Role.MEMBER), world.key(role=Role.VIEWER)):
        assert len((await world.get("/v1/reservations", key=key))["items"]) == 1
        assert len((await world.get("/v1/reservation-calendar?from=2027-03-26", key=key))["items"]) == 1
        await world.post("/v1/reservations:preview", {"document": reservation("other")}, 200, key=key)
        for verb, body in (("extend", {"by": "1h"}), ("cancel", {})):
            await world.post(f"/v1/reservations/eval:{verb}", body, 403, key=key)
        await world.post("/v1/reservations", {"document": reservation("other")}, 403, key=key)
    assert world.reservations.asked == []


async def test_a_window_tells_who_uses_it_and_what_nobody_used(world: World) -> None:
    await made(world)
    ours = (await world.submit("digits", queue="research"))["id"]
    begin = world.clock.now().replace(month=3, day=26, hour=21)
    change(world.engine, "eval", 1, phase="active", nodes=["training-0000", "training-0001"])
    use(world.engine, "eval", ours, "acme", begin, begin + timedelta(hours=2), 1, 8)
    use(world.engine, "eval", "01j9zx3v0c5m8k2p4q6r7s8t9v", "rival", begin + timedelta(hours=1), None, 1, 4)
    world.clock.at = begin + timedelta(hours=4)
    first, second, _ = (await world.get("/v1/reservations/eval/windows"))["items"]
    assert (first["phase"], first["nodeNames"]) == ("active", ["training-0000", "training-0001"])
    assert [(each["name"], each["yours"], each["nodes"], each["gpus"]) for each in first["uses"]] == [
        ("digits", True, 1, 8), (None, False, 1, 4),
    ]  # fmt: skip
    assert "01j9zx3v0c5m8k2p4q6r7s8t9v" not in str(first)
    amounts = ("usedNodeHours", "unusedNodeHours", "usedGpuHours", "unusedGpuHours")
    assert [first[name] for name in amounts] == [5, 3, 28, 36]
    assert (second["phase"], second["usedNodeHours"], second["uses"]) == ("upcoming", 0, [])
    (view,) = (await world.get("/v1/reservations"))["items"]
    assert (view["phase"], view["window"]["number"]) == ("active", 1)
    world.clock.at = begin + timedelta(days=1)
    late = await world.get("/v1/reservations/eval/windows?since=2027-03-27T12:00:00Z&limit=1")
    assert [each["number"] for each in late["items"]] == [2]
    rest = await world.get(f"/v1/reservations/eval/windows?cursor={late['next']}")
    assert [each["number"] for each in rest["items"]] == [3]
    draining = (await world.get("/v1/reservations"))["items"][0]
    assert draining["window"]["number"] == 2


async def test_a_window_without_nodes_says_what_is_lacking_and_counts_nothing_as_unused(sqlite_world: World) -> None:
    world = sqlite_world
    await made(world)
    change(world.engine, "eval", 1, phase="active", short={"needed": 2, "free": 1})
    world.clock.at += timedelta(days=13, hours=12)
    (first, *_) = (await world.get("/v1/reservations/eval/windows"))["items"]
    assert (first["short"], first["unusedNodeHours"]) == ("needs 2 nodes, 1 are there", 0)


async def test_a_window_that_new_rules_of_its_zone_would_move_stays_and_says_so(sqlite_world: World) -> None:
    """It was booked when clocks were to change an hour later."""
    world = sqlite_world
    await made(world)
    (first, second, _) = (await world.get("/v1/reservations/eval/windows"))["items"]
    move(world.engine, "eval", 1, seconds=3600)
    (moved, *_) = (await world.get("/v1/reservations/eval/windows"))["items"]
    assert (first["moved"], second["moved"]) == ("", "")
    assert f"it would be {first['shownBegin']} to {first['shownEnd']}" in moved["moved"]


async def test_a_calendar_has_real_hours_by_day_of_what_is_booked_and_of_what_the_rule_names(world: World) -> None:
    await made(world, windows=1, **NIGHT)
    query = "from=2027-03-27&days=9&timeZone=Europe/Berlin"
    found = await world.get(f"/v1/reservation-calendar?{query}")
    (entry,) = found["items"]
    assert [(each["number"], each["phase"]) for each in entry["windows"]] == [(1, "upcoming"), (None, "planned")]
    assert entry["hoursByDay"] == [2, 5, 0, 0, 0, 0, 0, 2, 6]
    assert (found["days"][0], found["days"][-1]) == ("2027-03-27", "2027-04-04")
    change(world.engine, "eval", 1, phase="ended", cancelled_at=world.clock.now(), ends_at=world.clock.now())
    (entry,) = (await world.get(f"/v1/reservation-calendar?{query}"))["items"]
    assert [each["shownBegin"] for each in entry["windows"]] == ["2027-04-03 22:00 +02:00"]
    wrong = await world.expect(422, "GET", "/v1/reservation-calendar?timeZone=Berlin")
    assert "timeZone" in str(wrong)


@pytest.mark.parametrize(
    ("body", "until"),
    [
        ({"by": "2h"}, "2027-03-27T07:00:00+00:00"),
        ({"until": "2027-03-27T07:30"}, "2027-03-27T06:30:00+00:00"),
        ({"by": "2h", "window": 2}, "2027-04-03T06:00:00+00:00"),
    ],
)
async def test_a_window_is_made_longer_by_so_much_or_until_a_local_time(
    sqlite_world: World, body: Json, until: str
) -> None:
    world = sqlite_world
    await made(world)
    told = await world.post("/v1/reservations/eval:extend", body, 200)
    ((tenant, name, asked),) = world.reservations.asked
    assert (tenant, name, asked.verb, asked.number) == ("acme", "eval", WindowVerb.EXTEND, body.get("window", 1))
    assert (asked.until.isoformat() if asked.until else None, asked.actor) == (until, "admin-of-acme")
    assert told["message"] == f"window {asked.number} of eval ends {told['shownEnd']}"


async def test_what_a_reservation_denies_is_a_refusal_that_says_what_to_ask_instead(sqlite_world: World) -> None:
    world = sqlite_world
    await made(world)
    world.reservations.answer = WindowAnswer(denied="it is as long as it can be", fix="book another window")
    refused = await world.post("/v1/reservations/eval:extend", {"by": "2h"}, 409)
    assert (refused["code"], refused["remedy"]) == ("PD-2163", "Book another window.")
    assert "as long as it can be" in refused["detail"]
    assert (await world.post("/v1/reservations/eval:cancel", {}, 409))["code"] == "PD-2164"
    world.reservations.answer = NoAnswerYet()
    later = await world.post("/v1/reservations/eval:cancel", {}, 202)
    assert later["settled"] is False
    world.reservations.answer = EngineAway()
    assert (await world.post("/v1/reservations/eval:cancel", {}, 503))["code"] == "PD-2040"


async def test_a_window_is_given_up_once_however_often_that_is_sent(sqlite_world: World) -> None:
    world = sqlite_world
    await made(world, cancellation={"notice": "30d"})
    for _ in range(2):
        key = {"Idempotency-Key": "k"}
        told = await world.post("/v1/reservations/eval:cancel", {"window": 1}, 200, headers=key)
        assert told["message"].endswith("is given up; it is charged until 2027-03-27 06:00 +01:00")
    assert len(world.reservations.asked) == 1
    stale = await world.post("/v1/reservations/eval:cancel", {}, 412, headers={"If-Match": '"7"'})
    assert stale["code"] == "PD-2007"


@pytest.mark.parametrize(
    ("verb", "body", "status", "code"),
    [
        ("extend", {"by": "soon"}, 422, "PD-1108"),
        ("extend", {"until": "tomorrow"}, 422, "PD-1602"),
        ("extend", {}, 422, "PD-2022"),
        ("cancel", {"window": 99}, 404, "PD-2165"),
    ],
)
async def test_a_request_that_makes_no_sense_is_refused(
    sqlite_world: World, verb: str, body: Json, status: int, code: str
) -> None:
    await made(sqlite_world)
    assert (await sqlite_world.post(f"/v1/reservations/eval:{verb}", body, status))["code"] == code
    assert sqlite_world.reservations.asked == []


async def test_a_reservation_of_which_nothing_is_booked_yet_has_no_window_to_change(sqlite_world: World) -> None:
    await around(sqlite_world)
    await sqlite_world.post("/v1/reservations", {"document": reservation()})
    refused = await sqlite_world.post("/v1/reservations/eval:cancel", {}, 404)
    assert refused["code"] == "PD-2165"
