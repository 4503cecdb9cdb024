"""Runtime contract: starting once, all ranks or none, in a clean environment."""

import json
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from activities.ports import PortError
from definitions.attempt import StartError
from tests.activities.runtime_world import (
    World,
    end,
    launch_of,
    new_ref,
    python,
    run,
    text_of,
    until_ended,
    until_logged,
    until_running,
)

FOREVER = "time.sleep(600)"


class LaunchContract:
    """Starting: once, all or none, in a clean environment."""

    def test_an_attempt_that_is_launched_again_goes_on_as_it_is(self, world: World) -> None:
        launch = launch_of(python(f"print('started', flush=True)\n{FOREVER}"))
        world.runtime.launch(launch)
        until_logged(world, launch.ref, "started")
        assert world.runtime.launch(launch).running
        end(world, launch)
        assert world.runtime.launch(launch).ended
        assert text_of(world, launch.ref) == ["started"]

    @pytest.mark.parametrize("ranks", [1, 3])
    def test_thirty_launches_at_once_start_it_once(self, world: World, ranks: int) -> None:
        code = "open(run + '/starts-' + rank, 'a').write('x')\ntime.sleep(0.5)"
        launch = launch_of(python(code), nodes=ranks)
        with ThreadPoolExecutor(30) as pool:
            list(pool.map(world.runtime.launch, [launch] * 30))
        assert [r.exit_code for r in until_ended(world, launch.ref).ranks] == [0] * ranks
        assert [world.read(launch.ref, f"starts-{rank}") for rank in range(ranks)] == ["x"] * ranks

    def test_all_ranks_start_or_none_does(self, world: World) -> None:
        launch = launch_of(python("open(run + '/ran-' + rank, 'w')"), nodes=3, workdir=world.missing_workdir)
        try:
            world.runtime.launch(launch)
        except PortError as error:
            refused = error.permanent
        else:
            errors = {rank.start_error for rank in until_ended(world, launch.ref).ranks}
            refused = errors <= {StartError.WORKDIR, StartError.GATE}
        assert refused
        assert [world.read(launch.ref, f"ran-{rank}") for rank in range(3)] == [None] * 3
        world.runtime.collect(launch)

    def test_ranks_find_each_other(self, world: World) -> None:
        code = """
            import socket
            place = (os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT']))
            if rank == '0':
                server = socket.create_server(place)
                peers = [server.accept()[0] for _ in range(int(os.environ['WORLD_SIZE']) - 1)]
                print(*sorted(peer.recv(8).decode() for peer in peers))
            else:
                while True:
                    try: peer = socket.create_connection(place); break
                    except OSError: time.sleep(0.05)
                peer.send(('%8s' % os.environ['RANK']).encode())
        """
        launch = launch_of(python(code), nodes=2, processes_per_node=2)
        assert [rank.exit_code for rank in run(world, launch).ranks] == [0] * 4
        assert text_of(world, launch.ref)[0].split() == ["1", "2", "3"]

    def test_a_job_gets_a_clean_environment_in_which_the_users_values_win(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("PERDURE_HOME", "PERDURE_API_KEY", "DATABASE_URL", "SOME_TOKEN"):
            monkeypatch.setenv(name, "of the control plane")
        code = "print(json.dumps(dict(os.environ)))"
        launch = launch_of(
            python(code),
            env={"LANG": "de_DE.UTF-8", "RANK": "77", "PERDURE_RANK": "77", "MINE": "yes"},
            resume_from="checkpoints/step-0000000007.abc",
            resume_step=7,
            checkpoint_every=timedelta(minutes=5),
        )
        run(world, launch)
        (line,) = text_of(world, launch.ref)
        told = json.loads(line)
        assert "of the control plane" not in told.values()
        assert (told["LANG"], told["MINE"]) == ("de_DE.UTF-8", "yes")
        assert (told["RANK"], told["PERDURE_RANK"], told["WORLD_SIZE"]) == ("0", "0", "1")
        assert {"PATH", "HOME", "USER", "TMPDIR"} <= set(told)
        ref = launch.ref
        assert (told["PERDURE_JOB"], told["PERDURE_ATTEMPT"]) == (ref.job, "1")
        assert told["PERDURE_ATTEMPT_TOKEN"] == ref.token
        assert told["PERDURE_RESUME_FROM"] == told["PERDURE_RUN_DIR"] + "/checkpoints/step-0000000007.abc"
        assert (told["PERDURE_RESUME_STEP"], told["PERDURE_CHECKPOINT_EVERY"]) == ("7", "300")

    def test_a_later_attempt_never_runs_beside_an_earlier_one(self, world: World) -> None:
        """Collecting the earlier one may have been given up, before anything of it was ended."""
        marker = uuid.uuid4().hex
        first = launch_of(python("print('up')\ntime.sleep(600)", marker))
        world.runtime.launch(first)
        until_running(world, first.ref)
        ref = first.ref.model_copy(update={"number": 2, "token": uuid.uuid4().hex})
        second = first.model_copy(update={"ref": ref, "argv": python("print('second')")})
        assert run(world, second).ended
        assert world.living(marker) == []
        assert world.runtime.observe(first.ref).ended
        assert text_of(world, ref) == ["second"]
        world.runtime.collect(second)
        world.runtime.forget(ref)

    def test_a_launch_after_the_attempt_was_collected_starts_nothing(self, world: World) -> None:
        """A try that stood still for so long that everybody had given it up."""
        launch = launch_of(python("print('up')"))
        world.runtime.collect(launch)
        assert world.runtime.launch(launch).ended
        world.runtime.forget(launch.ref)
        assert not world.runtime.observe(launch.ref).exists

    def test_an_attempt_that_nobody_launched_is_not_there(self, world: World) -> None:
        seen = world.runtime.observe(new_ref())
        assert (seen.exists, seen.ended, seen.ranks) == (False, False, ())

    def test_whoever_watches_is_told_of_the_end_and_a_new_watcher_again(self, world: World) -> None:
        launch = launch_of(python("time.sleep(0.3)"), nodes=2)
        world.runtime.launch(launch)
        for _ in range(2):
            stop = threading.Event()
            for seen in world.runtime.changes(stop):
                if seen.ref == launch.ref and seen.ended:
                    stop.set()
        world.runtime.collect(launch)
