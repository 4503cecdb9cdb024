"""Runtime contract: programs beside a rank, and connections to its ports."""

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import pytest

from activities.ports import ByteStream, PortError
from definitions.attempt import AttemptLaunch, StopRequest
from definitions.session import Channel, Exec, Frame, Terminal
from tests.activities.runtime_world import World, end, launch_of, python, until_ended, until_logged
from tests.support.polling import eventually

LISTENING = """
    import socket
    server = socket.create_server(('127.0.0.1', 0))
    print('port', server.getsockname()[1], flush=True)
    while True:
        peer, _ = server.accept()
        data = b''
        while not data.endswith(b'.'): data += peer.recv(4096)
        peer.sendall(data.upper()); peer.close()
"""


def read_all(stream: ByteStream) -> tuple[dict[Channel, bytes], int | None]:
    """Everything that came, by channel, and the exit code."""
    found: dict[Channel, bytes] = {}
    code = None
    while (frame := stream.receive()) is not None:
        if frame.channel is Channel.STATUS:
            code = json.loads(frame.data)["exitCode"]
        else:
            found[frame.channel] = found.get(frame.channel, b"") + frame.data
    return found, code


class SessionContract:
    """What is done beside a running rank."""

    @pytest.fixture
    def running(self, world: World) -> Iterator[AttemptLaunch]:
        code = "os.chdir('/tmp')\nprint('up', flush=True)\ntime.sleep(600)"
        launch = launch_of(python(code), env={"MINE": "of the job"}, grace=timedelta(seconds=1))
        world.runtime.launch(launch)
        until_logged(world, launch.ref, "up")
        yield launch
        end(world, launch)

    @pytest.mark.parametrize(
        ("argv", "output", "errors", "code"),
        [
            (("sh", "-c", 'printf "%s %s" "$MINE" "$PERDURE_RANK"; pwd >&2; exit 7'), b"of the job 0", b"/tmp\n", 7),
            (("sh", "-c", "kill -9 $$"), b"", b"", 137),
            (("no-such-program",), b"", b"perdure: no-such-program: not found\n", 127),
            (("/etc/passwd",), b"", b"perdure: /etc/passwd: Permission denied\n", 126),
        ],
        ids=["environment", "signal", "not-found", "not-executable"],
    )
    def test_a_program_runs_where_the_rank_runs_and_tells_its_end(
        self, world: World, running: AttemptLaunch, argv: tuple[str, ...], output: bytes, errors: bytes, code: int
    ) -> None:
        with closing(world.runtime.exec(running.ref, 0, Exec(argv=argv))) as stream:
            stream.send(Frame(Channel.INPUT_END))
            found, ended = read_all(stream)
        assert (found.get(Channel.OUTPUT, b""), found.get(Channel.ERRORS, b""), ended) == (output, errors, code)

    def test_what_is_typed_reaches_a_program_whole_and_its_answer_comes_back(
        self, world: World, running: AttemptLaunch
    ) -> None:
        sent = bytes(range(256)) * 4000
        with closing(world.runtime.exec(running.ref, 0, Exec(argv=("cat",)))) as stream:

            def type_it() -> None:
                for start in range(0, len(sent), 50_000):
                    stream.send(Frame(Channel.INPUT, sent[start : start + 50_000]))
                stream.send(Frame(Channel.INPUT_END))

            typist = threading.Thread(target=type_it)
            typist.start()
            found, code = read_all(stream)
            typist.join()
        assert found == {Channel.OUTPUT: sent}
        assert code == 0

    def test_a_terminal_has_the_size_that_it_was_given_and_takes_another(
        self, world: World, running: AttemptLaunch
    ) -> None:
        # A cluster passes sizes and input on separately, so the program waits for its new size.
        waits = 'stty size; read line; until [ "$(stty size)" = "20 60" ]; do sleep 0.1; done; stty size'
        wants = Exec(argv=("sh", "-c", waits), terminal=Terminal(columns=100, rows=30))
        with closing(world.runtime.exec(running.ref, 0, wants)) as stream:
            seen = b""
            while b"30 100" not in seen:
                frame = stream.receive()
                assert frame is not None
                seen += frame.data
            stream.send(Frame(Channel.RESIZE, b'{"columns": 60, "rows": 20}'))
            stream.send(Frame(Channel.INPUT, b"\r"))
            found, code = read_all(stream)
        assert b"20 60" in found[Channel.OUTPUT]
        assert code == 0

    def test_a_program_that_is_left_alone_does_not_stay(self, world: World, running: AttemptLaunch) -> None:
        marker = uuid.uuid4().hex
        stream = world.runtime.exec(running.ref, 0, Exec(argv=("sh", "-c", "sleep 600; true", marker)))
        eventually(lambda: world.living(marker), world.patience, "the program runs")
        stream.close()
        eventually(lambda: not world.living(marker), world.patience, "the program is gone")
        assert world.runtime.observe(running.ref).running

    def test_a_port_of_a_rank_is_reached(self, world: World) -> None:
        launch = launch_of(python(LISTENING), grace=timedelta(seconds=1))
        world.runtime.launch(launch)
        lines = eventually(
            lambda: world.runtime.read_logs(launch.ref, 0, cursor=None, limit=1), world.patience, "the port is told"
        )
        port = int(lines[0].text.split()[1])
        for _ in range(2):
            with closing(world.runtime.connect(launch.ref, 0, port)) as stream:
                stream.send(Frame(Channel.INPUT, b"hello."))
                assert read_all(stream)[0] == {Channel.OUTPUT: b"HELLO."}
        end(world, launch)

    def test_there_is_no_session_with_what_does_not_run(self, world: World) -> None:
        launch = launch_of(python("print('over')"))
        world.runtime.launch(launch)
        until_ended(world, launch.ref)
        with pytest.raises(PortError) as refused:
            world.runtime.exec(launch.ref, 0, Exec(argv=("true",)))
        assert refused.value.code == "PD-3017"
        with pytest.raises(PortError) as refused:
            world.runtime.connect(launch.ref, 0, 80)
        assert refused.value.code == "PD-3017"

    def test_a_port_that_nobody_listens_on_is_told(self, world: World, running: AttemptLaunch) -> None:
        """At once, or with the first frame, where somebody else dials."""
        try:
            with closing(world.runtime.connect(running.ref, 0, 1)) as stream:
                frame = stream.receive()
                assert frame is not None
                code = json.loads(frame.data)["problem"]["code"]
        except PortError as refused:
            code = refused.code
        assert code == "PD-3019"

    def test_a_program_does_not_outlive_the_attempt(self, world: World, running: AttemptLaunch) -> None:
        marker = uuid.uuid4().hex
        with closing(
            world.runtime.exec(running.ref, 0, Exec(argv=("sh", "-c", "trap '' HUP; sleep 600; true", marker)))
        ):
            eventually(lambda: world.living(marker), world.patience, "the program runs")
            world.runtime.stop(running.ref, StopRequest(reason="over", grace=timedelta(0)))
            until_ended(world, running.ref)
            world.runtime.collect(running)
            eventually(lambda: not world.living(marker), world.patience, "the program is gone")
