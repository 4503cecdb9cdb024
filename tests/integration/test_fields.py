"""What each field of a job does, seen from inside a job on a real control plane."""

import itertools
import json
import socket
import stat
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from perdure import snapshot
from tests.support.audit import Auditor
from tests.support.polling import eventually
from tests.support.ports import free_port
from tests.support.stack import Stack

FAST = {"retry": {"limit": 1, "backoff": {"initial": "200ms"}}, "gracePeriod": "1s"}
TELL = "import json, os, sys; print(json.dumps({'argv': sys.argv[1:], 'env': dict(os.environ), 'cwd': os.getcwd()}))"


def python(code: str, *arguments: str) -> dict[str, Any]:
    return {**FAST, "command": [sys.executable, "-c", code, *arguments]}


def lines(stack: Stack, job: str, **parameters: Any) -> list[str]:
    page = stack.ask("GET", f"/jobs/{job}/logs", params={"limit": 500, **parameters}).json()
    return [item["text"] for item in page["items"]]


def succeeded(stack: Stack, spec: dict[str, Any]) -> str:
    job = stack.submit(spec)
    over = stack.until(job)
    assert over["phase"] == "Succeeded", (over["reason"], lines(stack, job))
    return job


def told(stack: Stack, spec: dict[str, Any]) -> dict[str, Any]:
    """What a job that runs TELL saw."""
    answer: dict[str, Any] = json.loads(lines(stack, succeeded(stack, spec))[-1])
    return answer


def upload(stack: Stack, folder: Path) -> str:
    taken = snapshot.take(folder)
    with tempfile.TemporaryFile() as archive:
        taken.pack(archive)
        archive.seek(0)
        response = stack.ask("PUT", f"/snapshots/{taken.sha256}", content=archive.read())
    assert response.status_code in (200, 201), response.text
    return taken.sha256


def test_labels_select_and_annotations_are_shown(stack: Stack) -> None:
    document = {
        "apiVersion": "perdure/v1",
        "kind": "Job",
        "metadata": {"name": "labelled", "labels": {"team": "vision"}, "annotations": {"note": "second try"}},
        "spec": {"command": ["true"], "workdir": {"mode": "none"}},
    }
    job = stack.ask("POST", "/jobs", json={"document": document}).json()["id"]
    found = stack.ask("GET", "/jobs", params={"selector": "team=vision"}).json()["items"]
    assert [item["id"] for item in found] == [job]
    assert stack.ask("GET", "/jobs", params={"selector": "team=speech"}).json()["items"] == []
    assert stack.job(job)["spec"]["metadata"]["annotations"] == {"note": "second try"}


def test_the_type_is_shown_with_the_job(stack: Stack) -> None:
    assert stack.job(stack.submit({"type": "evaluation", "command": ["true"]}))["type"] == "evaluation"


def test_arguments_reach_the_command_as_they_stand(stack: Stack) -> None:
    odd = ["a b", "$HOME", "'quoted'", "*", "é\n2"]
    assert told(stack, {**python(TELL), "args": odd})["argv"] == odd


def test_variables_reach_the_command_as_text(stack: Stack) -> None:
    env = told(stack, {**python(TELL), "env": {"RATE": {"value": "0.10"}, "EMPTY": {"value": ""}}})["env"]
    assert (env["RATE"], env["EMPTY"]) == ("0.10", "")
    assert not [name for name in env if name in ("PERDURE_HOME", "PERDURE_CRASH_DIR", "PERDURE_API_PORT")]


def test_a_secret_reaches_the_command_and_no_log(stack: Stack) -> None:
    value = "s3cr3t-" + "x" * 20
    stack.ask("POST", "/secrets", json={"name": "field-token", "value": value})
    split = (
        "import os, sys, time; t = os.environ['TOKEN']; print(len(t)); sys.stdout.write(t[:9]); sys.stdout.flush();"
        "time.sleep(0.3); print(t[9:]); sys.exit(3)"
    )
    job = stack.submit({**python(split), "env": {"TOKEN": {"secret": "field-token"}}})
    over = stack.until(job)
    assert over["phase"] == "Failed"
    length, masked = lines(stack, job)
    assert length == str(len(value))
    assert value not in masked
    everything = json.dumps([over, stack.items(job, "events"), stack.items(job, "attempts")])
    assert value not in everything
    assert not [path for path in stack.home.rglob("*") if path.is_file() and value.encode() in path.read_bytes()]


def test_a_secret_file_is_private_and_gone_afterwards(stack: Stack) -> None:
    stack.ask("POST", "/secrets", json={"name": "field-key", "value": "-----KEY-----"})
    code = (
        "import os, pathlib; p = pathlib.Path(os.environ['PERDURE_SECRETS_DIR'], 'keys/id');"
        "print(p); print(oct(p.stat().st_mode)); print(len(p.read_text()))"
    )
    job = succeeded(stack, {**python(code), "secretFiles": [{"secret": "field-key", "path": "keys/id"}]})
    path, mode, length = lines(stack, job)
    assert (stat.S_IMODE(int(mode, 8)), int(length)) == (0o600, len("-----KEY-----"))
    assert not Path(path).exists()


@pytest.mark.parametrize("mode", ["none", "live", "snapshot"])
def test_the_command_starts_in_the_working_directory_of_its_mode(mode: str, stack: Stack, folder: Path) -> None:
    (folder / "data.txt").write_text("mine")
    workdir: dict[str, Any] = {"mode": mode}
    if mode == "live":
        workdir["path"] = str(folder)
    if mode == "snapshot":
        workdir["snapshot"] = upload(stack, folder)
    code = "import json, os; print(json.dumps([os.getcwd(), sorted(os.listdir('.'))]))"
    cwd, names = json.loads(lines(stack, succeeded(stack, {**python(code), "workdir": workdir}))[-1])
    assert names == ([] if mode == "none" else ["data.txt"])
    assert (cwd == str(folder)) == (mode == "live")


def test_a_snapshot_gives_every_attempt_the_same_bytes(stack: Stack, folder: Path) -> None:
    (folder / "data.txt").write_text("as submitted")
    digest = upload(stack, folder)
    (folder / "data.txt").write_text("edited since")
    code = (
        "import os, signal; print(open('data.txt').read(), flush=True); open('data.txt', 'w').write('spoilt');"
        "os.environ['PERDURE_ATTEMPT'] == '1' and os.kill(os.getpid(), signal.SIGKILL)"
    )
    job = succeeded(stack, {**python(code), "workdir": {"mode": "snapshot", "snapshot": digest}})
    assert [lines(stack, job, attempt=number) for number in (1, 2)] == [["as submitted"], ["as submitted"]]


def test_the_command_starts_in_the_folder_inside_its_working_directory(stack: Stack, folder: Path) -> None:
    (folder / "src").mkdir()
    spec = {**python(TELL), "workdir": {"mode": "live", "path": str(folder)}, "workingDir": "src"}
    assert told(stack, spec)["cwd"] == str(folder / "src")


def test_every_process_of_every_node_is_started_with_its_place(stack: Stack) -> None:
    names = "'PERDURE_RANK', 'PERDURE_NODE_RANK', 'PERDURE_LOCAL_RANK', 'PERDURE_WORLD_SIZE'"
    job = succeeded(
        stack, {**python(f"import os; print(*[os.environ[n] for n in ({names})])"), "nodes": 2, "processesPerNode": 2}
    )
    assert sorted(lines(stack, job)) == ["0 0 0 4", "1 0 1 4", "2 1 0 4", "3 1 1 4"]


def test_the_master_listens_on_the_port_that_was_asked_for(stack: Stack) -> None:
    port = free_port()
    env = told(stack, {**python(TELL), "distributed": {"masterPort": port}})["env"]
    assert (env["MASTER_ADDR"], env["MASTER_PORT"]) == ("127.0.0.1", str(port))


def test_a_process_that_ignores_sigterm_is_killed_after_its_grace(stack: Stack) -> None:
    code = (
        "import signal, time; signal.signal(signal.SIGTERM, lambda *_: print('no', flush=True));"
        "print('up', flush=True);\nwhile True: time.sleep(0.1)"
    )
    job = stack.submit(python(code))
    eventually(lambda: "up" in lines(stack, job), 30)
    stack.ask("POST", f"/jobs/{job}:cancel", json={})
    assert stack.until(job)["phase"] == "Cancelled"
    assert "no" in lines(stack, job)
    (attempt,) = stack.items(job, "attempts")
    assert attempt["ranks"][0]["signal"] == 9
    told_at = next(datetime.fromisoformat(e["at"]) for e in stack.items(job, "events") if "cancelled" in e["reason"])
    assert (datetime.fromisoformat(attempt["endedAt"]) - told_at).total_seconds() >= 1


def test_the_job_is_told_how_often_to_save(stack: Stack) -> None:
    assert told(stack, {**python(TELL), "checkpoints": {"every": "5m"}})["env"]["PERDURE_CHECKPOINT_EVERY"] == "300"


SAVES = """
import sys
from perdure import job
for step in range(1, 9):
    loss = {3: 0.1}.get(step, 1.0 / step + 0.2)
    with job.checkpoint(step, metrics={"loss": loss}) as folder:
        (folder / "state").write_text(str(step))
"""


def test_checkpoints_are_kept_by_number_step_and_metric(stack: Stack) -> None:
    best = {"metric": "loss", "mode": "min", "count": 1}
    job = succeeded(stack, {**python(SAVES), "checkpoints": {"keepLast": 2, "keepEvery": 4, "keepBest": best}})
    assert sorted(entry["step"] for entry in stack.items(job, "checkpoints")) == [3, 4, 7, 8]


def test_a_job_starts_from_a_checkpoint_of_another(stack: Stack, auditor: Auditor) -> None:
    first = succeeded(stack, {**python(SAVES), "checkpoints": {"keepLast": 8}})
    code = "import os; f = os.environ['PERDURE_RESUME_FROM']; print(os.environ['PERDURE_RESUME_STEP'], *os.listdir(f))"
    job = succeeded(stack, {**python(code), "checkpoints": {"from": {"job": first, "step": 5}}})
    step, *names = lines(stack, job)[-1].split()
    assert step == "5"
    assert "manifest-0.json" in names
    assert stack.items(job, "attempts")[0]["fromStep"] == 5


SERVES = """
import http.server, os, pathlib, sys, time
kind, port = sys.argv[1], int(sys.argv[2])
time.sleep(0.5)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/ready" else 503)
        self.end_headers()
if kind == "file":
    pathlib.Path(os.environ["PERDURE_RUN_DIR"], "ready").touch()
    time.sleep(600)
http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


@pytest.mark.parametrize("kind", ["file", "tcp", "http", "wrong-path"])
def test_a_service_is_ready_when_its_probe_says_so(kind: str, stack: Stack) -> None:
    port = free_port()
    probes: dict[str, dict[str, Any]] = {
        "file": {"file": "ready"},
        "tcp": {"tcpPort": port},
        "http": {"httpPort": port, "httpPath": "/ready"},
        "wrong-path": {"httpPort": port, "httpPath": "/other"},
    }
    spec = python(SERVES, kind, str(port))
    job = stack.submit({**spec, "mode": "service", "service": {"readiness": {**probes[kind], "period": "100ms"}}})
    stack.until(job, ("Running",))
    assert not ready(stack, job)
    if kind == "wrong-path":
        eventually(lambda: answers(port), 20)
        assert not ready(stack, job)
    else:
        eventually(lambda: ready(stack, job), 20, "ready")
    stack.ask("POST", f"/jobs/{job}:cancel", json={})
    assert stack.until(job)["phase"] == "Cancelled"


def test_a_service_is_looked_at_when_and_as_often_as_it_says(stack: Stack, folder: Path) -> None:
    looks = folder / "looks"
    port = free_port()
    code = f"""
import http.server, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with open({str(looks)!r}, "a") as file:
            count = file.tell()
            file.write("%f\\n" % time.time())
        bad = sum(1 for _ in open({str(looks)!r})) > 2
        self.send_response(500 if bad else 200)
        self.end_headers()
with open({str(looks)!r}, "a") as file:
    file.write("%f\\n" % time.time())
http.server.HTTPServer(("127.0.0.1", {port}), Handler).serve_forever()
"""
    probe = {"httpPort": port, "initialDelay": "1s", "period": "400ms", "failureThreshold": 3}
    job = stack.submit({**python(code), "mode": "service", "service": {"readiness": probe}})
    eventually(lambda: looks.exists() and len(looks.read_text().split()) >= 7, 30, "six looks")
    stack.ask("POST", f"/jobs/{job}:cancel", json={})
    stack.until(job)
    began, first, *later = [float(line) for line in looks.read_text().split()]
    assert first - began >= 0.7  # the process itself needs a moment to start
    gaps = [b - a for a, b in itertools.pairwise([first, *later])]
    assert min(gaps) >= 0.3
    (attempt,) = stack.items(job, "attempts")
    assert not attempt["ranks"][0]["ready"]


def test_a_crashing_service_waits_longer_each_time_up_to_its_limit(stack: Stack, folder: Path) -> None:
    starts = folder / "starts"
    code = f"import time; open({str(starts)!r}, 'a').write('%f\\n' % time.time()); raise SystemExit(4)"
    restart = {"initial": "200ms", "max": "400ms", "limit": 3}
    job = stack.submit({**python(code), "mode": "service", "service": {"restart": restart}})
    over = stack.until(job)
    assert over["phase"] == "Failed"
    moments = [float(line) for line in starts.read_text().split()]
    gaps = [b - a for a, b in itertools.pairwise(moments)]
    assert len(moments) == 4
    assert gaps[0] >= 0.2
    assert gaps[1] >= 0.4
    assert 0.4 <= gaps[2] < 1.5


LEAVES = """
import pathlib
from perdure import job
for name, size in (("a.txt", 100), ("b.txt", 300)):
    pathlib.Path(name).write_text("x" * size)
    job.artifact(name)
"""


def test_artifacts_beyond_the_limit_are_named_and_left(stack: Stack) -> None:
    job = succeeded(stack, {**python(LEAVES), "artifacts": {"maxBytes": 200}})
    assert [item["path"] for item in stack.items(job, "artifacts")] == ["a.txt"]
    assert any("b.txt" in event["reason"] for event in stack.items(job, "events"))
    assert stack.ask("GET", f"/jobs/{job}/artifacts/a.txt").text == "x" * 100


def test_artifacts_are_deleted_when_their_time_is_over(stack: Stack) -> None:
    job = succeeded(stack, {**python(LEAVES), "artifacts": {"keepFor": "1s"}})
    eventually(lambda: stack.items(job, "artifacts") == [], 90, "artifacts gone")
    assert stack.ask("GET", f"/jobs/{job}/artifacts/a.txt").status_code == 404


def test_an_ended_job_is_deleted_when_its_time_is_over(stack: Stack) -> None:
    job = stack.submit({"command": ["true"], "ttlAfterFinished": "1s"})
    eventually(lambda: stack.ask("GET", f"/jobs/{job}").status_code == 404, 90, "job gone")
    eventually(lambda: not list((stack.home / "runs").glob(f"*/*/{job}")), 60, "its folder gone")


def ready(stack: Stack, job: str) -> bool:
    (attempt,) = stack.items(job, "attempts")
    return bool(attempt["ranks"]) and all(rank["ready"] for rank in attempt["ranks"])


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
