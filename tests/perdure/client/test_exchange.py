"""What is tried again, how often, under which key, and how an answer that is none is told. No clock, no sockets."""

import json
from typing import Any

import pytest

from perdure.client._models import Health, SubmitJob, Version
from perdure.client.call import Call, Reply, reading
from perdure.client.exchange import TRIES, Target, exchange
from perdure.client.operations import catalog, jobs, system
from perdure.client.script import Ended, Lost, Pause, Request, Send, advance
from perdure.errors import PerdureApiError, PerdureError, PerdureUnreachable

TARGET = Target("http://127.0.0.1:8642/", "pd_live_x", "vision")
OK = Reply(200, {}, b'{"version": "1.0", "python": "3.11"}')
REFUSED = Lost("connection refused", sent=False)
BROKEN = Lost("connection reset", sent=True)


def carry_out(call: Call[Any], *outcomes: Reply | Lost) -> tuple[Any, list[Request], list[float]]:
    """Give the script these outcomes one after the other. Returns its value, what it sent, and its pauses."""
    sent: list[Request] = []
    pauses: list[float] = []
    waiting = list(outcomes)
    script = exchange(TARGET, call)
    outcome: Any = None
    try:
        while True:
            effect = advance(script, outcome, None)
            if isinstance(effect, Pause):
                pauses.append(effect.seconds)
                outcome = None
            else:
                assert isinstance(effect, Send)
                sent.append(effect.request)
                outcome = waiting.pop(0)
    except Ended as ended:
        return ended.value, sent, pauses


def busy(status: int = 503, **headers: str) -> Reply:
    return Reply(status, {name.replace("_", "-"): value for name, value in headers.items()}, b"")


@pytest.mark.parametrize("first", [REFUSED, BROKEN, busy(503), busy(429), busy(502), busy(504)])
def test_a_read_is_tried_again_until_it_is_answered(first: Reply | Lost) -> None:
    value, sent, pauses = carry_out(system.version(), first, first, OK)
    assert isinstance(value, Version)
    assert len(sent) == 3
    assert 0 < pauses[0] < pauses[1] * 2.1


def test_a_change_keeps_its_key_over_all_tries() -> None:
    answer = Reply(
        200,
        {},
        json.dumps({"requestId": "1", "verb": "cancel", "job": "x", "phase": "Cancelling", "message": ""}).encode(),
    )
    _, sent, _ = carry_out(jobs.cancel("x"), BROKEN, busy(503), answer)
    keys = {request.headers["idempotency-key"] for request in sent}
    assert len(sent) == 3
    assert len(keys) == 1


def test_two_requests_never_share_a_key() -> None:
    first, second = (TARGET.request(jobs.cancel("x")).headers["idempotency-key"] for _ in range(2))
    assert first != second


def test_what_may_have_arrived_and_has_no_key_is_not_sent_twice() -> None:
    with pytest.raises(PerdureUnreachable, match="connection reset"):
        carry_out(jobs.validate(SubmitJob(text="kind: Job")), BROKEN)


def test_tries_come_to_an_end() -> None:
    with pytest.raises(PerdureUnreachable, match="connection refused") as error:
        carry_out(system.health(), *[REFUSED] * TRIES)
    assert error.value.where == TARGET.url
    with pytest.raises(PerdureApiError) as refusal:
        carry_out(system.health(), *[busy(503)] * TRIES)
    assert refusal.value.exit_code == 8


def test_the_server_says_how_long_to_wait() -> None:
    _, _, pauses = carry_out(system.version(), busy(429, retry_after="7"), OK)
    assert 7 < pauses[0] < 8
    with pytest.raises(PerdureApiError) as refusal:
        carry_out(system.version(), busy(429, retry_after="3600"))
    assert refusal.value.exit_code == 5, "a wait that is too long is told, not sat out"


def test_a_refusal_is_not_tried_again_and_keeps_the_servers_words() -> None:
    problem = {
        "type": "http://127.0.0.1:8642/errors/PD-2004",
        "title": "Not found",
        "status": 404,
        "detail": "no job `x`",
        "code": "PD-2004",
        "exitCode": 3,
        "where": "jobs.get",
        "remedy": "List what there is.",
        "requestId": "r1",
        "errors": [{"code": "PD-1101", "detail": "unknown", "where": "a:1:2", "exitCode": 2, "status": 422}],
    }
    with pytest.raises(PerdureApiError) as refusal:
        carry_out(jobs.get("x"), Reply(404, {}, json.dumps(problem).encode()))
    error = refusal.value
    assert (error.code, error.detail, error.where, error.exit_code) == ("PD-2004", "no job `x`", "jobs.get", 3)
    assert (error.remedy, error.status, error.request_id) == ("List what there is.", 404, "r1")
    assert [(each.code, each.where) for each in error.errors] == [("PD-1101", "a:1:2")]


@pytest.mark.parametrize(
    ("status", "exit_code"), [(401, 4), (403, 4), (404, 3), (409, 6), (413, 2), (500, 8), (418, 2)]
)
def test_an_answer_of_a_stranger_still_has_a_code_and_an_exit_code(status: int, exit_code: int) -> None:
    with pytest.raises(PerdureApiError, match=f"HTTP status {status}") as refusal:
        carry_out(system.health(), Reply(status, {}, b"<html>teapot</html>"))
    assert (refusal.value.code, refusal.value.exit_code) == ("PD-2902", exit_code)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"<html>", b'{"version": 3, "python": null}'])
def test_an_answer_of_another_shape_is_told_and_not_passed_on(content: bytes) -> None:
    with pytest.raises(PerdureError) as error:
        carry_out(system.version(), Reply(200, {}, content))
    assert error.value.code == "PD-2902"


def test_fields_of_a_newer_server_are_ignored() -> None:
    read = reading(Health)
    assert read(Reply(200, {}, b'{"status": "ok", "pid": 1, "mood": "good"}')).pid == 1


def test_names_stay_names_whatever_is_in_them() -> None:
    assert TARGET.request(jobs.get("..%2Fsecrets?x=1#y")).url.endswith("/v1/jobs/..%252Fsecrets%3Fx%3D1%23y")
    assert TARGET.request(catalog.get_template("a b")).url.endswith("/v1/templates/a%20b")


def test_the_project_comes_from_the_call_or_else_from_the_client() -> None:
    assert ("project", "vision") in TARGET.request(jobs.get("x")).query
    assert ("project", "other") in TARGET.request(jobs.get("x", project="other")).query
    assert TARGET.request(system.health()).query == []


def test_a_missing_snapshot_is_an_answer() -> None:
    found, _, _ = carry_out(catalog.head_snapshot("0" * 64), Reply(404, {}, b""))
    assert found is False
