"""The small parts of the local runtime, each for itself."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from activities.adapters.local import adoption, ports
from activities.adapters.local.layout import Layout
from activities.adapters.local.rank_spec import secret_folder
from activities.adapters.local.shim import cgroups, files, gate, identity, leftovers, procs, receipt
from activities.adapters.local.shim.probe import Probe
from activities.adapters.local.shim.shared import GROUP_OOM, JOINED, MACHINE_OOM, STATUS, Shared
from activities.adapters.local.workdir import lay_out
from activities.ports import PortError
from definitions.attempt import AttemptRef, Workdir
from tests.activities.local.world import LocalWorld
from tests.support.polling import eventually
from tests.support.ports import free_port

SLEEPER = "import time; time.sleep(600)"
KILL_ALL = """
def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]: pass
    except ChildProcessError: pass
killed, left = procs.kill_descendants(reap, lambda: None, 10)
"""


def test_of_many_who_decide_one_is_heard(tmp_path: Path) -> None:
    threads = [
        threading.Thread(target=gate.decide, args=(str(tmp_path), verdict, str(n)))
        for n, verdict in enumerate([gate.OPEN, gate.CLOSED] * 10)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made = gate.decision(str(tmp_path))
    assert made is not None
    assert gate.decide(str(tmp_path), gate.OPEN, "late") == gate.decide(str(tmp_path), gate.CLOSED, "late") == made
    assert [file.name for file in tmp_path.iterdir()] == ["go"]


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    files.write(path, b"old")
    with pytest.raises(FileNotFoundError):
        files.write(str(tmp_path / "no" / "file"), b"new")
    assert Path(path).read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_a_process_is_known_by_pid_and_start_time() -> None:
    child = subprocess.Popen([sys.executable, "-c", SLEEPER])
    started = procs.start_time(child.pid)
    assert procs.is_alive(child.pid, started)
    assert not procs.is_alive(child.pid, (started or 0) + 1)
    child.kill()
    eventually(lambda: procs.start_time(child.pid) is None, what="a zombie does not count as alive")
    assert not procs.is_alive(child.pid, started)
    child.wait()


def test_an_identity_of_another_boot_names_nobody(tmp_path: Path) -> None:
    identity.write(str(tmp_path), "t", {"supervisor": os.getpid()}, {})
    assert identity.is_supervised(str(tmp_path))
    known = identity.read(str(tmp_path))
    assert known is not None
    files.write_json(str(tmp_path / "identity.json"), known | {"boot_id": "another"})
    assert not identity.is_supervised(str(tmp_path))


def test_carriers_of_a_token_are_found_by_rank_too() -> None:
    token = os.urandom(16).hex()
    children = [
        subprocess.Popen(
            [sys.executable, "-c", SLEEPER], env={"PERDURE_ATTEMPT_TOKEN": token, "PERDURE_RANK": str(rank)}
        )
        for rank in (0, 1)
    ]
    try:
        eventually(lambda: leftovers.carriers(token) == {child.pid for child in children})
        assert leftovers.carriers(token, 1) == {children[1].pid}
        assert leftovers.carriers(token[:-1]) == set()
        assert leftovers.end_all(lambda: leftovers.carriers(token)) == 2
    finally:
        for child in children:
            child.kill()
            child.wait()


def test_a_daemon_without_environment_is_found_by_the_pipe_that_it_kept() -> None:
    read, write = os.pipe()
    child = subprocess.Popen([sys.executable, "-c", SLEEPER], env={}, stdout=write)
    pipe = os.readlink(f"/proc/self/fd/{read}")
    try:
        eventually(lambda: leftovers.writers(pipe) == {child.pid})
        assert leftovers.writers(None) == leftovers.writers("pipe:[0]") == set()
    finally:
        child.kill()
        child.wait()
        os.close(read)
        os.close(write)


@pytest.mark.parametrize(
    ("group", "machine", "status", "expected"),
    [
        ((3, 4), None, -9, "confirmed"),
        ((3, 4), None, 1, "confirmed"),
        ((4, 4), (0, 5), -9, "none"),
        (None, (5, 6), -9, "suspected"),
        (None, (5, 6), 137, "suspected"),
        (None, (5, 6), 1, "none"),
        (None, (5, 6), -15, "none"),
        (None, (5, 5), -9, "none"),
        (None, (5, 5), 137, "none"),
        (None, (-1, 6), -9, "none"),
        (None, None, 137, "none"),
    ],
)
def test_lack_of_memory_is_proved_by_the_own_group_and_suspected_by_the_machines_count(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    group: tuple[int, int] | None,
    machine: tuple[int, int] | None,
    status: int,
    expected: str,
) -> None:
    shared = Shared(100)
    shared[STATUS] = status
    shared[MACHINE_OOM] = -1 if machine is None else machine[0]
    shared[GROUP_OOM] = 0 if group is None else group[0]
    shared[JOINED] = 0 if group is None else 1
    (tmp_path / "memory.events").write_text(f"low 0\noom 9\noom_kill {group[1] if group else 99}\n")
    monkeypatch.setattr(cgroups, "machine_oom_kills", lambda: None if machine is None else machine[1])
    assert receipt._oom(shared, [str(tmp_path)], []) == expected


@pytest.mark.parametrize(
    ("blocks", "free", "inodes", "free_inodes", "full"),
    [
        (1000, 100, 1000, 5, False),
        (1000, 15, 1000, 5, True),
        (1000, 0, 1000, 5, True),
        (1000, 100, 1000, 0, True),
        (1000, 100, 0, 0, False),
        (0, 0, 0, 0, False),
    ],
)
def test_a_disk_is_full_without_bytes_or_inodes_where_they_are_counted(
    blocks: int, free: int, inodes: int, free_inodes: int, full: bool
) -> None:
    seen = os.statvfs_result((4096, 4096, blocks, free, free, inodes, free_inodes, free_inodes, 0, 255))
    assert receipt.is_full(seen) is full


def test_the_receipt_finds_room_on_a_full_disk(tmp_path: Path) -> None:
    receipt.reserve(str(tmp_path))
    reserved = tmp_path / receipt.RESERVED
    before = reserved.stat().st_blocks
    assert before * 512 >= receipt.RESERVED_BYTES
    receipt.write(str(tmp_path), {"rank": 0, "last_lines": ["é" * 500] * 20})
    written = files.read_json(str(tmp_path / receipt.FILE))
    assert written == {"rank": 0, "last_lines": ["é" * 500] * 20}
    assert not reserved.exists()


def test_ports_are_given_out_once_and_come_back(tmp_path: Path) -> None:
    first, second = ports.reserve(tmp_path, "a", 3), ports.reserve(tmp_path, "b", 1)
    assert sorted(int(file.name) for file in tmp_path.iterdir()) == sorted([first, first + 1, first + 2, second])
    ports.release(tmp_path, "a")
    ports.release(tmp_path, "a")
    assert [int(file.name) for file in tmp_path.iterdir()] == [second]


def test_a_port_on_which_somebody_listens_is_not_given_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]
        monkeypatch.setattr(ports, "FIRST", taken)
        monkeypatch.setattr(ports, "LAST", taken)
        with pytest.raises(PortError) as refused:
            ports.reserve(tmp_path, "a", 1)
    assert refused.value.code == "PD-3013"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "..", ".active", "a/b", "a b", "ü", "x" * 200])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    good = AttemptRef(tenant="t", project="p", job="j", number=1, token="a")
    for field in ("tenant", "project", "job", "token"):
        with pytest.raises(PortError) as refused:
            Layout(tmp_path).attempt(good.model_copy(update={field: name}))
        assert (refused.value.permanent, refused.value.code) == (True, "PD-3014")


@pytest.mark.parametrize("subfolder", ["..", "a/../..", "/etc", "missing"])
def test_a_job_runs_inside_its_working_directory(world: LocalWorld, tmp_path: Path, subfolder: str) -> None:
    ref = AttemptRef(tenant="t", project="p", job="j", number=1, token="a")
    live = tmp_path / "live"
    (live / "a").mkdir(parents=True, exist_ok=True)
    assert lay_out(Workdir(mode="live", path=str(live), subfolder="a"), ref, tmp_path, world.objects)[1] == live / "a"
    with pytest.raises(PortError) as refused:
        lay_out(Workdir(mode="live", path=str(live), subfolder=subfolder), ref, tmp_path, world.objects)
    assert (refused.value.permanent, refused.value.code) == (True, "PD-3010")


def test_a_lock_that_is_held_is_left_alone(tmp_path: Path) -> None:
    ref = AttemptRef(tenant="t", project="p", job="j", number=1, token="a")
    with open(tmp_path / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert not adoption.never_ran(tmp_path, ref, 0, "here", "closed", stopped=False)
    assert adoption.never_ran(tmp_path, ref, 0, "here", "closed", stopped=False)
    assert not adoption.never_ran(tmp_path, ref, 0, "here", "closed", stopped=False)


class Answering(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(204 if self.path == "/ready" else 503)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def probe(**rule: object) -> Probe:
    usual = {"file": None, "tcp_port": None, "http_port": None, "http_path": "/", "initial_delay": 0.0}
    made = Probe(usual | {"period": 0.05, "failure_threshold": 2} | rule, "/nowhere")
    made.begun()
    return made


def becomes(probe: Probe, ready: bool) -> None:
    def step() -> bool:
        probe.step()
        return probe.ready is ready

    eventually(step, 10, f"ready becomes {ready}")


def test_a_service_is_ready_when_its_page_answers_and_no_more_after_failures() -> None:
    server = HTTPServer(("127.0.0.1", 0), Answering)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    good, bad = (probe(http_port=server.server_port, http_path=path) for path in ("/ready", "/other"))
    becomes(good, True)
    for _ in range(20):
        bad.step()
        time.sleep(0.01)
    assert not bad.ready
    server.shutdown()
    server.server_close()
    becomes(good, False)


def test_a_service_is_ready_when_its_port_accepts() -> None:
    port = free_port()
    waiting = probe(tcp_port=port)
    waiting.step()
    assert not waiting.ready
    with socket.create_server(("127.0.0.1", port)):
        becomes(waiting, True)


def test_a_server_that_never_answers_holds_nobody_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        waiting = probe(http_port=silent.getsockname()[1])
        slowest = 0.0
        for _ in range(30):
            began = time.monotonic()
            waiting.step()
            slowest = max(slowest, time.monotonic() - began)
            time.sleep(0.01)
    assert not waiting.ready
    assert slowest < 0.5


def test_the_child_of_one_that_ends_while_it_is_looked_at_is_killed_too() -> None:
    code = (
        "import os, time\nfrom activities.adapters.local.shim import procs\nprocs.become_subreaper('x')\n"
        "reads, writes = os.pipe()\n"
        "middle = os.fork()\n"
        "if middle == 0:\n"
        "    if os.fork() == 0: time.sleep(60)\n"
        "    os.read(reads, 1); os._exit(0)\n"
        "while not procs.children(middle): time.sleep(0.001)\n"
        "true = procs.children\n"
        "def children(pid):\n"
        "    found = true(pid)\n"
        "    if found == [middle]: os.write(writes, b'x')\n"
        "    while found == [middle] and procs.start_time(middle) is not None: time.sleep(0.001)\n"
        "    return found\n"
        "procs.children = children\n"
        f"{KILL_ALL}"
        "print(len(killed), left, procs.descendants(os.getpid()))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "1 [] []\n", done.stderr


def test_descendants_are_killed_though_they_fork_on() -> None:
    code = (
        "import os, time\nfrom activities.adapters.local.shim import procs\nprocs.become_subreaper('x')\n"
        "def chain():\n"
        "    while True:\n"
        "        if os.fork(): os._exit(0)\n"
        "        os.setsid(); time.sleep(0.001)\n"
        "if os.fork() == 0: chain()\n"
        "time.sleep(0.3)\n"
        f"{KILL_ALL}"
        "time.sleep(0.1)\n"
        "print(len(killed) > 0, left, procs.descendants(os.getpid()))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "True [] []\n", done.stderr


def test_a_signal_to_a_process_that_is_gone_is_no_error() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    procs.send(child.pid, signal.SIGTERM)
    assert procs.start_time(child.pid) is None


def test_secret_folders_of_ranks_and_attempts_differ(tmp_path: Path) -> None:
    from tests.activities.runtime_world import launch_of, python

    layout = Layout(tmp_path)
    launches = [launch_of(python("")), launch_of(python(""))]
    assert len({secret_folder(layout, launch, rank) for launch in launches for rank in (0, 1)}) == 4
