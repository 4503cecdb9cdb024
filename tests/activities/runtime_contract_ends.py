"""Runtime contract: how attempts end, and what is then known of them."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from definitions.attempt import OomEvidence, RankState, StartError, StoppedBy, StopRequest
from tests.activities.runtime_world import World, launch_of, python, run, until_ended, until_logged, until_running

FOREVER = "time.sleep(600)"
DAEMON = """
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)", sys.argv[1]], {})
        os._exit(0)
    os.wait()
"""


class EndsContract:
    """How attempts end, and what is then known of them."""

    @pytest.mark.parametrize(
        ("argv", "exit_code", "signal"),
        [
            (python("print('done')"), 0, None),
            (python("sys.exit(3)"), 3, None),
            (("sh", "-c", "false; true"), 0, None),
            (("sh", "-c", "exit 137"), 137, None),
            (python("os.kill(os.getpid(), signal.SIGKILL)"), None, 9),
            (python("os.kill(os.getpid(), signal.SIGSEGV)"), None, 11),
        ],
        ids=["0", "3", "false-true", "shell-137", "SIGKILL", "SIGSEGV"],
    )
    def test_how_a_command_ended_is_told_as_it_was(
        self, world: World, argv: tuple[str, ...], exit_code: int | None, signal: int | None
    ) -> None:
        (rank,) = run(world, launch_of(argv)).ranks
        assert (rank.state, rank.exit_code, rank.signal) == (RankState.EXITED, exit_code, signal)
        assert (rank.stopped_by, rank.start_error, rank.oom) == (None, None, OomEvidence.NONE)
        assert rank.started_at is not None
        assert rank.ended_at is not None
        assert rank.started_at <= rank.ended_at

    @pytest.mark.parametrize(
        ("argv", "error", "code"),
        [
            (("no-such-command", "x"), StartError.NOT_FOUND, 127),
            (("/etc/passwd",), StartError.NOT_EXECUTABLE, 126),
        ],
    )
    def test_a_command_that_cannot_be_run_says_so(
        self, world: World, argv: tuple[str, ...], error: StartError, code: int
    ) -> None:
        (rank,) = run(world, launch_of(argv)).ranks
        assert (rank.start_error, rank.exit_code) == (error, code)
        assert argv[0] in rank.detail

    def test_a_shell_that_finds_no_command_ran_itself(self, world: World) -> None:
        (rank,) = run(world, launch_of(("sh", "-c", "no-such-command"))).ranks
        assert (rank.start_error, rank.exit_code) == (None, 127)

    def test_the_last_twenty_lines_of_a_rank_come_with_its_end(self, world: World) -> None:
        (rank,) = run(world, launch_of(python("for n in range(50): print('line', n)\nsys.exit(1)"))).ranks
        assert rank.last_lines == tuple(f"line {n}" for n in range(30, 50))

    def test_one_of_eight_ranks_that_fails_is_named_and_ends_the_others_within_five_seconds(self, world: World) -> None:
        code = f"""
            if rank == '3':
                while len([n for n in os.listdir(run) if n.startswith('up-')]) < 7: time.sleep(0.05)
                print('it broke')
                sys.exit(7)
            open(run + '/up-' + rank, 'w').close()
            {FOREVER}
        """
        launch = launch_of(python(code), nodes=8, grace=timedelta(seconds=60))
        seen = run(world, launch)
        broken = seen.ranks[3]
        assert (broken.exit_code, broken.stopped_by, broken.last_lines) == (7, None, ("it broke",))
        assert broken.ended_at is not None
        for rank in (r for r in seen.ranks if r.rank != 3):
            assert rank.stopped_by is StoppedBy.GANG
            assert rank.ended_at is not None
            assert rank.ended_at - broken.ended_at < timedelta(seconds=5)

    def test_ranks_that_end_well_end_nobody(self, world: World) -> None:
        seen = run(world, launch_of(python("time.sleep(0.6 * int(rank))"), nodes=3))
        assert [(r.exit_code, r.stopped_by) for r in seen.ranks] == [(0, None)] * 3

    @pytest.mark.parametrize("how", ["by itself", "by request"])
    def test_a_daemon_with_an_empty_environment_does_not_outlive_its_rank(self, world: World, how: str) -> None:
        marker = uuid.uuid4().hex
        launch = launch_of(python(DAEMON + ("    print('up'); " + FOREVER if how != "by itself" else ""), marker))
        world.runtime.launch(launch)
        if how == "by request":
            until_logged(world, launch.ref, "up")
            world.runtime.stop(launch.ref, StopRequest(reason="enough", grace=timedelta(seconds=5)))
        (rank,) = until_ended(world, launch.ref).ranks
        assert world.living(marker) == []
        if how == "by itself":
            assert (rank.exit_code, rank.leftovers) == (0, 1)

    def test_a_deadline_ends_an_attempt(self, world: World) -> None:
        soon = datetime.now(UTC) + timedelta(seconds=1.5)
        (rank,) = run(world, launch_of(python(FOREVER), deadline=soon)).ranks
        assert (rank.stopped_by, rank.signal) == (StoppedBy.TIMEOUT, 15)
        assert rank.ended_at is not None
        assert rank.ended_at > soon

    def test_a_time_limit_counts_from_when_the_ranks_run_and_the_job_is_told_the_deadline(self, world: World) -> None:
        code = "print(os.environ['PERDURE_DEADLINE'], flush=True); time.sleep(600)"
        limit = timedelta(seconds=1.5)
        (rank,) = run(world, launch_of(python(code), time_limit=limit)).ranks
        assert (rank.stopped_by, rank.signal) == (StoppedBy.TIMEOUT, 15)
        (told,) = rank.last_lines
        assert rank.started_at is not None
        assert rank.ended_at is not None
        assert abs(datetime.fromisoformat(told) - rank.started_at - limit) < timedelta(seconds=1)
        assert rank.ended_at > datetime.fromisoformat(told)

    def test_a_deadline_that_is_moved_counts_and_the_job_is_told(self, world: World) -> None:
        code = """
            while not os.path.exists(run + '/control.json'): time.sleep(0.05)
            print(json.load(open(run + '/control.json'))['deadline'])
            time.sleep(600)
        """
        launch = launch_of(python(code), deadline=datetime.now(UTC) + timedelta(hours=1))
        world.runtime.launch(launch)
        until_running(world, launch.ref)
        soon = datetime.now(UTC) + timedelta(seconds=2)
        world.runtime.control(launch.ref, "extend-1", checkpoint=False, deadline=soon)
        (rank,) = until_ended(world, launch.ref).ranks
        assert rank.stopped_by is StoppedBy.TIMEOUT
        (told,) = rank.last_lines
        assert abs(datetime.fromisoformat(told) - soon) < timedelta(milliseconds=1)

    def test_silence_in_the_progress_file_is_a_hang_and_reports_are_none(self, world: World) -> None:
        code = """
            for step in range(int(sys.argv[1])):
                with open(run + '/progress.jsonl', 'a') as file: file.write('{}\\n')
                time.sleep(0.5)
            time.sleep(600 if sys.argv[2] == 'hang' else 0)
        """
        limit = timedelta(seconds=1.5)
        hanging, working = launch_of(python(code, "3", "hang"), hang_after=limit), launch_of(python(code, "6", ""))
        working = working.model_copy(update={"hang_after": limit})
        world.runtime.launch(working)
        (hung,) = run(world, hanging).ranks
        assert hung.stopped_by is StoppedBy.HANG
        assert "progress.jsonl" in hung.detail
        (well,) = until_ended(world, working.ref).ranks
        assert (well.exit_code, well.stopped_by) == (0, None)
