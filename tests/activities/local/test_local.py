"""What is the local runtime's own: folders, snapshots, secrets in memory, adoption, shutdown, lack of memory."""

import json
import os
import select
import shutil
import signal
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from activities.adapters.local import LocalRuntime, Settings
from activities.adapters.local.layout import key
from activities.adapters.local.shim import files
from activities.adapters.local.shim.procs import boot_id
from activities.ports import PortError
from activities.snapshots import store_upload
from definitions.attempt import (
    AttemptLaunch,
    OomEvidence,
    RankState,
    SecretFile,
    SecretRef,
    SeedCheckpoint,
    StoppedBy,
    Workdir,
)
from tests.activities.local.world import LocalWorld
from tests.activities.runtime_world import (
    end,
    launch_of,
    python,
    run,
    text_of,
    until_ended,
    until_logged,
    until_running,
)
from tests.support.archives import snapshot_of
from tests.support.polling import eventually

FOREVER = "print('up')\ntime.sleep(600)"
LIMITS = ("memory.max", "memory.limit_in_bytes")


def identity(world: LocalWorld, launch: AttemptLaunch, rank: int = 0) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = json.loads((world.rank(launch.ref, rank) / "identity.json").read_text())
    return found


def kill_pair(world: LocalWorld, launch: AttemptLaunch, rank: int = 0) -> None:
    """SIGKILL to both supervisors of a rank."""
    known = identity(world, launch, rank)
    for role in ("watcher", "supervisor"):
        os.kill(known[role]["pid"], signal.SIGKILL)


def next_attempt(launch: AttemptLaunch) -> AttemptLaunch:
    ref = launch.ref.model_copy(update={"number": 2, "token": "f" * 32})
    return launch.model_copy(update={"ref": ref})


def test_every_attempt_runs_the_bytes_that_were_submitted(world: LocalWorld) -> None:
    main = b"import os\nprint(open('data').read(), os.getcwd().endswith('/src'))\nopen('data', 'w').write('new')"
    archive, sha256 = snapshot_of({"src/main.py": main, "src/data": b"old"})
    store_upload(world.objects, "t", "p", sha256, archive)
    launch = launch_of(("python3", "main.py"), workdir=Workdir(mode="snapshot", sha256=sha256, subfolder="src"))
    for attempt in (launch, next_attempt(launch)):
        run(world, attempt)
        assert text_of(world, attempt.ref) == ["old True"]
        world.runtime.collect(attempt)
        assert not (world.attempt(attempt.ref) / "work").exists()


def test_a_snapshot_that_is_not_there_or_damaged_keeps_the_attempt_from_starting(world: LocalWorld) -> None:
    launch = launch_of(python("open(run + '/ran', 'w')"), workdir=Workdir(mode="snapshot", sha256="0" * 64))
    with pytest.raises(PortError) as refused:
        world.runtime.launch(launch)
    assert (refused.value.permanent, refused.value.code) == (True, "PD-3404")
    assert world.read(launch.ref, "ran") is None
    world.runtime.collect(launch)


def test_a_live_folder_is_used_itself(world: LocalWorld, tmp_path: Path) -> None:
    launch = launch_of(python("open('made', 'w').write(os.getcwd())"), workdir=Workdir(mode="live", path=str(tmp_path)))
    run(world, launch)
    assert (tmp_path / "made").read_text() == str(tmp_path)
    world.runtime.collect(launch)
    assert (tmp_path / "made").exists()


def test_a_job_may_start_from_another_jobs_checkpoint(world: LocalWorld) -> None:
    folder = f"checkpoints/step-0000000007.{'a' * 32}"
    source = world.home / "runs/t/p/other/run" / folder
    (source / "rank-0").mkdir(parents=True)
    (source / "rank-0" / "weights").write_text("w7")
    code = "print(open(os.environ['PERDURE_RESUME_FROM'] + '/rank-0/weights').read())"
    seed = SeedCheckpoint(job="other", folder=folder, step=7)
    launch = launch_of(python(code), seed_checkpoint=seed, resume_from=folder, resume_step=7)
    run(world, launch)
    assert text_of(world, launch.ref) == ["w7"]


@pytest.mark.parametrize("folder", ["checkpoints/step-0000000009.none", "checkpoints/../..", "/etc", "checkpoints/"])
def test_a_checkpoint_that_is_not_there_keeps_the_attempt_from_starting(world: LocalWorld, folder: str) -> None:
    launch = launch_of(python(""), seed_checkpoint=SeedCheckpoint(job="other", folder=folder, step=9))
    with pytest.raises(PortError) as refused:
        world.runtime.launch(launch)
    assert (refused.value.permanent, refused.value.code) == (True, "PD-3011")
    world.runtime.collect(launch)


def test_what_an_earlier_attempt_was_asked_does_not_reach_the_next(world: LocalWorld) -> None:
    launch = launch_of(python(FOREVER))
    world.runtime.launch(launch)
    until_running(world, launch.ref)
    world.runtime.control(launch.ref, "save", checkpoint=True, deadline=None)
    assert world.read(launch.ref, "control.json") is not None
    end(world, launch)
    again = next_attempt(launch)
    world.runtime.launch(again)
    assert world.read(again.ref, "control.json") is None
    end(world, again)


def test_secrets_are_in_memory_only_and_gone_with_the_rank(world: LocalWorld) -> None:
    world.set_secret("key", "sk-0123456789")
    launch = launch_of(
        python("print(os.environ['PERDURE_SECRETS_DIR'])\n" + FOREVER),
        env={"KEY": SecretRef(secret="key")},
        secret_files=(SecretFile(secret="key", path="key"),),
    )
    world.runtime.launch(launch)
    until_logged(world, launch.ref, "up")
    folder = Path(text_of(world, launch.ref)[0])
    assert folder.is_relative_to("/dev/shm") or folder.is_relative_to(world.home)
    assert (oct(folder.stat().st_mode)[-3:], (folder / "key").read_text()) == ("700", "sk-0123456789")
    for role in ("watcher", "supervisor"):
        process = Path("/proc", str(identity(world, launch)[role]["pid"]))
        assert b"sk-0123456789" not in (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
    end(world, launch)
    assert not folder.exists()
    held = [path for path in world.home.rglob("*") if path.is_file() and b"sk-0123456789" in path.read_bytes()]
    assert held == []


def test_a_rank_that_lost_both_supervisors_is_ended_and_its_end_is_not_guessed(world: LocalWorld) -> None:
    launch = launch_of(python(FOREVER, "both-killed"))
    world.runtime.launch(launch)
    until_logged(world, launch.ref, "up")
    kill_pair(world, launch)
    (rank,) = until_ended(world, launch.ref).ranks
    assert (rank.state, rank.exit_code, rank.signal, rank.node_lost) == (RankState.LOST, None, None, False)
    assert (rank.leftovers, rank.last_lines) == (1, ("up",))
    assert world.living(launch.ref.job) == []
    assert world.runtime.launch(launch).ended


def test_after_a_restart_of_the_machine_ranks_are_lost_with_their_node_at_their_last_sign(world: LocalWorld) -> None:
    launch = launch_of(python(FOREVER))
    world.runtime.launch(launch)
    until_logged(world, launch.ref, "up")
    command = identity(world, launch)["command"]["pid"]
    kill_pair(world, launch)
    os.kill(command, signal.SIGKILL)
    eventually(lambda: not world.supervisors())
    written = datetime.fromtimestamp((world.rank(launch.ref) / "log/000001.log").stat().st_mtime, UTC)
    file = world.rank(launch.ref) / "identity.json"
    file.write_text(file.read_text().replace(boot_id(), "before-the-restart"))
    os.utime(file, (0, 0))
    (rank,) = until_ended(world, launch.ref).ranks
    assert (rank.state, rank.node_lost) == (RankState.LOST, True)
    assert rank.ended_at is not None
    assert abs(rank.ended_at - written) < timedelta(milliseconds=1)


def test_one_lost_rank_ends_its_gang_though_nobody_looks(world: LocalWorld) -> None:
    launch = launch_of(python(FOREVER), nodes=4)
    world.runtime.launch(launch)
    for rank in range(4):
        until_logged(world, launch.ref, "up", rank)
    kill_pair(world, launch, 2)
    receipts = [world.rank(launch.ref, rank) / "receipt.json" for rank in (0, 1, 3)]
    eventually(lambda: all(path.exists() for path in receipts), 10, "the peers end by themselves")
    seen = until_ended(world, launch.ref)
    assert [r.stopped_by for r in seen.ranks] == [StoppedBy.GANG, StoppedBy.GANG, None, StoppedBy.GANG]
    assert seen.ranks[2].state is RankState.LOST


@pytest.mark.parametrize("role", ["watcher", "supervisor"])
def test_a_service_managers_signal_ends_a_rank_in_good_order(world: LocalWorld, role: str) -> None:
    launch = launch_of(python("signal.signal(15, lambda *_: (print('saved'), sys.exit(0)))\n" + FOREVER))
    world.runtime.launch(launch)
    until_logged(world, launch.ref, "up")
    os.kill(identity(world, launch)[role]["pid"], signal.SIGTERM)
    (rank,) = until_ended(world, launch.ref).ranks
    assert (rank.stopped_by, rank.last_lines) == (StoppedBy.SHUTDOWN, ("up", "saved"))


def test_a_kill_for_lack_of_memory_is_told_as_far_as_this_machine_lets_us_know(world: LocalWorld) -> None:
    code = """
        while not os.path.exists(run + '/go'): time.sleep(0.05)
        hoard = []
        while True: hoard.append(bytearray(os.urandom(1 << 20)))
    """
    launch = launch_of(python(code))
    world.runtime.launch(launch)
    until_running(world, launch.ref)
    groups = [Path(str(folder)) for folder in identity(world, launch)["cgroups"]]
    limit = next((group / name for group in groups for name in LIMITS if (group / name).exists()), None)
    if limit is None:
        # Nothing here counts for this rank alone: a SIGKILL then proves nothing.
        os.kill(identity(world, launch)["command"]["pid"], signal.SIGKILL)
    else:
        limit.write_text(str(48 << 20))
    folder = world.runtime.run_folder(launch.ref)
    assert folder is not None
    (folder / "go").touch()
    (rank,) = until_ended(world, launch.ref).ranks
    assert (rank.signal, rank.oom) == (9, OomEvidence.NONE if limit is None else OomEvidence.CONFIRMED)
    assert not any(group.exists() for group in groups)


def test_processes_whose_folder_was_removed_are_ended_too(world: LocalWorld) -> None:
    marker = uuid.uuid4().hex
    launch = launch_of(python(FOREVER, marker))
    world.runtime.launch(launch)
    until_logged(world, launch.ref, "up")
    shutil.rmtree(world.attempt(launch.ref))
    eventually(lambda: not world.living(marker) and not world.supervisors(), 20, "nothing of it is left")
    (world.home / "runs" / ".active" / key(launch.ref)).unlink()


def test_a_receipt_that_cannot_be_read_is_an_end_of_which_nothing_is_known(world: LocalWorld) -> None:
    launch = launch_of(python(""))
    run(world, launch)
    (world.rank(launch.ref) / "receipt.json").write_text("{")
    (rank,) = world.runtime.observe(launch.ref).ranks
    assert rank.state is RankState.LOST
    assert "cannot be read" in rank.detail


def test_a_receipt_that_comes_while_it_is_looked_for_is_read(
    world: LocalWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = launch_of(python(""))
    run(world, launch)
    receipt = world.rank(launch.ref) / "receipt.json"
    late, read = receipt.rename(receipt.with_name("late")), Path.read_bytes

    def comes(path: Path) -> bytes:
        try:
            return read(path)
        finally:
            if path == receipt and late.exists():
                late.rename(receipt)

    monkeypatch.setattr(Path, "read_bytes", comes)
    (rank,) = world.runtime.observe(launch.ref).ranks
    assert (rank.state, rank.exit_code) == (RankState.EXITED, 0)


@pytest.mark.parametrize(
    ("python_path", "words"), [("/no/such/python", "could not be started"), ("/bin/false", "ended without an answer")]
)
def test_supervisors_that_cannot_be_started_are_told_of_and_started_by_a_repeat(
    world: LocalWorld, python_path: str, words: str
) -> None:
    launch = launch_of(python("print('up')"))
    broken = LocalWorld(world.home, Settings(python=python_path))
    with pytest.raises(PortError, match=words) as failed:
        broken.runtime.launch(launch)
    assert (failed.value.permanent, failed.value.code) == (False, "PD-3002")
    assert run(world, launch).ranks[0].exit_code == 0


def test_supervisors_tell_of_an_end_through_the_pipe(world: LocalWorld) -> None:
    path = world.home / "runs" / ".notify"
    os.mkfifo(path)
    pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    launch = launch_of(python(""))
    run(world, launch)
    assert select.select([pipe], [], [], 30.0)[0] == [pipe]  # the receipt is written before anybody is told
    assert os.read(pipe, 4096).decode() == key(launch.ref) + "\n"
    os.close(pipe)


def test_another_process_sees_and_stops_what_the_first_one_launched(world: LocalWorld) -> None:
    launch = launch_of(python(FOREVER))
    world.runtime.launch(launch)
    second = LocalWorld(world.home)
    assert isinstance(second.runtime, LocalRuntime)
    until_running(second, launch.ref)
    assert second.runtime.launch(launch).running
    end(second, launch)


def test_supervisors_keep_nothing_of_the_control_planes_environment(
    world: LocalWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERDURE_API_KEY", "of-the-control-plane")
    launch = launch_of(python(FOREVER))
    world.runtime.launch(launch)
    until_running(world, launch.ref)
    for role in ("watcher", "supervisor", "command"):
        environment = Path("/proc", str(identity(world, launch)[role]["pid"]), "environ").read_bytes()
        assert b"of-the-control-plane" not in environment
    end(world, launch)


def test_an_attempts_files_are_private_and_what_the_job_makes_is_not_our_business(world: LocalWorld) -> None:
    launch = launch_of(python("os.mkdir(run + '/made')"))
    run(world, launch)
    for path in (world.home / "runs", world.attempt(launch.ref), world.rank(launch.ref)):
        assert oct(path.stat().st_mode)[-3:] == "700"
    for path in world.rank(launch.ref).rglob("*.*"):
        assert oct(path.stat().st_mode)[-3:] == "600"
    folder = world.runtime.run_folder(launch.ref)
    assert folder is not None
    assert oct((folder / "made").stat().st_mode)[-3:] == "755"


def test_a_port_that_a_job_names_is_the_one_it_gets_and_others_are_its_own(world: LocalWorld) -> None:
    code = "print(os.environ['MASTER_PORT'])"
    named, first, second = launch_of(python(code), master_port=29500), launch_of(python(code)), launch_of(python(code))
    for launch in (named, first, second):
        run(world, launch)
    got = [text_of(world, launch.ref)[0] for launch in (named, first, second)]
    assert got[0] == "29500"
    assert len(set(got)) == 3
    for launch in (named, first, second):
        world.runtime.collect(launch)
    assert list((world.home / "runs" / ".ports").iterdir()) == []


def test_nothing_of_an_attempt_that_was_collected_is_looked_after_any_more(world: LocalWorld) -> None:
    launch = launch_of(python(""))
    run(world, launch)
    active = world.home / "runs" / ".active" / key(launch.ref)
    assert files.read_json(str(active)) == launch.ref.model_dump()
    world.runtime.collect(launch)
    assert not active.exists()
