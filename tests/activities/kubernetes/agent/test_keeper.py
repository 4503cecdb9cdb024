"""The keeper: what is kept of a volume on which a job may have left anything."""

import hashlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from activities.adapters.kubernetes.agent.places import Places
from activities.adapters.kubernetes.pod import download, keeper
from activities.adapters.kubernetes.pod.commands import KEEPER_COMMAND, parse_outcome
from activities.adapters.kubernetes.pod.tasks import KeeperInput, KeeperOutcome, Task
from activities.adapters.kubernetes.pod.uploads import GrantedUploads
from activities.ports import PortError
from definitions.attempt import AttemptLaunch
from definitions.object_keys import artifact_key, job_prefix, log_prefix, progress_key
from tests.activities.kubernetes.agent.bucket import Bucket
from tests.activities.kubernetes.agent.world import launch_of, python
from tests.support import checkpoints

LINE = b"2026-11-29T20:00:00.000000Z hello\n"


class Volume:
    """A job's volume after an attempt of two ranks."""

    def __init__(self, root: Path) -> None:
        self.places = Places(str(root))
        self.launch = launch_of(python("pass"), nodes=2)
        self.run = Path(self.places.run)
        for folder in ("checkpoints", "artifacts/models"):
            self.run.joinpath(folder).mkdir(parents=True)
        Path(self.places.secret).mkdir()

    def log_folder(self, rank: int) -> Path:
        return Path(self.places.log_folder(self.launch.ref.number, self.launch.ref.token, rank))

    def fill(self) -> None:
        for rank in range(2):
            self.log_folder(rank).mkdir(parents=True)
            self.log_folder(rank).joinpath("000001.log").write_bytes(LINE * (rank + 1))
            receipt = {"rank": rank, "node": "n", "token": self.launch.ref.token, "state": "exited", "exit_code": 0}
            self.log_folder(rank).joinpath("receipt.json").write_text(json.dumps({**receipt, "last_lines": ["hello"]}))
        self.run.joinpath("artifacts/models/best.bin").write_bytes(b"model")
        point: dict[str, Any] = {"time": "2026-11-29T20:00:00Z", "attempt": 1, "rank": 0, "metrics": {}}
        points = [{**point, "step": step} for step in (1, 2)]
        self.run.joinpath("progress.jsonl").write_text("".join(json.dumps(point) + "\n" for point in points))
        checkpoints.save(self.run, 2)

    def ask(self, task: Task, bucket: Bucket | None = None, **more: Any) -> KeeperOutcome:
        ref = self.launch.ref
        upload = None if bucket is None else bucket.upload(job_prefix(ref.tenant, ref.project, ref.job))
        asked = KeeperInput(task=task, launch=self.launch, upload=upload, **more)
        Path(self.places.secret, "keeper.json").write_text(asked.model_dump_json())
        return keeper.answer(self.places)


@pytest.fixture
def volume(tmp_path: Path) -> Volume:
    return Volume(tmp_path / "perdure")


def logs_of(launch: AttemptLaunch, rank: int) -> str:
    ref = launch.ref
    return log_prefix(ref.tenant, ref.project, ref.job, ref.number, rank)


def artifact_of(launch: AttemptLaunch, path: str) -> str:
    ref = launch.ref
    return artifact_key(ref.tenant, ref.project, ref.job, ref.number, path)


def progress_of(launch: AttemptLaunch) -> str:
    ref = launch.ref
    return progress_key(ref.tenant, ref.project, ref.job, None)


def test_logs_artifacts_checkpoints_progress_and_receipts_are_kept(volume: Volume, bucket: Bucket) -> None:
    volume.fill()
    found = volume.ask(Task.COLLECT, bucket)
    assert (found.error, found.problems, found.reached_step, found.log_bytes) == (None, (), 2, 3 * len(LINE))
    assert [receipt.last_lines for receipt in found.receipts] == [("hello",), ("hello",)]
    assert [(one.step, one.complete) for one in found.checkpoints] == [(2, True)]
    [artifact] = found.artifact_files
    assert (artifact.path, artifact.bytes, artifact.sha256) == (
        "models/best.bin",
        5,
        hashlib.sha256(b"model").hexdigest(),
    )
    assert bucket.objects == {
        logs_of(volume.launch, 0) + "000001.log": LINE,
        logs_of(volume.launch, 1) + "000001.log": LINE * 2,
        artifact_of(volume.launch, "models/best.bin"): b"model",
        progress_of(volume.launch): volume.run.joinpath("progress.jsonl").read_bytes(),
    }
    assert volume.ask(Task.COLLECT, bucket) == found


def test_logs_of_earlier_attempts_make_room(volume: Volume, bucket: Bucket) -> None:
    volume.launch = volume.launch.model_copy(update={"ref": volume.launch.ref.model_copy(update={"number": 3})})
    others = [Path(volume.places.logs, name) for name in (f"2-{'a' * 32}", f"4-{'b' * 32}", "notes")]
    for folder in others:
        folder.mkdir(parents=True)
    assert volume.ask(Task.COLLECT, bucket).error is None
    assert [folder.exists() for folder in others] == [False, True, True]


def test_no_link_leads_the_keeper_off_the_volume(volume: Volume, bucket: Bucket, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    outside.joinpath("000001.log").write_text("private")
    outside.joinpath("receipt.json").write_text('{"rank": 0, "node": "n", "state": "exited"}')
    volume.log_folder(0).parent.mkdir(parents=True)
    volume.log_folder(0).symlink_to(outside)
    volume.log_folder(1).mkdir()
    volume.log_folder(1).joinpath("000001.log").symlink_to(outside / "000001.log")
    os.mkfifo(volume.log_folder(1) / "000002.log")
    os.mkfifo(volume.log_folder(1) / "receipt.json")
    volume.run.joinpath("artifacts/stolen").symlink_to(outside / "000001.log")
    os.mkfifo(volume.run / "progress.jsonl")
    found = volume.ask(Task.COLLECT, bucket)
    assert (found.error, found.receipts, found.log_bytes, found.artifact_files) == (None, (), 0, ())
    assert found.problems == ("stolen: left out, links are not followed",)
    assert bucket.objects == {}


@pytest.mark.parametrize("task", list(Task))
def test_a_run_folder_that_is_a_link_is_none(volume: Volume, bucket: Bucket, tmp_path: Path, task: Task) -> None:
    volume.fill()
    elsewhere = tmp_path / "elsewhere"
    volume.run.rename(elsewhere)
    volume.run.symlink_to(elsewhere)
    found = volume.ask(task, bucket, folders=("checkpoints/step-0000000002." + checkpoints.TOKEN,))
    assert (found.error, found.checkpoints, found.artifact_files, found.gone) == (None, (), (), ())
    assert list(elsewhere.joinpath("checkpoints").iterdir())


def test_names_of_any_kind_and_length_harm_nothing(volume: Volume, bucket: Bucket) -> None:
    volume.fill()
    folder = volume.log_folder(0)
    for name in (
        "x" * 255,
        "../000009.log".replace("/", "\\"),
        "1.log",
        "0000001.log",
        "\u0660\u0660\u0660\u0660\u0660\u0661.log",
    ):
        folder.joinpath(name).write_bytes(b"no log")
    for number in range(2, 60):
        folder.joinpath(f"{number:06d}.log").write_bytes(LINE)
    volume.run.joinpath("artifacts", "y" * 255).write_bytes(b"long")
    volume.run.joinpath("artifacts", os.fsdecode(b"\xff")).write_bytes(b"odd")
    found = volume.ask(Task.COLLECT, bucket)
    assert found.error is None
    assert len(found.problems) == 2
    kept = sorted(key.removeprefix(logs_of(volume.launch, 0)) for key in bucket.objects if "/logs/1/0/" in key)
    assert kept == [f"{number:06d}.log" for number in range(28, 60)]


@pytest.mark.parametrize("forged", [{"token": "b" * 32}, {"rank": 1}, {"state": "?"}, {"last_lines": 5}])
def test_a_receipt_that_is_not_the_ranks_own_is_passed_over(
    volume: Volume, bucket: Bucket, forged: dict[str, Any]
) -> None:
    volume.fill()
    path = volume.log_folder(0) / "receipt.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **forged}))
    assert [receipt.rank for receipt in volume.ask(Task.COLLECT, bucket).receipts] == [1]


def test_no_more_artifacts_are_kept_than_the_job_may_leave(volume: Volume, bucket: Bucket) -> None:
    volume.fill()
    volume.launch = volume.launch.model_copy(update={"artifacts_max_bytes": 4})
    found = volume.ask(Task.COLLECT, bucket)
    assert (found.artifact_files, len(found.problems)) == ((), 1)


def test_checkpoints_are_judged_and_deleted(volume: Volume) -> None:
    volume.fill()
    broken = checkpoints.save(volume.run, 3)
    broken.joinpath("rank-0/weights.npz").write_bytes(b"w")
    judged = volume.ask(Task.JUDGE).checkpoints
    assert [(one.step, one.complete) for one in judged] == [(2, True), (3, False)]
    folder = f"checkpoints/{broken.name}"
    assert volume.ask(Task.PRUNE, folders=(folder,)).gone == (folder,)
    assert volume.ask(Task.PRUNE, folders=(folder,)).gone == (folder,)
    assert [one.step for one in volume.ask(Task.JUDGE).checkpoints] == [2]


@pytest.mark.parametrize(
    ("task", "more", "code"),
    [(Task.PRUNE, {"folders": ("../outside",)}, "PD-3205"), (Task.COLLECT, {}, "PD-3205")],
    ids=["a name that is no checkpoint's", "no leave to store anything"],
)
def test_what_cannot_be_done_is_said(volume: Volume, task: Task, more: dict[str, Any], code: str) -> None:
    found = volume.ask(task, **more)
    assert found.error is not None
    assert (found.error.code, found.error.permanent) == (code, True)


def test_the_keepers_answer_is_one_line_that_is_read_again(volume: Volume, bucket: Bucket) -> None:
    volume.fill()
    found = volume.ask(Task.COLLECT, bucket)
    command = [sys.executable, *KEEPER_COMMAND[1:], "--root", volume.places.root]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd="/", check=True)
    assert done.stdout.count("\n") == 1
    assert parse_outcome(done.stdout) == found


@pytest.mark.parametrize("output", ["", "Killed", '{"receipts": 5}'])
def test_an_answer_that_is_none_is_an_error(output: str) -> None:
    with pytest.raises(PortError) as raised:
        parse_outcome(output)
    assert raised.value.code == "PD-3206"


def test_an_error_of_the_keeper_is_raised_where_its_answer_is_read(volume: Volume) -> None:
    with pytest.raises(PortError) as raised:
        parse_outcome(volume.ask(Task.COLLECT).model_dump_json())
    assert (raised.value.code, raised.value.permanent) == ("PD-3205", True)


@pytest.mark.parametrize("failures", [[503], [0, 500, 429], [0]], ids=["busy", "several", "cut"])
def test_an_upload_that_fails_for_a_while_is_repeated(bucket: Bucket, failures: list[int]) -> None:
    bucket.failures = list(failures)
    content = b"x" * 3_000_000
    data = io.BytesIO(b"skipped" + content)
    data.seek(len(b"skipped"))
    info = GrantedUploads(bucket.upload("t/p/")).put("t/p/a", data)
    assert (info.key, info.bytes, info.sha256) == ("t/p/a", len(content), hashlib.sha256(content).hexdigest())
    assert (bucket.objects, bucket.requests) == ({"t/p/a": content}, len(failures) + 1)


@pytest.mark.parametrize(
    ("key", "failures", "permanent"), [("t/p/a", [403], False), ("t/q/a", [], True), ("t/p/a", [500] * 9, False)]
)
def test_an_upload_that_is_refused_is_an_error(
    bucket: Bucket, key: str, failures: list[int], *, permanent: bool
) -> None:
    bucket.failures = list(failures)
    with pytest.raises(PortError) as raised:
        GrantedUploads(bucket.upload("t/p/")).put(key, io.BytesIO(b"x"))
    assert (raised.value.code, raised.value.permanent) == ("PD-3203", permanent)
    assert (bucket.objects, bucket.requests) == ({}, min(len(failures), download.TRIES))


def test_many_files_go_over_one_connection(bucket: Bucket) -> None:
    uploads = GrantedUploads(bucket.upload("t/p/"))
    for number in range(20):
        uploads.put(f"t/p/{number}", io.BytesIO(b"x"))
    uploads.close()
    assert (len(bucket.objects), bucket.connections) == (20, 1)


class Changing(io.BytesIO):
    """Gives other bytes at every reading."""

    readings = 0

    def seek(self, offset: int, whence: int = 0) -> int:
        self.readings += 1
        return super().seek(offset, whence)

    def read(self, size: int | None = -1) -> bytes:
        return super().read(size).replace(b"x", str(self.readings % 10).encode())


def test_a_file_that_changes_while_it_is_stored_is_not_stored(bucket: Bucket) -> None:
    with pytest.raises(PortError, match="changed while it was stored"):
        GrantedUploads(bucket.upload("t/p/")).put("t/p/a", Changing(b"x" * 100))
    assert bucket.objects == {}
