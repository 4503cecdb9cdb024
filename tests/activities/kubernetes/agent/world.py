"""Pods as processes of this machine: a folder each in place of `/perdure`, the real init step, the real agent."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

from activities.adapters.kubernetes.agent.places import Places
from activities.adapters.kubernetes.pod import prepare
from activities.adapters.kubernetes.pod.commands import Receipts, parse_receipts
from activities.adapters.local.shim import leftovers
from definitions.attempt import AttemptLaunch, AttemptRef
from definitions.pod_launch import PodLaunch
from tests.support.polling import eventually
from tests.support.ports import free_port
from tests.support.processes import Seen, process_tree, wait_until_gone

ADAPTERS = Path(__file__).parents[4] / "activities" / "adapters"
LONG = 30.0  # seconds that anything may take on a busy machine
PRELUDE = """
import json, os, signal, sys, time
run, rank = os.environ['PERDURE_RUN_DIR'], os.environ['PERDURE_RANK']
"""


def python(code: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-u", "-S", "-c", PRELUDE + code, *arguments)


def launch_of(argv: tuple[str, ...], **changes: Any) -> AttemptLaunch:
    ref = AttemptRef(tenant="t", project="p", job=f"job-{uuid.uuid4().hex[:8]}", number=1, token=uuid.uuid4().hex)
    return AttemptLaunch(ref=ref, name="train", owner="somebody", argv=argv, **changes)


class Pod:
    """One pod: its folders and, once started, its agent."""

    def __init__(self, root: Path, index: int, token: str) -> None:
        self.places = Places(str(root))
        self.index = index
        self.message = root / "termination-log"
        self._token = token
        self._output = root / "output.txt"
        self._process: subprocess.Popen[bytes] | None = None
        self._seen: list[Seen] = []

    def prepare(self, pod: PodLaunch, secrets: dict[str, str], agent: Path) -> int:
        secret = Path(self.places.secret)
        secret.mkdir(parents=True)
        secret.joinpath("launch.json").write_text(pod.model_dump_json())
        for name, value in secrets.items():
            secret.joinpath(name).write_text(value)
        environment = {"JOB_COMPLETION_INDEX": str(self.index), "PERDURE_NODE": f"node-{self.index}"}
        return prepare.run(self.places, environment, agent, self.message)

    def start(self, **environment: str) -> None:
        argv = [f"{self.places.bin}/python", "-I", "-S", f"{self.places.bin}/agent/main.py"]
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                argv, env={"PATH": os.environ["PATH"], **environment}, stdout=output, stderr=subprocess.STDOUT
            )

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def wait(self, within: float = LONG) -> int:
        """The agent's exit status."""
        return self.process.wait(within)

    def ended(self) -> bool:
        return self.process.poll() is not None

    def kill(self) -> None:
        """As when its node dies: the agent, and with it every process of the container."""
        self._seen = process_tree(self.process.pid)
        for process in self._seen:
            process.kill()
        self.process.wait()

    def pause_for(self, seconds: float) -> None:
        """As when the machine has no time for the agent."""
        self.process.send_signal(signal.SIGSTOP)
        ends = time.monotonic() + seconds
        eventually(lambda: time.monotonic() >= ends, seconds + 5.0)
        self.process.send_signal(signal.SIGCONT)

    def use_gang_port(self, port: int) -> None:
        """Have this pod's agent look for the first pod elsewhere."""
        specs = Path(self.places.specs)
        specs.write_text(json.dumps({**json.loads(specs.read_text()), "gang_port": port}))

    def ask(self, **question: Any) -> tuple[int, dict[str, Any]]:
        argv = [f"{self.places.bin}/python", "-I", "-S", f"{self.places.bin}/agent/ask.py", json.dumps(question)]
        done = subprocess.run(argv, capture_output=True, env={}, timeout=LONG, check=False)
        assert done.stderr == b""
        return done.returncode, json.loads(done.stdout)

    def stop(self, *, grace: float = 10.0, save_within: float | None = None) -> bool:
        """Whether the gate was open."""
        code, answer = self.ask(do="stop", reason="cancelled", grace=grace, checkpoint_within=save_within)
        assert (code, answer) == (0, {"done": True, "opened": answer["opened"]})
        return bool(answer["opened"])

    def ready(self) -> bool:
        return self.ask(do="ready")[0] == 0

    def receipts(self) -> Receipts:
        found = parse_receipts(self.message.read_text(), f"node-{self.index}")
        assert found is not None
        assert found.token == self._token
        return found

    def output(self) -> list[str]:
        return self._output.read_text().splitlines()

    def texts(self, rank: int | str) -> list[str]:
        """What a rank's lines in the container's output say."""
        words = (line.split(" ", 2) for line in self.output())
        return [text for _, who, text in words if who == str(rank)]

    def rank_folder(self, rank: int) -> Path:
        return Path(self.places.attempt, f"rank-{rank}")

    def run_file(self, name: str) -> Path:
        return Path(self.places.run, name)

    def end(self) -> None:
        if self._process is not None:
            self.kill()
            wait_until_gone(self._seen)


class Gang:
    """The pods of one attempt. `shared`: their run folder is one."""

    def __init__(
        self,
        folder: Path,
        launch: AttemptLaunch,
        *,
        shared: bool = True,
        secrets: dict[str, str] | None = None,
        gate_within: float = 30.0,
        names_within: float = 30.0,
        hosts: tuple[str, ...] | None = None,
        save_within: float | None = None,
    ) -> None:
        self.launch = launch
        self._secrets = secrets or {}
        self._agent = agent_files(folder / "agent")
        self._shared = folder / "volume" if shared else None
        self.pod_launch = PodLaunch(
            launch=launch,
            hosts=hosts or ("127.0.0.1",) * launch.nodes,
            port=free_port(),
            gang_port=free_port(),
            secrets={name: name for name in self._secrets},
            shared_data=shared,
            gate_within=timedelta(seconds=gate_within),
            names_within=timedelta(seconds=names_within),
            save_within=None if save_within is None else timedelta(seconds=save_within),
        )
        self.pods = [Pod(folder / f"pod-{index}", index, launch.ref.token) for index in range(launch.nodes)]

    def prepare(self) -> None:
        for pod in self.pods:
            root = Path(pod.places.root)
            root.mkdir(parents=True)
            if self._shared is not None:
                self._shared.mkdir(exist_ok=True)
                root.joinpath("data").symlink_to(self._shared)
            assert pod.prepare(self.pod_launch, self._secrets, self._agent) == 0, pod.message.read_text()

    def start(self, *indices: int, **environment: str) -> "Gang":
        """Prepare all pods, and start all or those that are named."""
        self.prepare()
        for pod in self.pods:
            if not indices or pod.index in indices:
                pod.start(**environment)
        return self

    def until_running(self) -> "Gang":
        for pod in self.pods:
            eventually(pod.ready, LONG, f"pod {pod.index} runs")
        return self

    def wait(self) -> list[int]:
        return [pod.wait() for pod in self.pods]

    def end(self) -> None:
        for pod in self.pods:
            pod.end()
        leftovers.end_all(lambda: leftovers.carriers(self.launch.ref.token))


def agent_files(folder: Path) -> Path:
    """What our image holds for pods: the shim, the agent, and something that starts an interpreter."""
    folder.mkdir()
    folder.joinpath("shim").symlink_to(ADAPTERS / "local" / "shim")
    folder.joinpath("agent").symlink_to(ADAPTERS / "kubernetes" / "agent")
    folder.joinpath("python").write_text(f'#!/bin/sh\nexec {os.path.realpath(sys.executable)} "$@"\n')
    folder.joinpath("python").chmod(0o755)
    return folder
