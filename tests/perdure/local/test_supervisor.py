"""The supervisor's order of things, with small real processes in place of the control plane's."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from perdure.local import state
from perdure.local.child import ChildSpec
from perdure.local.errors import LocalError
from perdure.local.home import Home, prepare
from perdure.local.ports import Ports
from perdure.local.processes import identify
from perdure.local.state import Phase, Stage, State
from perdure.local.supervisor import Supervisor

# Writes its name when it starts and when SIGTERM asks it to stop.
PART = """
import signal, sys
def note(what):
    with open(sys.argv[2], "a") as diary: diary.write(f"{what} {sys.argv[1]}\\n")
signal.signal(signal.SIGTERM, lambda *_: (note("stop"), sys.exit(0)))
note("start")
signal.pause()
"""
MIGRATE = "import sys; open(sys.argv[2], 'a').write('done migrate\\n')"


class Scene:
    """A home, a diary that the parts write, and the supervisor under test."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = Home(folder / "home")
        prepare(self.home)
        self.diary = folder / "diary"
        self.diary.touch()
        self.scripts = {"migrate": MIGRATE, "api": PART, "worker": PART, "temporal": PART}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.seen: list[State] = []
        monkeypatch.setattr("perdure.local.supervisor.children", lambda home, ports, own_engine: self._specs())

    def run(self, on_change: Callable[[State], None]) -> bool:
        me = identify(os.getpid())
        assert me is not None

        def watch(current: State) -> None:
            self.seen.append(current)
            on_change(current)

        return Supervisor(self.home, Ports(), me, self._spawn, watch).run()

    def lines(self) -> list[str]:
        return self.diary.read_text().splitlines()

    def _specs(self) -> tuple[ChildSpec, ...]:
        def started(name: str) -> Callable[[int], bool]:
            return lambda pid: f"start {name}" in self.lines()

        parts = tuple(ChildSpec(name, "", started(name), grace=10) for name in ("api", "worker", "temporal"))
        return (ChildSpec("migrate", "", lambda pid: False, grace=10, once=True), *parts)

    def _spawn(self, spec: ChildSpec) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-c", self.scripts[spec.name], spec.name, str(self.diary)]
        with self.home.log(spec.name).open("ab") as log:
            self.processes[spec.name] = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        return self.processes[spec.name]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    return Scene(tmp_path, monkeypatch)


def ask_to_stop(current: State) -> None:
    if current.phase is Phase.READY:
        os.kill(os.getpid(), signal.SIGTERM)


def test_tables_come_before_those_who_use_them_and_the_engine_stops_last(stage: Scene) -> None:
    assert stage.run(ask_to_stop)
    lines = stage.lines()
    assert set(lines[lines.index("done migrate") + 1 :]) >= {"start api", "start worker"}
    assert lines[-1] == "stop temporal"
    assert next(current.phase for current in stage.seen) is Phase.STARTING
    assert stage.seen[-1].phase is Phase.STOPPED
    assert [(part.state, part.exit) for part in stage.seen[-1].processes] == [(Stage.STOPPED, 0)] * 3


def test_the_record_tells_others_what_runs_and_the_endpoint_where(stage: Scene) -> None:
    recorded: list[State | None] = []

    def look(current: State) -> None:
        if current.phase is Phase.READY:
            recorded.append(state.read(stage.home))
        ask_to_stop(current)

    stage.run(look)
    assert recorded[0] is not None
    assert {part.name: part.process.pid for part in recorded[0].processes if part.process} == {
        name: process.pid for name, process in stage.processes.items() if name != "migrate"
    }
    assert '"api": "http://127.0.0.1:8642"' in stage.home.endpoint.read_text()


def test_a_part_that_is_killed_comes_back_and_the_whole_is_degraded_meanwhile(stage: Scene) -> None:
    killed: list[int] = []

    def kill_once(current: State) -> None:
        if current.phase is not Phase.READY:
            return
        if killed:
            os.kill(os.getpid(), signal.SIGTERM)
        else:
            killed.append(stage.processes["worker"].pid)
            stage.processes["worker"].kill()

    assert stage.run(kill_once)
    assert Phase.DEGRADED in [current.phase for current in stage.seen]
    assert {part.name: part.restarts for part in stage.seen[-1].processes} == {"api": 0, "worker": 1, "temporal": 0}
    assert stage.processes["worker"].pid != killed[0]


@pytest.mark.parametrize("name", ["migrate", "temporal"])
def test_a_part_that_cannot_start_ends_all_with_the_end_of_its_log(stage: Scene, name: str) -> None:
    stage.scripts[name] = "import sys; print('no space for tables', file=sys.stderr); sys.exit(78)"
    with pytest.raises(LocalError, match=rf"{name} ended with 78.*\n.*no space for tables[\s\S]*\[PD-4005\]"):
        stage.run(lambda current: None)
    assert all(process.poll() is not None for process in stage.processes.values())
    assert stage.seen[-1].phase is Phase.STOPPED


def test_a_second_request_kills_what_does_not_stop(stage: Scene) -> None:
    stage.scripts["worker"] = PART.replace('(note("stop"), sys.exit(0))', "None").replace(
        "signal.pause()", "[signal.pause() for _ in iter(int, 1)]"
    )

    def twice(current: State) -> None:
        if current.phase in (Phase.READY, Phase.STOPPING):
            os.kill(os.getpid(), signal.SIGINT)

    assert not stage.run(twice)
    assert {part.name: part.exit for part in stage.seen[-1].processes}["worker"] == -9


def test_a_record_that_cannot_be_written_ends_nothing(stage: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(state, "write", full)
    assert stage.run(ask_to_stop)
    assert state.read(stage.home) is None
