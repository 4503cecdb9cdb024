"""Streams: read line by line, gone on with where they broke off, ended where the API says so."""

import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from perdure import AsyncClient, Client, PerdureApiError
from perdure.client.sse import Message, Reader
from tests.perdure.live import Live


@pytest.mark.parametrize(
    ("lines", "messages"),
    [
        (["data: a", ""], [Message("message", "a", "")]),
        (["event: log", "id: 7", "data: a", "data: b", ""], [Message("log", "a\nb", "7")]),
        (["id: 7", "data: a", "", "data: b", ""], [Message("message", "a", "7"), Message("message", "b", "7")]),
        ([": a comment", "retry: 1000", ""], []),
        (["data:without a space", ""], [Message("message", "without a space", "")]),
        (["data: never finished"], []),
        (["event: end", "data: {}", ""], [Message("end", "{}", "")]),
    ],
)
def test_lines_become_messages_as_the_standard_says(lines: list[str], messages: list[Message]) -> None:
    reader = Reader()
    assert [message for line in lines if (message := reader.feed(line)) is not None] == messages


class Flaky(BaseHTTPRequestHandler):
    """Breaks off in the middle, refuses once, then goes on after the last id that it is told."""

    asked: list[str | None] = []  # noqa: RUF012  shared on purpose: a handler is made for every request

    def do_GET(self) -> None:
        self.asked.append(self.headers.get("Last-Event-ID"))
        number = len(self.asked)
        if number == 2:
            self.send_error(503)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        last = int(self.headers.get("Last-Event-ID") or 0)
        for line in range(last + 1, min(last + 3, 6)):
            self.wfile.write(f"id: {line}\nevent: log\n".encode() + _log(line) + b"\n\n")
        self.wfile.write(b"event: heartbeat\ndata: {}\n\nid: 99\nevent: log\ndata: {")
        if last >= 4:
            self.wfile.write(b'"attempt": 1, "rank": 0, "text": "last"}\n\nevent: end\ndata: {}\n\n')

    def log_message(self, format: str, *args: Any) -> None:
        """Tests are quiet."""


def _log(number: int) -> bytes:
    return f'data: {{"attempt": 1, "rank": 0, "text": "line {number}"}}'.encode()


@pytest.fixture
def flaky() -> Any:
    Flaky.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Flaky)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


EXPECTED = ["line 1", "line 2", "line 3", "line 4", "line 5", "last"]


def test_a_stream_goes_on_where_it_broke_off_without_a_gap_or_a_repeat(flaky: str) -> None:
    with Client(flaky) as client:
        assert [line.text for line in client.jobs.read_logs("x", follow=True)] == EXPECTED
    assert Flaky.asked == [None, "2", "2", "4"]


async def test_the_asynchronous_twin_does_the_same(flaky: str) -> None:
    async with AsyncClient(flaky) as client:
        assert [line.text async for line in client.jobs.read_logs("x", follow=True)] == EXPECTED


def write_logs(live: Live, job: str, *lines: str) -> None:
    begin = datetime.now(UTC)
    live.world.logs.lines[(job, 1, 0)] = [(begin + timedelta(seconds=n), line) for n, line in enumerate(lines)]


def test_following_the_real_api_ends_when_the_job_has_ended(live: Live, client: Client) -> None:
    run = client.submit(
        {
            "apiVersion": "perdure/v1",
            "kind": "Job",
            "metadata": {"name": "j"},
            "spec": {"command": ["true"], "workdir": {"mode": "none"}},
        }
    )
    live.world.attempt(run.id, 1)
    write_logs(live, run.id, "one", "two")
    lines = run.logs(follow=True)
    assert next(lines).text == "one"
    live.world.attempt(run.id, 1, ended=True)
    live.world.end(run.id)
    assert [line.text for line in lines] == ["two"]
    assert [event.kind for event in run.events(follow=True)] == ["accepted"]
    assert [line.text for line in run.logs(tail=1)] == ["two"]


def test_a_stream_of_nothing_is_refused_at_once(live: Live, client: Client) -> None:
    with pytest.raises(PerdureApiError) as refusal:
        list(client.jobs.read_logs("nobody", follow=True))
    assert refusal.value.exit_code == 3
