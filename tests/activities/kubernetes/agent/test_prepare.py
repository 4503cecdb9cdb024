"""The init step: what lies ready in a pod before its agent starts, and what is said when it cannot."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from activities.adapters.kubernetes.agent.places import Places
from activities.adapters.kubernetes.pod import prepare
from activities.adapters.kubernetes.pod.commands import PREPARE_COMMAND, parse_failure
from definitions.attempt import AttemptLaunch, SecretFile, SecretRef, SeedCheckpoint, Workdir
from definitions.pod_launch import PodLaunch
from tests.activities.kubernetes.agent.bucket import Bucket
from tests.activities.kubernetes.agent.world import agent_files, launch_of, python
from tests.support import checkpoints
from tests.support.archives import snapshot_of

FILES = {"train.py": b"print('x')\n" * 5000, "src/model.py": b"pass\n"}
PASS = python("pass")


class Init:
    """One pod before its agent starts."""

    def __init__(self, root: Path) -> None:
        self.places = Places(str(root / "perdure"))
        self.message = root / "termination-log"
        self.agent = agent_files(root / "agent")
        self.environment = {"JOB_COMPLETION_INDEX": "0", "PERDURE_NODE": "node-7"}

    def write(self, launch: AttemptLaunch, **more: Any) -> None:
        hosts = tuple(f"pod-{index}.gang" for index in range(launch.nodes))
        pod = PodLaunch(launch=launch, hosts=hosts, port=29500, gang_port=29600, **more)
        secret = Path(self.places.secret)
        secret.mkdir(parents=True, exist_ok=True)
        secret.joinpath("launch.json").write_text(pod.model_dump_json())

    def run(self, launch: AttemptLaunch, index: int = 0, **more: Any) -> int:
        self.write(launch, **more)
        environment = {**self.environment, "JOB_COMPLETION_INDEX": str(index)}
        return prepare.run(self.places, environment, self.agent, self.message)

    def specs(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(Path(self.places.specs).read_text())
        return found

    def failure(self) -> tuple[str, str]:
        found = parse_failure(self.message.read_text())
        assert found is not None
        return found

    def checkpoint_in(self, volume: str) -> None:
        checkpoints.save(Path(volume, "run"), 4)


@pytest.fixture
def init(tmp_path: Path) -> Init:
    return Init(tmp_path)


def snapshot(bucket: Bucket) -> Workdir:
    archive, sha256 = snapshot_of(FILES)
    bucket.objects["snapshot"] = archive.read()
    return Workdir(mode="snapshot", sha256=sha256, subfolder="src")


def test_a_snapshot_is_fetched_by_link_and_verified(init: Init, bucket: Bucket) -> None:
    assert init.run(launch_of(PASS, workdir=snapshot(bucket)), snapshot_url=f"{bucket.url}/snapshot?signature=x") == 0
    tree = Path(init.places.tree)
    assert {path: tree.joinpath(path).read_bytes() for path in FILES} == FILES
    [rank] = init.specs()["ranks"]
    assert (rank["cwd"], rank["env"]["PERDURE_WORK_DIR"]) == (str(tree / "src"), str(tree))


def test_a_pod_that_is_prepared_again_is_as_the_first_time(init: Init, bucket: Bucket) -> None:
    """Links of the image included; what they lead to stays as it is."""
    launch, url = launch_of(PASS, workdir=snapshot(bucket)), f"{bucket.url}/snapshot"
    init.agent.joinpath("python3").symlink_to("python")

    def found() -> list[str]:
        roots = (Path(init.places.bin), Path(init.places.tree), init.agent, *init.agent.glob("*/"))
        return sorted(str(path) for root in roots for path in root.rglob("*") if "__pycache__" not in path.parts)

    assert init.run(launch, snapshot_url=url) == 0
    first = found()
    assert init.run(launch, snapshot_url=url) == 0
    assert found() == first


@pytest.mark.parametrize("failures", [[503, 500], [0]], ids=["busy", "cut in the middle"])
def test_a_fetch_that_breaks_off_begins_again(init: Init, bucket: Bucket, failures: list[int]) -> None:
    workdir = snapshot(bucket)
    bucket.failures = list(failures)
    assert init.run(launch_of(PASS, workdir=workdir), snapshot_url=f"{bucket.url}/snapshot") == 0
    assert bucket.requests == len(failures) + 1


@pytest.mark.parametrize(
    ("content", "failures", "code"),
    [(None, [], "PD-3202"), (None, [403], "PD-3202"), (None, [503] * 9, "PD-3201"), (b"no archive", [], "PD-3400")],
    ids=["gone", "link ran out", "store is down", "damaged"],
)
def test_a_snapshot_that_cannot_be_had_is_named(
    init: Init, bucket: Bucket, content: bytes | None, failures: list[int], code: str
) -> None:
    workdir = snapshot(bucket)
    bucket.objects = {} if content is None else {"snapshot": content}
    bucket.failures = list(failures)
    assert init.run(launch_of(PASS, workdir=workdir), snapshot_url=f"{bucket.url}/snapshot") == 1
    assert init.failure()[0] == code
    assert not Path(init.places.specs).exists()


def test_a_store_that_does_not_answer_is_named(init: Init) -> None:
    workdir = Workdir(mode="snapshot", sha256="a" * 64)
    assert init.run(launch_of(PASS, workdir=workdir), snapshot_url="http://127.0.0.1:9/snapshot") == 1
    assert init.failure()[0] == "PD-3201"


@pytest.mark.parametrize(
    ("changes", "more", "code"),
    [
        ({"workdir": Workdir(mode="live", path="relative")}, {}, "PD-3010"),
        ({"workdir": Workdir(subfolder="../..")}, {}, "PD-3010"),
        ({"workdir": Workdir(mode="snapshot", sha256="a" * 64)}, {}, "PD-3202"),
        ({"env": {"KEY": SecretRef(secret="api")}}, {}, "PD-3204"),
        ({"env": {"KEY": SecretRef(secret="api")}}, {"secrets": {"api": "secret-0"}}, "PD-3204"),
        ({"secret_files": (SecretFile(secret="api", path="../x"),)}, {"secrets": {"api": "launch.json"}}, "PD-3012"),
        ({"seed_checkpoint": SeedCheckpoint(job="j", folder="checkpoints/none", step=1)}, {}, "PD-3011"),
    ],
)
def test_what_cannot_be_prepared_is_refused_with_its_code(
    init: Init, changes: dict[str, Any], more: dict[str, Any], code: str
) -> None:
    assert init.run(launch_of(PASS, **changes), **more) == 1
    assert init.failure()[0] == code


def test_an_index_that_the_gang_has_not_is_refused(init: Init) -> None:
    assert init.run(launch_of(PASS), index=1) == 1
    assert init.failure()[0] == "PD-3200"


def test_specifications_hold_the_ranks_of_their_pod(init: Init) -> None:
    launch = launch_of(PASS, nodes=3, processes_per_node=2, framework="pytorch", base_env={"PATH": "/submitters"})
    assert init.run(launch, index=1) == 0
    ranks = init.specs()["ranks"]
    assert [(rank["rank"], rank["here"], rank["node"]) for rank in ranks] == [
        (2, [2, 3], "node-7"),
        (3, [2, 3], "node-7"),
    ]
    env = ranks[1]["env"]
    names = ("RANK", "LOCAL_RANK", "NODE_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "PET_NODE_RANK")
    assert [env[name] for name in names] == ["3", "1", "1", "6", "pod-0.gang", "29500", "3"]
    assert "PATH" not in env
    assert json.loads(Path(init.places.pod).read_text())["ranks"] == [2, 3]


def test_specifications_are_for_the_jobs_user_alone_and_all_else_holds_no_secret(init: Init) -> None:
    secret = Path(init.places.secret)
    secret.mkdir(parents=True)
    secret.joinpath("secret-0").write_text("s3cr3t")
    assert init.run(launch_of(PASS, env={"KEY": SecretRef(secret="api")}), secrets={"api": "secret-0"}) == 0
    specs = Path(init.places.specs)
    assert stat.S_IMODE(specs.stat().st_mode) == 0o600
    assert init.specs()["ranks"][0]["env"]["KEY"] == "s3cr3t"
    holders = [path for path in Path(init.places.root).rglob("*") if path.is_file() and b"s3cr3t" in path.read_bytes()]
    assert set(holders) == {specs, secret / "secret-0"}


@pytest.mark.parametrize(("index", "shared", "cleared"), [(0, True, True), (1, True, False), (1, False, True)])
def test_what_an_earlier_attempt_was_asked_is_forgotten_once(
    init: Init, index: int, *, shared: bool, cleared: bool
) -> None:
    run = Path(init.places.run)
    run.mkdir(parents=True)
    for name in ("control.json", "ack-0.json"):
        run.joinpath(name).write_text("{}")
    assert init.run(launch_of(PASS, nodes=2), index=index, shared_data=shared) == 0
    assert run.joinpath("control.json").exists() != cleared
    assert run.joinpath("ack-0.json").exists() != cleared
    assert run.joinpath("checkpoints").is_dir()


def test_a_job_starts_from_a_checkpoint_on_another_jobs_volume(init: Init) -> None:
    init.checkpoint_in(init.places.seed)
    folder = f"checkpoints/step-0000000004.{checkpoints.TOKEN}"
    asked = launch_of(
        PASS, seed_checkpoint=SeedCheckpoint(job="j", folder=folder, step=4), resume_from=folder, resume_step=4
    )
    assert init.run(asked) == 0
    assert Path(init.places.run, folder, "manifest-0.json").exists()
    assert init.specs()["ranks"][0]["env"]["PERDURE_RESUME_FROM"] == str(Path(init.places.run, folder))


def test_the_step_runs_as_it_is_started_in_a_pod_and_may_be_repeated(init: Init) -> None:
    init.write(launch_of(PASS))
    places = ["--root", init.places.root, "--message", str(init.message), "--agent", str(init.agent)]
    for _ in range(2):
        command = [sys.executable, *PREPARE_COMMAND[1:], *places]
        done = subprocess.run(
            command, env=init.environment, cwd="/", capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert os.access(Path(init.places.bin, "python"), os.X_OK)
    assert Path(init.places.bin, "agent", "main.py").exists()
    assert init.specs()["index"] == 0
