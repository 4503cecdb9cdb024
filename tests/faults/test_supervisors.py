"""SIGKILL of watchers, supervisors, ranks and launchers, seen by an auditor that reads the jobs' own marks and /proc.

Every witness marks its start and its end, and may leave a daemon with an empty environment. Whatever was killed: each
rank of an attempt has run at most once, nothing of it is left, and its receipt says what was and no more.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from activities.adapters.local import Settings
from definitions.attempt import (
    AttemptLaunch,
    AttemptObservation,
    RankState,
    RestartRule,
    StartError,
    StoppedBy,
    StopRequest,
)
from definitions.states import Mode
from tests.activities.local.world import LocalWorld
from tests.activities.runtime_world import launch_of, lines_of, python, text_of, until_ended, until_running
from tests.support.audit import Auditor
from tests.support.polling import eventually

pytestmark = pytest.mark.faults

STEPS = ("listed", "recorded", "laid-out", "prepared", "rank", "started")
OTHER = """
import sys
from pathlib import Path
from activities.adapters.local import Settings
from definitions.attempt import AttemptLaunch
from tests.activities.local.world import LocalWorld
home, verb, launch, settings = sys.argv[1:]
world = LocalWorld(Path(home), Settings.model_validate_json(settings))
getattr(world.runtime, verb)(AttemptLaunch.model_validate_json(launch))
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[LocalWorld]:
    made = LocalWorld(tmp_path / "home", Settings(gate_within=timedelta(seconds=20)))
    yield made
    made.end()
    eventually(lambda: not made.supervisors(), 20, "no supervisor is left")


@pytest.fixture
def auditor(tmp_path: Path) -> Auditor:
    return Auditor(tmp_path / "marks")


def pid_of(world: LocalWorld, launch: AttemptLaunch, role: str, rank: int = 0) -> int:
    pid: int = json.loads((world.rank(launch.ref, rank) / "identity.json").read_text())[role]["pid"]
    return pid


def kill(world: LocalWorld, launch: AttemptLaunch, *roles: str, rank: int = 0) -> None:
    for pid in [pid_of(world, launch, role, rank) for role in roles]:
        os.kill(pid, signal.SIGKILL)


def receipt(world: LocalWorld, launch: AttemptLaunch, rank: int = 0) -> dict[str, object]:
    found: dict[str, object] = json.loads((world.rank(launch.ref, rank) / "receipt.json").read_text())
    return found


def started(world: LocalWorld, auditor: Auditor, launch: AttemptLaunch, name: str, marks: int) -> None:
    """Launch, and wait until the witnesses have left so many marks."""
    world.runtime.launch(launch)
    eventually(lambda: len(auditor.marks(name)) >= marks, 30, f"{marks} marks of {name}")


def audited(world: LocalWorld, auditor: Auditor, launch: AttemptLaunch, name: str) -> AttemptObservation:
    """The end of an attempt, after the auditor has found nothing that should not be."""
    seen = until_ended(world, launch.ref, 60)
    assert auditor.doubles(name) == []
    assert auditor.orphans() == []
    return seen


@pytest.mark.parametrize(("victim", "writer"), [("watcher", "supervisor"), ("supervisor", "watcher")])
@pytest.mark.parametrize("exit_code", [0, 3])
def test_either_of_a_pair_alone_brings_the_rank_to_its_receipt(
    world: LocalWorld, auditor: Auditor, victim: str, writer: str, exit_code: int
) -> None:
    launch = launch_of(tuple(auditor.command("job", "--seconds", "1.5", "--exit", str(exit_code), "--daemon")))
    started(world, auditor, launch, "job", 2)
    kill(world, launch, victim)
    (rank,) = audited(world, auditor, launch, "job").ranks
    assert (rank.state, rank.exit_code, rank.leftovers) == (RankState.EXITED, exit_code, 1)
    assert receipt(world, launch)["written_by"] == writer
    assert auditor.finished("job")


def test_when_both_are_killed_the_end_stays_unknown_and_nothing_lives_on(world: LocalWorld, auditor: Auditor) -> None:
    launch = launch_of(tuple(auditor.command("job", "--seconds", "600", "--daemon")))
    started(world, auditor, launch, "job", 2)
    kill(world, launch, "watcher", "supervisor")
    (rank,) = audited(world, auditor, launch, "job").ranks
    assert (rank.state, rank.exit_code, rank.signal) == (RankState.LOST, None, None)
    assert receipt(world, launch)["written_by"] == "adapter"


@pytest.mark.parametrize("victim", ["watcher", "supervisor"])
def test_a_stop_under_way_is_carried_through(world: LocalWorld, victim: str) -> None:
    code = "signal.signal(15, lambda *_: print('asked'))\nprint('up')\nwhile True: time.sleep(0.1)"
    launch = launch_of(python(code))
    world.runtime.launch(launch)
    eventually(lambda: text_of(world, launch.ref) == ["up"], 30)
    world.runtime.stop(launch.ref, StopRequest(reason="enough", grace=timedelta(seconds=2)))
    eventually(lambda: "asked" in text_of(world, launch.ref), 30)
    kill(world, launch, victim)
    (rank,) = until_ended(world, launch.ref).ranks
    assert (rank.stopped_by, rank.signal, rank.last_lines) == (StoppedBy.REQUEST, 9, ("up", "asked"))


@pytest.mark.parametrize("victim", ["watcher", "supervisor"])
def test_a_deadline_holds_whoever_is_left(world: LocalWorld, victim: str) -> None:
    launch = launch_of(python("time.sleep(600)"), deadline=datetime.now(UTC) + timedelta(seconds=2))
    world.runtime.launch(launch)
    until_running(world, launch.ref)
    kill(world, launch, victim)
    assert until_ended(world, launch.ref).ranks[0].stopped_by is StoppedBy.TIMEOUT


@pytest.mark.parametrize("round_number", range(8))
def test_a_log_is_whole_when_its_supervisor_is_killed_at_any_moment(world: LocalWorld, round_number: int) -> None:
    code = """
        for n in range(3000):
            os.write(1, b'begin-%d-' % n)
            os.write(1, b'%d-end\\n' % n)
            if n % 20 == 0: time.sleep(0.002)
    """
    launch = launch_of(python(code))
    world.runtime.launch(launch)
    until_running(world, launch.ref)
    time.sleep(random.Random(round_number).uniform(0.02, 0.25))  # the moment of the kill
    kill(world, launch, "supervisor")
    (rank,) = until_ended(world, launch.ref).ranks
    assert (rank.exit_code, receipt(world, launch)["written_by"]) == (0, "watcher")
    assert [line.text for line in lines_of(world, launch.ref)] == [f"begin-{n}-{n}-end" for n in range(3000)]


def test_a_service_restarts_under_whoever_is_left(world: LocalWorld) -> None:
    rule = RestartRule(first_delay=timedelta(seconds=0.1))
    launch = launch_of(python("print('up')\ntime.sleep(600)"), mode=Mode.SERVICE, restart=rule)
    world.runtime.launch(launch)
    eventually(lambda: text_of(world, launch.ref).count("up") == 1, 30)
    kill(world, launch, "supervisor")
    kill(world, launch, "command")
    eventually(lambda: text_of(world, launch.ref).count("up") == 2, 30)
    eventually(lambda: world.runtime.observe(launch.ref).ranks[0].restarts == 1)
    world.runtime.stop(launch.ref, StopRequest(reason="enough", grace=timedelta(0)))
    assert until_ended(world, launch.ref).ranks[0].stopped_by is StoppedBy.REQUEST


@pytest.mark.parametrize("victims", [("command",), ("watcher",), ("supervisor",), ("watcher", "supervisor")])
def test_a_kill_in_a_gang_leaves_no_half_of_it(world: LocalWorld, auditor: Auditor, victims: tuple[str, ...]) -> None:
    launch = launch_of(tuple(auditor.command("job", "--seconds", "3", "--daemon")), nodes=3)
    started(world, auditor, launch, "job", 6)
    kill(world, launch, *victims, rank=1)
    seen = audited(world, auditor, launch, "job")
    others = [(rank.exit_code, rank.stopped_by) for rank in seen.ranks if rank.rank != 1]
    if len(victims) == 1 and victims[0] != "command":
        assert seen.ranks[1].exit_code == 0
        assert others == [(0, None)] * 2
    else:
        assert [stopped_by for _, stopped_by in others] == [StoppedBy.GANG] * 2
        assert (seen.ranks[1].state is RankState.LOST) == (victims != ("command",))


def die_at(hook: str, world: LocalWorld, launch: AttemptLaunch, verb: str, folder: Path) -> None:
    """Launch or collect in a process of its own, rank after rank, that SIGKILLs itself at a hook."""
    folder.mkdir()
    (folder / hook).touch()
    command = [sys.executable, "-c", OTHER, str(world.home), verb, launch.model_dump_json()]
    command.append(world.settings.model_dump_json())
    done = subprocess.run(command, env={**os.environ, "PERDURE_CRASH_DIR": str(folder)}, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    assert (folder / f"{hook}.fired").exists()


@pytest.mark.parametrize("step", STEPS)
def test_a_launcher_killed_at_any_step_is_followed_by_any_other(
    world: LocalWorld, auditor: Auditor, tmp_path: Path, step: str
) -> None:
    launch = launch_of(tuple(auditor.command("job", "--seconds", "0.5")), nodes=2)
    die_at(f"local-launch:{step}", world, launch, "launch", tmp_path / "crash")
    world.runtime.launch(launch)
    seen = audited(world, auditor, launch, "job")
    assert [rank.exit_code for rank in seen.ranks] == [0, 0]
    assert auditor.finished("job", ranks=2)
    assert len([mark for mark in auditor.marks("job") if mark.what == "start"]) == 2


def test_ranks_whose_launcher_is_gone_start_without_it(world: LocalWorld, auditor: Auditor, tmp_path: Path) -> None:
    launch = launch_of(tuple(auditor.command("job", "--seconds", "0.5")), nodes=2)
    die_at("local-launch:started", world, launch, "launch", tmp_path / "crash")
    assert [rank.exit_code for rank in audited(world, auditor, launch, "job").ranks] == [0, 0]


def test_half_a_gang_whose_launcher_is_gone_ends_without_having_run(auditor: Auditor, tmp_path: Path) -> None:
    settings = Settings(gate_within=timedelta(seconds=1), together=1)
    world = LocalWorld(tmp_path / "home", settings)
    launch = launch_of(tuple(auditor.command("job", "--seconds", "0.5")), nodes=3)
    die_at("local-launch:rank", world, launch, "launch", tmp_path / "crash")
    seen = audited(world, auditor, launch, "job")
    assert [rank.start_error for rank in seen.ranks] == [StartError.GATE] * 3
    assert auditor.marks("job") == []
    assert world.runtime.launch(launch).ended
    assert world.supervisors() == []


@pytest.mark.parametrize("role", ["watcher", "supervisor", "command"])
def test_a_kill_at_the_gate_runs_nothing_twice(auditor: Auditor, tmp_path: Path, role: str) -> None:
    """The first rank is killed while it waits for the others, then the launch is completed."""
    world = LocalWorld(tmp_path / "home", Settings(together=1))
    launch = launch_of(tuple(auditor.command("job", "--seconds", "0.5")), nodes=2)
    die_at("local-launch:rank", world, launch, "launch", tmp_path / "crash")
    eventually(lambda: (world.rank(launch.ref) / "identity.json").exists(), 20)
    kill(world, launch, role)
    world.runtime.launch(launch)
    seen = audited(world, auditor, launch, "job")
    starts = [mark.rank for mark in auditor.marks("job") if mark.what == "start"]
    if role == "command":
        assert starts == []
        assert all(rank.exit_code is None for rank in seen.ranks)
    else:
        assert sorted(starts) == [0, 1]
        assert [rank.exit_code for rank in seen.ranks] == [0, 0]
    eventually(lambda: world.supervisors() == [], 20)


def test_a_rank_whose_pair_dies_at_the_gate_and_that_nobody_starts_again_is_given_up(tmp_path: Path) -> None:
    world = LocalWorld(tmp_path / "home", Settings(together=1, gate_within=timedelta(seconds=2)))
    launch = launch_of(python("open(run + '/ran', 'w')"), nodes=2)
    die_at("local-launch:rank", world, launch, "launch", tmp_path / "crash")
    eventually(lambda: (world.rank(launch.ref) / "identity.json").exists(), 20)
    kill(world, launch, "watcher", "supervisor")
    seen = until_ended(world, launch.ref)
    assert [rank.start_error for rank in seen.ranks] == [StartError.GATE] * 2
    assert world.read(launch.ref, "ran") is None


@pytest.mark.parametrize("hook", ["local-collect:kept", "local-collect:written"])
def test_a_collector_that_is_killed_is_followed_by_any_other(world: LocalWorld, tmp_path: Path, hook: str) -> None:
    launch = launch_of(python("print('kept')"))
    world.runtime.launch(launch)
    until_ended(world, launch.ref)
    die_at(hook, world, launch, "collect", tmp_path / "crash")
    collected = world.runtime.collect(launch)
    assert collected.log_bytes > 0
    assert [line.text for line in world.logs.read(launch.ref, 0)] == ["kept"]
    assert list((world.home / "runs" / ".active").iterdir()) == []
