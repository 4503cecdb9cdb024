"""Runtime contract: logs, secrets, and what is kept of an attempt that has ended."""

import hashlib
import itertools
import textwrap
from datetime import UTC, datetime, timedelta

import pytest

from activities.ports import PortError
from definitions.attempt import SecretFile, SecretRef
from tests.activities.runtime_world import World, end, launch_of, lines_of, python, run, text_of, until_logged

SAVE = textwrap.dedent("""
    import hashlib
    token, step = os.environ['PERDURE_ATTEMPT_TOKEN'], int(sys.argv[1])
    folder = '%s/checkpoints/step-%010d.%s' % (run, step, token)
    os.makedirs(folder + '/rank-0')
    open(folder + '/rank-0/weights', 'wb').write(b'w' * 100)
    files = [{'path': 'rank-0/weights', 'bytes': 100, 'sha256': hashlib.sha256(b'w' * 100).hexdigest()}]
    manifest = {'version': 1, 'step': step, 'token': token, 'attempt': 1, 'rank': 0, 'world_size': 1,
                'saved_at': '2026-01-01T00:00:00Z', 'metrics': {'loss': 0.5}, 'files': files}
    json.dump(manifest, open(folder + '/manifest-0.json', 'w'))
    point = {'step': step, 'time': '2026-01-01T00:00:00Z', 'attempt': 1, 'rank': 0, 'metrics': {'loss': 0.5}}
    open(run + '/progress.jsonl', 'a').write(json.dumps(point) + '\\n')
    os.makedirs(run + '/artifacts', exist_ok=True)
    open(run + '/artifacts/report.txt', 'w').write('fine')
""")


class KeepingContract:
    def test_lines_of_both_streams_come_in_order_with_times_and_can_be_read_on_from_any(self, world: World) -> None:
        code = """
            for n in range(100):
                print('line', n, file=(sys.stdout, sys.stderr)[n % 2], flush=True)
            print('no end', end='')
        """
        launch = launch_of(python(code))
        before = datetime.now(UTC)
        run(world, launch)
        lines = lines_of(world, launch.ref, page=7)
        assert [line.text for line in lines] == [f"line {n}" for n in range(100)] + ["no end"]
        assert all(a.at <= b.at for a, b in itertools.pairwise(lines))
        assert before - timedelta(seconds=1) <= lines[0].at <= lines[-1].at <= datetime.now(UTC)
        assert {(line.attempt, line.rank) for line in lines} == {(1, 0)}
        some = world.runtime.read_logs(launch.ref, 0, cursor=lines[41].cursor, limit=2)
        assert [line.text for line in some] == ["line 42", "line 43"]

    def test_lines_and_reports_can_be_read_while_the_rank_runs(self, world: World) -> None:
        code = SAVE + "print('saved')\nsys.stdout.flush()\ntime.sleep(600)"
        launch = launch_of(python(code, "7"))
        world.runtime.launch(launch)
        until_logged(world, launch.ref, "saved")
        assert [(point.step, point.metrics) for point in world.runtime.progress(launch.ref)] == [(7, {"loss": 0.5})]
        end(world, launch)

    def test_what_is_no_text_and_lines_without_end_do_no_harm(self, world: World) -> None:
        code = """
            os.write(1, b'caf\\xc3\\xa9 \\xff\\xfe\\r\\n\\n')
            os.write(1, b'x' * 200_000 + b'\\n')
        """
        launch = launch_of(python(code))
        run(world, launch)
        first, empty, *pieces = text_of(world, launch.ref)
        assert (first, empty) == ("café \ufffd\ufffd", "")
        assert "".join(pieces) == "x" * 200_000
        assert max(map(len, pieces)) <= 64 * 1024

    def test_an_unknown_rank_has_no_lines(self, world: World) -> None:
        launch = launch_of(python(""))
        run(world, launch)
        assert world.runtime.read_logs(launch.ref, 5, cursor=None, limit=10) == []

    def test_a_place_that_is_none_is_refused(self, world: World) -> None:
        launch = launch_of(python("print(1)"))
        run(world, launch)
        with pytest.raises(PortError) as refused:
            world.runtime.read_logs(launch.ref, 0, cursor="../../etc/passwd", limit=10)
        assert refused.value.permanent

    def test_secrets_reach_the_job_and_never_its_log(self, world: World) -> None:
        world.set_secret("key", "sk-0123456789")
        world.set_secret("pem", "-----BEGIN-----\nMIIEvAIBADAN\nline-two-of-it\n-----END-----\n")
        code = """
            import hashlib
            key = os.environ['KEY']
            path = os.environ['PERDURE_SECRETS_DIR'] + '/tls/key.pem'
            pem = open(path).read()
            print(hashlib.sha256((key + pem).encode()).hexdigest())
            print(oct(os.stat(path).st_mode)[-3:])
            print('whole', key, 'end')
            for part in ('split sk-01', '2345', '6789 end\\n'):
                os.write(1, part.encode()); time.sleep(0.1)
            print(pem)
            print('last', key)
            sys.exit(1)
        """
        launch = launch_of(
            python(code),
            env={"KEY": SecretRef(secret="key")},
            secret_files=(SecretFile(secret="pem", path="tls/key.pem"),),
        )
        (rank,) = run(world, launch).ranks
        pem = "-----BEGIN-----\nMIIEvAIBADAN\nline-two-of-it\n-----END-----\n"
        expected = hashlib.sha256(("sk-0123456789" + pem).encode()).hexdigest()
        lines = text_of(world, launch.ref)
        assert lines[:4] == [expected, "600", "whole *** end", "split *** end"]
        assert lines[4:] == ["***", "***", "***", "***", "", "last ***"]
        assert rank.last_lines == tuple(lines)
        assert "sk-0123456789" not in launch.model_dump_json()

    def test_a_secret_that_is_missing_keeps_the_attempt_from_starting(self, world: World) -> None:
        launch = launch_of(python("open(run + '/ran', 'w')"), env={"KEY": SecretRef(secret="nobody-made-it")})
        with pytest.raises(PortError) as refused:
            world.runtime.launch(launch)
        assert refused.value.permanent
        assert "nobody-made-it" in str(refused.value)
        world.runtime.collect(launch)
        assert world.read(launch.ref, "ran") is None

    @pytest.mark.parametrize("path", ["../out", "/etc/out", "a/../../b", ""])
    def test_a_secret_file_stays_in_its_folder(self, world: World, path: str) -> None:
        world.set_secret("key", "sk-0123456789")
        launch = launch_of(python(""), secret_files=(SecretFile(secret="key", path=path),))
        with pytest.raises(PortError) as refused:
            world.runtime.launch(launch)
        assert (refused.value.permanent, refused.value.code) == (True, "PD-3012")
        world.runtime.collect(launch)

    def test_what_an_attempt_left_is_kept_and_collecting_again_says_the_same(self, world: World) -> None:
        launch = launch_of(python(SAVE + "print('bye')", "120"))
        run(world, launch)
        collected = world.runtime.collect(launch)
        (record,) = collected.checkpoints
        assert (record.step, record.token, record.complete, record.problem) == (120, launch.ref.token, True, "")
        assert (collected.reached_step, collected.artifacts) == (120, 1)
        assert [file.path for file in collected.artifact_files] == ["report.txt"]
        assert collected.log_bytes > len("bye")
        assert [(point.step, point.metrics) for point in world.runtime.progress(launch.ref)] == [(120, {"loss": 0.5})]
        assert collected.observation.ranks[0].exit_code == 0
        assert world.runtime.collect(launch) == collected
        assert world.runtime.observe(launch.ref) == collected.observation

    def test_collecting_ends_what_still_runs_and_what_was_never_launched_never_will_be(self, world: World) -> None:
        running = launch_of(python("print('up')\nsys.stdout.flush()\ntime.sleep(600)"))
        world.runtime.launch(running)
        until_logged(world, running.ref, "up")
        collected = world.runtime.collect(running)
        assert collected.observation.ended
        assert collected.observation.ranks[0].signal is not None
        never = launch_of(python("open(run + '/ran', 'w')"))
        world.runtime.collect(never)
        world.runtime.launch(never)
        assert world.runtime.observe(never.ref).running is False
        assert world.read(never.ref, "ran") is None

    def test_checkpoints_can_be_judged_pruned_and_a_collected_job_forgotten(self, world: World) -> None:
        launch = launch_of(python(SAVE, "7"))
        run(world, launch)
        (record,) = world.runtime.checkpoints(launch.ref)
        with pytest.raises(PortError):
            world.runtime.forget(launch.ref)
        assert world.runtime.prune(launch.ref, (record.folder,)) == (record.folder,)
        assert world.runtime.prune(launch.ref, (record.folder,)) == (record.folder,)
        assert world.runtime.checkpoints(launch.ref) == []
        with pytest.raises(PortError):
            world.runtime.prune(launch.ref, ("../../other",))
        world.runtime.collect(launch)
        world.runtime.forget(launch.ref)
        world.runtime.forget(launch.ref)
        assert world.runtime.observe(launch.ref).exists is False
