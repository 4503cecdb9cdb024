"""One supervised child, with real processes and a clock in the test's hand."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perdure.local.child import Child, ChildSpec
from perdure.local.state import Stage
from tests.support.polling import eventually

SERVE = "import sys; sys.stdin.read()"


class Bench:
    """A child whose command, readiness and clock the test decides."""

    def __init__(self, *commands: str, once: bool = False) -> None:
        self.commands = list(commands)
        self.serves = True
        self.time = 1000.0
        self.processes: list[subprocess.Popen[bytes]] = []
        spec = ChildSpec("part", "no.module", ready=lambda pid: self.serves, grace=5.0, once=once)
        self.child = Child(spec, self._spawn, lambda: self.time, lambda: 0.5)

    def _spawn(self, spec: ChildSpec) -> "subprocess.Popen[bytes]":
        command = self.commands.pop(0) if len(self.commands) > 1 else self.commands[0]
        if command == "fail":
            raise OSError("no more processes")
        process = subprocess.Popen([sys.executable, "-c", command], stdin=subprocess.PIPE)
        self.processes.append(process)
        return process

    def until(self, stage: Stage) -> None:
        def reached() -> bool:
            self.child.tick()
            return self.child.stage is stage

        eventually(reached, 20, f"stage {stage}")

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()


@pytest.fixture
def bench() -> "Iterator[Callable[..., Bench]]":
    made: list[Bench] = []

    def make(*commands: str, once: bool = False) -> Bench:
        made.append(Bench(*commands, once=once))
        return made[-1]

    yield make
    for each in made:
        each.close()


Make = Callable[..., Bench]


def test_a_child_is_ready_only_once_it_serves(bench: Make) -> None:
    part = bench(SERVE)
    part.serves = False
    part.child.start()
    part.child.tick()
    assert part.child.report().state is Stage.STARTING
    part.serves = True
    part.child.tick()
    assert part.child.report().state is Stage.READY
    assert part.child.pause() is None


def test_a_child_that_was_killed_starts_again_when_its_delay_is_over(bench: Make) -> None:
    part = bench(SERVE)
    part.child.start()
    part.until(Stage.READY)
    part.processes[0].kill()
    part.until(Stage.WAITING)
    assert part.child.exit == -9
    assert part.child.pause() == pytest.approx(0.2)
    part.child.tick()
    assert part.child.stage is Stage.WAITING
    part.time += 0.2
    part.until(Stage.READY)
    assert part.child.report().restarts == 1
    assert part.child.report().process.pid == part.processes[1].pid  # type: ignore[union-attr]


def test_a_child_that_never_served_is_given_up_after_three_ends(bench: Make) -> None:
    part = bench("raise SystemExit(5)")
    part.serves = False
    part.child.start()
    for _ in range(3):
        assert part.child.gave_up == ""
        part.until(Stage.WAITING)
        part.time += 60
    assert part.child.gave_up == "part ended with 5 before it was ready (try 3)"


def test_a_child_that_refuses_to_run_is_given_up_at_once(bench: Make) -> None:
    part = bench("raise SystemExit(78)")
    part.serves = False
    part.child.start()
    part.until(Stage.WAITING)
    assert "ended with 78" in part.child.gave_up


def test_a_child_that_once_served_is_never_given_up(bench: Make) -> None:
    part = bench(SERVE, "raise SystemExit(78)")
    part.child.start()
    part.until(Stage.READY)
    part.processes[0].kill()
    part.serves = False
    for _ in range(5):
        part.until(Stage.WAITING)
        part.time += 60
        part.until(Stage.STARTING)
    assert part.child.gave_up == ""
    assert part.child.restarts == 5


def test_a_child_that_runs_and_does_not_serve_in_time_is_killed_and_given_up(bench: Make) -> None:
    part = bench(SERVE)
    part.serves = False
    part.child.start()
    part.time += 121
    part.child.tick()
    assert part.processes[0].poll() == -9
    assert part.child.gave_up == "part was not ready after 120 seconds"


def test_a_start_that_the_system_refuses_counts_as_an_end(bench: Make) -> None:
    part = bench("fail", SERVE)
    part.child.start()
    assert part.child.stage is Stage.WAITING
    part.time += 60
    part.until(Stage.READY)


def test_a_child_that_works_once_is_done_when_it_ends_with_zero(bench: Make) -> None:
    part = bench("pass", once=True)
    part.serves = False
    part.child.start()
    part.until(Stage.STOPPED)
    assert part.child.done


@pytest.mark.parametrize(("hurry", "later"), [(False, 5.1), (True, 0.0)])
def test_a_child_that_ignores_the_request_to_stop_is_killed(bench: Make, hurry: bool, later: float) -> None:
    part = bench("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + SERVE)
    part.child.start()
    part.until(Stage.READY)
    eventually(lambda: _ignores_sigterm(part.processes[0].pid), 10, "the child's handler")
    part.child.ask_to_stop()
    assert not part.child.stopped(hurry=False)
    part.time += later
    eventually(lambda: part.child.stopped(hurry=hurry), 10, "the end of the child")
    assert part.child.exit == -9


@pytest.mark.parametrize(("served", "clean"), [(False, True), (True, False)])
def test_the_request_to_stop_may_end_a_child_outright_only_before_it_serves(
    bench: Make, served: bool, clean: bool
) -> None:
    part = bench(SERVE)
    part.serves = served
    part.child.start()
    part.child.tick()
    part.child.ask_to_stop()
    eventually(lambda: part.child.stopped(hurry=False), 10, "the end of the child")
    assert (part.child.exit, part.child.left_cleanly) == (-15, clean)


def test_a_child_that_waits_for_its_next_start_stops_at_once(bench: Make) -> None:
    part = bench(SERVE)
    part.child.start()
    part.until(Stage.READY)
    part.processes[0].kill()
    part.until(Stage.WAITING)
    part.child.ask_to_stop()
    assert part.child.stopped(hurry=False)
    part.time += 60
    part.child.tick()
    assert len(part.processes) == 1


def _ignores_sigterm(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    mask = next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn"))
    return bool(int(mask, 16) & 1 << 14)
