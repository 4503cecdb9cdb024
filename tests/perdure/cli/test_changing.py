"""Reading while things change: lists, filters, changes as they happen, ranks, files."""

import hashlib
import json
import signal
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from definitions.attempt import ArtifactRecord
from definitions.states import Phase
from store import artifacts
from store.engine import session
from tests.perdure.cli.calling import Cli, ended, started
from tests.perdure.live import PERDURE, Live


def submit_many(cli: Cli, count: int) -> None:
    for number in range(count):
        cli.ok("run", "--workdir", "none", "--name", f"job-{number}", "--label", f"n={number}", "--", "true")


def test_lists_go_on_page_by_page_or_as_a_whole(cli: Cli) -> None:
    submit_many(cli, 5)
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = json.loads(
            cli.ok("jobs", "list", "--limit", "2", "--json", "name", *(["--cursor", cursor] if cursor else []))
        )
        seen += [job["name"] for job in page["items"]]
        if (cursor := page["next"]) is None:
            break
    assert seen == [f"job-{number}" for number in reversed(range(5))]
    assert json.loads(cli.ok("jobs", "list", "--all", "--json", "name"))["items"] == [{"name": name} for name in seen]
    assert "there is more: add --cursor" in cli("jobs", "list", "--limit", "2").err


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        (("--phase", "Failed"), ["job-2"]),
        (("--phase", "Failed", "--phase", "Pending"), ["job-2", "job-1", "job-0"]),
        (("--selector", "n=1"), ["job-1"]),
        (("-l", "n!=1"), ["job-2", "job-0"]),
        (("--owner", "admin-of-acme"), ["job-2", "job-1", "job-0"]),
        (("--owner", "ada"), []),
        (("--since", "1h"), ["job-2", "job-1", "job-0"]),
        (("--since", "2100-01-01T00:00:00Z"), []),
        (("--name", "job-0"), ["job-0"]),
    ],
)
def test_jobs_are_found_by_what_they_are(cli: Cli, flags: tuple[str, ...], names: list[str]) -> None:
    submit_many(cli, 3)
    with cli.live.client() as client:
        cli.live.world.end(client.jobs.get("job-2").id, Phase.FAILED)
    assert [job["name"] for job in json.loads(cli.ok("jobs", "list", *flags, "--json", "name"))["items"]] == names


def test_watching_prints_a_line_of_json_for_every_change(live: Live, cli: Cli, job: str) -> None:
    process = started(live, "jobs", "show", "digits", "--watch", "--json", "phase,reason")
    assert process.stdout is not None
    seen = [json.loads(process.stdout.readline())]
    live.world.change(job, phase=Phase.RUNNING, reason="all 1 ranks started")
    seen.append(json.loads(process.stdout.readline()))
    live.world.end(job)
    result = ended(process)
    seen += [json.loads(line) for line in result.out.splitlines()]
    assert [each["phase"] for each in seen] == ["Pending", "Running", "Succeeded"]
    assert result.code == 0


def test_a_watched_list_goes_on_with_what_is_new(live: Live, cli: Cli, job: str) -> None:
    process = started(live, "jobs", "list", "--watch", "--json", "name,phase")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline()) == {"name": "digits", "phase": "Pending"}
    live.world.end(job)
    assert json.loads(process.stdout.readline()) == {"name": "digits", "phase": "Succeeded"}
    process.send_signal(signal.SIGINT)
    assert ended(process).code == 130


def test_several_ranks_are_told_apart(cli: Cli) -> None:
    job = json.loads(cli.ok("run", "--workdir", "none", "--name", "two", "--nodes", "2", "--json", "id", "--", "true"))[
        "id"
    ]
    now = datetime.now(UTC)
    cli.live.world.attempt(job, 1)
    for rank in range(2):
        cli.live.world.logs.lines[(job, 1, rank)] = [(now + timedelta(seconds=rank), f"from {rank}")]
    assert cli.ok("jobs", "logs", "two") == "[0] from 0\n[1] from 1\n"
    assert cli.ok("jobs", "logs", "two", "--rank", "1") == "from 1\n"


def test_an_artifact_is_fetched_whole_checked_and_never_over_another_file(cli: Cli, job: str, folder: Path) -> None:
    cli.live.world.artifact(job, "model/weights.npz", b"weights")
    [key] = cli.live.world.blobs.stored
    cli.live.world.blobs.stored[key] = b"wieghts"
    damaged = cli("jobs", "artifacts", "get", "digits", "model/weights.npz")
    assert damaged.code == 8
    assert "came damaged" in damaged.err
    assert not (folder / "weights.npz").exists()
    body = b"\x00weights\xff" * 1000
    keep(cli, job, "model/good.npz", body)
    assert "digest verified" in cli("jobs", "artifacts", "get", "digits", "model/good.npz").err
    assert (folder / "good.npz").read_bytes() == body
    again = cli("jobs", "artifacts", "get", "digits", "model/good.npz")
    assert (again.code, "good.npz is there already" in again.err) == (2, True)
    line = [PERDURE, "jobs", "artifacts", "get", "digits", "model/good.npz", "--to", "-"]
    assert subprocess.run(line, env=cli.live.environment, capture_output=True, check=True).stdout == body
    assert sorted(path.name for path in folder.iterdir()) == ["good.npz", "train.py"]


def keep(cli: Cli, job: str, path: str, body: bytes) -> None:
    """Keep an artifact under its real digest."""
    key = f"acme/default/jobs/{job}/artifacts/1/{path}"
    cli.live.world.blobs.stored[key] = body
    record = ArtifactRecord(path=path, bytes=len(body), sha256=hashlib.sha256(body).hexdigest(), object_key=key)
    row = cli.live.world.row(job)
    with session(cli.live.world.engine) as active:
        artifacts.record(active, active.merge(row, load=True), 1, [record], datetime.now(UTC))


def test_words_of_a_job_cannot_steer_the_terminal(cli: Cli, job: str) -> None:
    cli.live.world.change(job, reason="evil \x1b]0;title\x07 \x1b[2J\r end")
    assert "\x1b" not in cli.ok("jobs", "list")
    assert "\x1b" not in cli.ok("jobs", "show", "digits")
    whole = json.loads(cli.ok("jobs", "show", "digits", "--json", "reason"))["reason"]
    assert whole.startswith("evil \x1b]0;"), "where data is asked for it stays whole"
