"""What a job leaves behind, a page at a time and as it happens."""

import json
from datetime import timedelta
from typing import Any

import pytest

from definitions.progress import ProgressPoint
from definitions.states import FailureClass, Phase
from tests.api.world import World, document


def entries(stream: str) -> list[tuple[str, str | None, Any]]:
    """(event, id, data) of every entry of a stream."""
    found = []
    for block in stream.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "event" in fields:
            found.append((fields["event"], fields.get("id"), json.loads(fields["data"])))
    return found


async def pages(world: World, path: str, limit: int) -> list[Any]:
    """Every entry of a list, read by pages."""
    found: list[Any] = []
    cursor, mark = None, "&" if "?" in path else "?"
    for _ in range(100):
        more = f"&cursor={cursor}" if cursor else ""
        page = await world.get(f"{path}{mark}limit={limit}{more}")
        assert len(page["items"]) <= limit
        found += page["items"]
        if (cursor := page["next"]) is None:
            return found
    raise AssertionError("the pages never end")


async def test_pages_stay_steady_while_jobs_come(world: World) -> None:
    made = [(await world.submit(f"job-{number}"))["id"] for number in range(7)]
    first = await world.get("/v1/jobs?limit=3")
    await world.submit("late")
    second = await world.get(f"/v1/jobs?limit=3&cursor={first['next']}")
    third = await world.get(f"/v1/jobs?limit=3&cursor={second['next']}")
    seen = [job["id"] for page in (first, second, third) for job in page["items"]]
    assert seen == made[::-1]
    assert third["next"] is None


@pytest.mark.parametrize("cursor", ["nonsense", "W10", "eyJhIjoxfQ", "%00", "x" * 3000])
async def test_a_cursor_that_no_list_gave_is_refused(sqlite_world: World, cursor: str) -> None:
    await sqlite_world.submit()
    for path in ("/v1/jobs", "/v1/jobs/digits/events", "/v1/jobs/digits/logs", "/v1/secrets"):
        response = await sqlite_world.ask("GET", f"{path}?cursor={cursor}")
        assert response.status_code == 422, f"{path}: {response.text}"


async def test_lists_are_narrowed(world: World) -> None:
    one = await world.post("/v1/jobs", {"document": _labelled("one", {"team": "vision", "stage": "test"})})
    two = await world.post("/v1/jobs", {"document": _labelled("two", {"team": "vision"})})
    world.change(two["id"], phase=Phase.RUNNING)
    world.clock.at += timedelta(hours=1)
    three = await world.submit("three", key=world.key("acme", projects=("default",)))
    for query, wanted in {
        "phase=Running": [two],
        "phase=Running&phase=Pending": [three, two, one],
        "selector=team%3Dvision,!stage": [two],
        "selector=stage": [one],
        "owner=admin-of-acme": [three, two, one],
        "owner=nobody": [],
        "name=two": [two],
        "since=2026-11-29T12:30:00Z": [three],
        "since=2026-11-29T14:30:00%2B02:00": [three],
        "template=finetune": [],
        "schedule=nightly": [],
    }.items():
        listed = await world.get(f"/v1/jobs?{query}")
        assert [job["id"] for job in listed["items"]] == [job["id"] for job in wanted], query
    for query in ("phase=Sleeping", "selector=a%3D%3D%3Db", "limit=0", "limit=501", "since=yesterday"):
        assert (await world.ask("GET", f"/v1/jobs?{query}")).status_code == 422, query


def _labelled(name: str, labels: dict[str, str]) -> dict[str, Any]:
    made = document(name)
    made["metadata"]["labels"] = labels
    return made


async def test_attempts_checkpoints_and_artifacts_are_listed_by_pages(world: World) -> None:
    job = (await world.submit())["id"]
    for number in (1, 2, 3):
        world.attempt(job, number, ended=number < 3, failure=FailureClass.SIGNAL if number < 3 else None)
        world.checkpoint(job, number * 100, complete=number != 2)
        world.artifact(job, f"out/file-{number}.bin", b"x" * number)
    attempts = await pages(world, f"/v1/jobs/{job}/attempts", 2)
    assert [(entry["number"], entry["failure"]) for entry in attempts] == [(1, "signal"), (2, "signal"), (3, None)]
    saved = await pages(world, f"/v1/jobs/{job}/checkpoints", 2)
    assert [(entry["step"], entry["complete"]) for entry in saved] == [(100, True), (200, False), (300, True)]
    left = await pages(world, f"/v1/jobs/{job}/artifacts", 2)
    assert [(entry["path"], entry["bytes"]) for entry in left] == [(f"out/file-{n}.bin", n) for n in (1, 2, 3)]


async def test_an_artifact_is_a_download_and_is_gone_after_its_deletion(world: World) -> None:
    job = (await world.submit())["id"]
    world.artifact(job, "report/<b>.html", b"<script>alert(1)</script>")
    path = f"/v1/jobs/{job}/artifacts/report/%3Cb%3E.html"
    response = await world.ask("GET", path)
    assert response.content == b"<script>alert(1)</script>"
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["content-disposition"] == "attachment; filename*=UTF-8''%3Cb%3E.html"
    assert response.headers["x-content-type-options"] == "nosniff"
    await world.expect(204, "DELETE", path)
    assert (await world.ask("GET", path)).status_code == 404
    assert world.blobs.stored == {}
    assert (await world.get(f"/v1/jobs/{job}/artifacts"))["items"] == []


@pytest.mark.parametrize("path", ["../../secret", "..%2F..%2Fsecret", "%2e%2e/secret", "/etc/passwd", "a//b", "a%00b"])
async def test_a_path_of_an_artifact_is_a_name_and_never_a_way(sqlite_world: World, path: str) -> None:
    job = (await sqlite_world.submit())["id"]
    sqlite_world.blobs.stored["acme/default/secret"] = b"not yours"
    response = await sqlite_world.ask("GET", f"/v1/jobs/{job}/artifacts/{path}")
    assert response.status_code == 404, response.text


async def test_metrics_are_series_by_name(sqlite_world: World) -> None:
    world = sqlite_world
    job = (await world.submit())["id"]
    world.metrics.points[job] = [
        ProgressPoint(step=step, at=world.clock.now(), attempt=1, metrics={"loss": 1 / step, "accuracy": step / 100})
        for step in range(1, 101)
    ]
    shown = await pages(world, f"/v1/jobs/{job}/metrics", 1)
    assert [series["name"] for series in shown] == ["accuracy", "loss"]
    assert shown[1]["points"][0] == {"step": 1, "at": "2026-11-29T12:00:00Z", "value": 1.0}
    thin = await world.get(f"/v1/jobs/{job}/metrics?name=loss&points=10")
    assert [series["name"] for series in thin["items"]] == ["loss"]
    assert len(thin["items"][0]["points"]) == 10


async def test_why_tells_the_stored_reason_and_what_would_help(world: World) -> None:
    job = (await world.submit())["id"]
    pending = await world.get(f"/v1/jobs/{job}/why")
    assert (pending["reason"], pending["failure"]) == ("submitted", None)
    world.attempt(job, ended=True, failure=FailureClass.USER_ERROR)
    reason = "rank 0 ended with 3 (user-error); not retried"
    world.change(job, phase=Phase.FAILED, reason=reason, failure=FailureClass.USER_ERROR, exit_code=3)
    world.clock.at += timedelta(minutes=3)
    world.tell(job, 1, reason)
    why = await world.get("/v1/jobs/digits/why")
    assert (why["reason"], why["failure"], why["exitCode"], why["firstRank"]) == (reason, "user-error", 3, 0)
    assert why["lastLines"] == ["ValueError: bad shape"]
    assert why["since"] == "2026-11-29T12:03:00Z"
    assert any("last lines" in line for line in why["help"])


async def test_events_are_streamed_from_where_the_reader_was_to_the_end(world: World) -> None:
    job = (await world.submit())["id"]
    world.clock.then[2] = lambda: world.tell(job, 1, "running")

    def the_end() -> None:
        world.tell(job, 2, "all ranks ended with 0")
        world.end(job)

    world.clock.then[40] = the_end
    stream = await world.ask("GET", f"/v1/jobs/{job}/events/stream")
    assert stream.headers["content-type"].startswith("text/event-stream")
    told = entries(stream.text)
    assert [data["reason"] for event, _, data in told if event == "event"] == [
        "submitted by admin-of-acme",
        "running",
        "all ranks ended with 0",
    ]
    assert [event for event, _, _ in told if event != "event"] == ["heartbeat", "end"]
    seen = told[0][1] or ""
    rest = entries((await world.ask("GET", f"/v1/jobs/{job}/events/stream", headers={"Last-Event-ID": seen})).text)
    assert [data["reason"] for event, _, data in rest if event == "event"] == ["running", "all ranks ended with 0"]
    since = await world.get(f"/v1/jobs/{job}/events?since=2026-11-29T12:00:01Z")
    assert [event["reason"] for event in since["items"]] == ["running", "all ranks ended with 0"]


async def test_a_stream_is_closed_after_its_time_without_saying_that_it_is_the_end(sqlite_world: World) -> None:
    job = (await sqlite_world.submit())["id"]
    stream = entries((await sqlite_world.ask("GET", f"/v1/jobs/{job}/events/stream")).text)
    assert stream[-1][0] == "heartbeat"
    assert sqlite_world.clock.slept * 0.5 == pytest.approx(120)


@pytest.mark.parametrize("seen", ["x", "-1", "1.5", "9" * 30])
async def test_an_id_that_no_stream_gave_is_refused(sqlite_world: World, seen: str) -> None:
    job = (await sqlite_world.submit())["id"]
    for stream in ("events", "logs"):
        response = await sqlite_world.ask("GET", f"/v1/jobs/{job}/{stream}/stream", headers={"Last-Event-ID": seen})
        assert response.status_code == 422
