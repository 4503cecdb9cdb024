"""Sessions with a rank in a pod: a program in the rank's own environment, or a connection to a port of its pod."""

import json
import logging
import threading
import time
import uuid
from datetime import timedelta

from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.facts import is_up, may_be_up, pod_index
from activities.adapters.kubernetes.objects.pod import MAIN
from activities.adapters.kubernetes.observing import Observer
from activities.adapters.kubernetes.picture import Pictures
from activities.adapters.kubernetes.pod.commands import PLACES
from activities.adapters.kubernetes.streams import STDOUT, ExecStream, PortForward
from activities.ports import ByteStream, PortError
from definitions.attempt import AttemptRef
from definitions.session import Channel, Exec, Frame, Terminal

ENTER = (f"{PLACES.bin}/python", "-I", "-S", f"{PLACES.bin}/shim/enter.py")
LOOK_EVERY = 1.0  # seconds that a reader waits before it sees that its session was closed
END_WITHIN = timedelta(seconds=10)
TOLD_WITHIN = 5.0  # seconds in which a node tells the cluster that it started a container
PAUSE = 0.2
logger = logging.getLogger(__name__)


class Sessions:
    """Opens sessions in the pods of attempts."""

    def __init__(self, client: KubeClient, pictures: Pictures, observer: Observer) -> None:
        self._client = client
        self._pictures = pictures
        self._observer = observer

    def exec(self, ref: AttemptRef, rank: int, wants: Exec) -> ByteStream:
        """Raises PortError PD-3017 when the rank does not run, or what the cluster says."""
        pod, folder, session = self._pod(ref, rank), f"{PLACES.attempt}/rank-{rank}", uuid.uuid4().hex
        argv = [*ENTER, folder, session, *wants.argv]
        stream = self._client.stream_exec(pod, MAIN, argv, tty=wants.terminal is not None)
        if wants.terminal is not None:
            stream.resize(wants.terminal.columns, wants.terminal.rows)
        return _Program(self._client, pod, stream, [*ENTER, "--end", folder, session])

    def connect(self, ref: AttemptRef, rank: int, port: int) -> ByteStream:
        """Raises PortError PD-3017. That nothing listens comes as the first frame: the node dials, not we."""
        return _Connection(self._client.port_forward(self._pod(ref, rank), port), port)

    def _pod(self, ref: AttemptRef, rank: int) -> str:
        """Name of the pod where the rank runs. One that is on its node and not up may be up there already."""
        launch = self._observer.launch(ref)
        ends = time.monotonic() + TOLD_WITHIN
        while launch is not None:
            index = rank // launch.processes_per_node
            pods = [each.pod for each in self._pictures.now(ref).living if pod_index(each.pod) == index]
            for pod in pods:
                if is_up(pod):
                    return str(pod["metadata"]["name"])
            if not any(map(may_be_up, pods)) or time.monotonic() > ends:
                break
            time.sleep(PAUSE)
        raise PortError(f"rank {rank} does not run", permanent=True, code="PD-3017")


class _Program:
    def __init__(self, client: KubeClient, pod: str, stream: ExecStream, end: list[str]) -> None:
        self._client = client
        self._pod = pod
        self._stream = stream
        self._end = end
        self._told = False
        self._closed = threading.Event()

    def receive(self) -> Frame | None:
        while not self._closed.is_set():
            frame = self._stream.read(LOOK_EVERY)
            if frame is not None:
                return Frame(Channel.OUTPUT if frame[0] == STDOUT else Channel.ERRORS, frame[1])
            if self._stream.ended:
                break
        if self._told or self._stream.code is None:
            return None
        self._told = True
        return Frame(Channel.STATUS, json.dumps({"exitCode": self._stream.code}).encode())

    def send(self, frame: Frame) -> None:
        try:
            match frame.channel:
                case Channel.INPUT:
                    self._stream.write(frame.data)
                case Channel.INPUT_END:
                    self._stream.end_input()
                case Channel.RESIZE:
                    size = Terminal.model_validate_json(frame.data)
                    self._stream.resize(size.columns, size.rows)
        except (PortError, ValueError) as error:
            logger.info("input of a session was not taken: %s", error)

    def close(self) -> None:
        """A program that was left does not end by itself: the node keeps it."""
        left = not self._stream.ended and not self._closed.is_set()
        self._closed.set()
        self._stream.close()
        if left:
            try:
                self._client.exec(self._pod, MAIN, self._end, within=END_WITHIN)
            except PortError as error:  # the pod has gone, and the program with it
                logger.info("a program of a session was not ended: %s", error)


class _Connection:
    def __init__(self, stream: PortForward, port: int) -> None:
        self._stream = stream
        self._port = port
        self._closed = threading.Event()

    def receive(self) -> Frame | None:
        try:
            while not self._closed.is_set():
                data = self._stream.read(LOOK_EVERY)
                if data is not None:
                    return Frame(Channel.OUTPUT, data)
                if self._stream.ended:
                    return None
        except PortError as error:
            self._closed.set()
            problem = {"code": "PD-3019", "detail": f"port {self._port}: {error}"}
            return Frame(Channel.STATUS, json.dumps({"problem": problem}).encode())
        return None

    def send(self, frame: Frame) -> None:
        """The end of what is typed cannot be told: such a connection is closed as a whole."""
        if frame.channel is Channel.INPUT:
            try:
                self._stream.write(frame.data)
            except PortError as error:
                logger.info("input of a connection was not taken: %s", error)

    def close(self) -> None:
        self._closed.set()
        self._stream.close()
