"""Runtime contract: requests to end, requests of a running attempt, and services that run on."""

import uuid
from datetime import UTC, datetime, timedelta

from definitions.attempt import RankState, Readiness, RestartRule, StoppedBy, StopRequest
from definitions.states import Mode
from tests.activities.runtime_world import (
    World,
    end,
    launch_of,
    python,
    run,
    states,
    until_ended,
    until_logged,
    until_running,
)
from tests.support.polling import eventually

FOREVER = "time.sleep(600)"


class RequestContract:
    """Requests to end, and requests of a running attempt."""

    def test_a_stop_lets_a_job_end_in_its_own_way_within_the_grace(self, world: World) -> None:
        code = """
            def end(*_):
                print('saving'); time.sleep(0.5); print('saved'); sys.exit(0)
            signal.signal(signal.SIGTERM, end)
            print('up')
            while True: time.sleep(0.1)
        """
        launch = launch_of(python(code))
        world.runtime.launch(launch)
        until_logged(world, launch.ref, "up")
        world.runtime.stop(launch.ref, StopRequest(reason="cancelled", grace=timedelta(seconds=20)))
        (rank,) = until_ended(world, launch.ref).ranks
        assert (rank.exit_code, rank.stopped_by) == (0, StoppedBy.REQUEST)
        assert rank.last_lines == ("up", "saving", "saved")

    def test_a_child_that_needs_the_grace_gets_it_when_its_shell_is_gone_at_once(self, world: World) -> None:
        child = python("""
            def end(*_):
                time.sleep(0.5); print('saved'); sys.exit(0)
            signal.signal(signal.SIGTERM, end)
            print('up')
            while True: time.sleep(0.1)
        """)[-1]
        launch = launch_of(("sh", "-c", 'python3 -c "$CODE"; true'), env={"CODE": child})
        world.runtime.launch(launch)
        until_logged(world, launch.ref, "up")
        world.runtime.stop(launch.ref, StopRequest(reason="cancelled", grace=timedelta(seconds=20)))
        (rank,) = until_ended(world, launch.ref).ranks
        assert (rank.stopped_by, rank.last_lines, rank.leftovers) == (StoppedBy.REQUEST, ("up", "saved"), 0)

    def test_a_job_that_heeds_no_signal_is_killed_after_the_grace(self, world: World) -> None:
        marker = uuid.uuid4().hex
        launch = launch_of(python(f"signal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up')\n{FOREVER}", marker))
        world.runtime.launch(launch)
        until_running(world, launch.ref)  # which a cluster may tell later than its logs
        until_logged(world, launch.ref, "up")
        asked = datetime.now(UTC)
        world.runtime.stop(launch.ref, StopRequest(reason="cancelled", grace=timedelta(seconds=1)))
        (rank,) = until_ended(world, launch.ref).ranks
        assert (rank.signal, rank.stopped_by) == (9, StoppedBy.REQUEST)
        assert rank.ended_at is not None
        assert timedelta(seconds=1) <= rank.ended_at - asked < timedelta(seconds=10)
        assert world.living(marker) == []

    def test_a_second_stop_can_only_hasten_the_end(self, world: World) -> None:
        launch = launch_of(python(f"signal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up')\n{FOREVER}"))
        world.runtime.launch(launch)
        until_logged(world, launch.ref, "up")
        patient = StopRequest(reason="suspended", checkpoint_first=True, grace=timedelta(hours=1))
        world.runtime.stop(launch.ref, patient)
        world.runtime.stop(launch.ref, patient)
        world.runtime.stop(launch.ref, StopRequest(reason="cancelled", grace=timedelta(seconds=0)))
        world.runtime.stop(launch.ref, patient)
        assert until_ended(world, launch.ref).ranks[0].stopped_by is StoppedBy.REQUEST

    def test_what_is_stopped_before_it_is_launched_never_runs(self, world: World) -> None:
        launch = launch_of(python("open(run + '/ran', 'w')"))
        world.runtime.stop(launch.ref, StopRequest(reason="cancelled"))
        world.runtime.launch(launch)
        seen = until_ended(world, launch.ref)
        assert all(rank.exit_code is None for rank in seen.ranks)
        assert world.read(launch.ref, "ran") is None

    def test_a_stop_that_saves_first_waits_for_every_rank(self, world: World) -> None:
        code = """
            signal.signal(signal.SIGTERM, lambda *_: (print('term'), sys.exit(0)))
            while not os.path.exists(run + '/control.json'): time.sleep(0.05)
            asked = json.load(open(run + '/control.json'))
            print('asked', asked['checkpoint'], asked['stop_by'] is not None)
            time.sleep(0.5 * int(rank))
            print('saved')
            with open(run + '/ack.tmp' + rank, 'w') as file: json.dump({'id': asked['id'], 'step': 1}, file)
            os.rename(run + '/ack.tmp' + rank, run + '/ack-' + rank + '.json')
            while True: time.sleep(0.1)
        """
        launch = launch_of(python(code), nodes=2)
        world.runtime.launch(launch)
        until_running(world, launch.ref)
        within = timedelta(seconds=60)
        world.runtime.stop(launch.ref, StopRequest(reason="s", checkpoint_first=True, checkpoint_within=within))
        seen = until_ended(world, launch.ref)
        assert [rank.last_lines for rank in seen.ranks] == [("asked True True", "saved", "term")] * 2
        assert [rank.stopped_by for rank in seen.ranks] == [StoppedBy.REQUEST] * 2

    def test_a_job_that_does_not_save_in_time_is_stopped_all_the_same(self, world: World) -> None:
        launch = launch_of(python(FOREVER))
        world.runtime.launch(launch)
        until_running(world, launch.ref)
        within = timedelta(seconds=1)
        world.runtime.stop(launch.ref, StopRequest(reason="s", checkpoint_first=True, checkpoint_within=within))
        assert until_ended(world, launch.ref).ranks[0].stopped_by is StoppedBy.REQUEST

    def test_a_checkpoint_is_asked_for_once_per_request(self, world: World) -> None:
        code = """
            seen = set()
            while not os.path.exists(run + '/enough'):
                try: asked = json.load(open(run + '/control.json'))
                except (OSError, ValueError): asked = {'id': None}
                if asked['id'] not in seen | {None}:
                    seen.add(asked['id'])
                    print(asked['id'], asked['checkpoint'], asked['stop_by'])
                    if asked['id'] == 'third': break
                time.sleep(0.02)
        """
        launch = launch_of(python(code))
        world.runtime.launch(launch)
        until_running(world, launch.ref)
        for request in ("first", "second", "first", "third"):
            world.runtime.control(launch.ref, request, checkpoint=True, deadline=None)
            until_logged(world, launch.ref, f"{request} True None")
        (rank,) = until_ended(world, launch.ref).ranks
        assert rank.last_lines == ("first True None", "second True None", "third True None")

    def test_a_service_comes_back_where_it_was_and_tells_when_it_is_ready(self, world: World) -> None:
        code = """
            starts = os.path.exists(run + '/starts') and os.path.getsize(run + '/starts')
            open(run + '/starts', 'a').write('x')
            if not starts: sys.exit(4)
            time.sleep(0.5)
            open(run + '/ready', 'w').close()
            time.sleep(600)
        """
        launch = launch_of(
            python(code),
            mode=Mode.SERVICE,
            restart=RestartRule(first_delay=timedelta(seconds=0.2)),
            readiness=Readiness(file="ready", period=timedelta(seconds=0.3)),
        )
        world.runtime.launch(launch)
        assert not world.runtime.observe(launch.ref).ranks[0].ready
        eventually(lambda: world.runtime.observe(launch.ref).ranks[0].ready, world.patience, "the service is ready")
        seen = world.runtime.observe(launch.ref)
        assert (states(seen), seen.ranks[0].restarts, seen.ended) == ([RankState.RUNNING], 1, False)
        end(world, launch)

    def test_a_service_that_crashes_too_often_ends(self, world: World) -> None:
        rule = RestartRule(first_delay=timedelta(seconds=0.1), limit=2)
        (rank,) = run(world, launch_of(python("sys.exit(5)"), mode=Mode.SERVICE, restart=rule)).ranks
        assert (rank.exit_code, rank.restarts) == (5, 2)
