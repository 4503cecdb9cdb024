"""The helper for jobs: it says what the platform reads, and several ranks always save the same step."""

import ast
import json
import math
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from activities.checkpoints import judge
from activities.progress import read_progress
from definitions import protocol
from definitions.progress import ProgressPoint
from tests.support.checkpoints import LATER, TOKEN
from tests.support.job_ranks import JOB_FILE, Rank

FOLDER = protocol.checkpoint_folder(20, TOKEN)


def request(run: Path, name: str, *, checkpoint: bool = True, **times: str | None) -> None:
    body = {"id": name, "checkpoint": checkpoint, "stop_by": None, "deadline": None, "time": "2026-01-01T00:00:00Z"}
    (run / protocol.CONTROL_FILE).write_text(json.dumps(body | times))


def acknowledged(run: Path, rank: int) -> tuple[str, int]:
    body = json.loads((run / protocol.ack_file(rank)).read_text())
    assert datetime.fromisoformat(body["time"]).tzinfo is not None
    return body["id"], body["step"]


def shell(*arguments: str, run: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The helper's command line, isolated from this project."""
    env = {"PATH": os.environ["PATH"], protocol.RUN_DIR: str(run), protocol.ATTEMPT_TOKEN: TOKEN} | environment
    command = [sys.executable, "-I", str(JOB_FILE), *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, check=False)


class TestOneFile:
    def test_it_is_valid_in_python_3_8_and_imports_the_standard_library_alone(self) -> None:
        tree = ast.parse(JOB_FILE.read_text(), feature_version=(3, 8))
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names

    def test_every_name_it_shares_with_the_platform_is_the_protocols(self) -> None:
        """Names of variables and files, as they stand in the helper's text."""
        constants = {value for name, value in vars(protocol).items() if name.isupper() and isinstance(value, str)}
        tree = ast.parse(JOB_FILE.read_text())
        texts = {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        assert {text for text in texts if text.startswith("PERDURE_")} <= constants
        files = {protocol.PROGRESS_FILE, protocol.CONTROL_FILE, protocol.SAVE_AT_FILE}
        assert files | {protocol.CHECKPOINT_FOLDER, protocol.ARTIFACT_FOLDER} <= texts
        assert Rank(Path(), 0, 1).job.MANIFEST_VERSION == protocol.MANIFEST_VERSION

    def test_outside_of_perdure_it_is_rank_0_of_1_and_replaces_what_an_earlier_run_saved(self, tmp_path: Path) -> None:
        script = (
            f"import sys; sys.path.insert(0, {str(JOB_FILE.parent)!r}); import job\n"
            "assert (job.rank(), job.world_size(), job.resume(), job.deadline()) == (0, 1, None, None)\n"
            "assert not job.should_checkpoint(1)\n"
            "job.progress(1, loss=0.5)\n"
            "with job.checkpoint(1) as folder: (folder / 'a').write_text(sys.argv[1])\n"
        )
        for content in ("first", "second"):
            subprocess.run([sys.executable, "-c", script, content], cwd=tmp_path, check=True, timeout=30, env={})
        run = tmp_path / "perdure-run"
        [record] = judge(run)
        assert record.complete
        assert (run / record.folder / "rank-0/a").read_text() == "second"
        assert [point.step for point in read_progress(run)] == [1, 1]


class TestProgress:
    def test_a_line_says_what_the_platform_reads(self, tmp_path: Path) -> None:
        with Rank(tmp_path, 1, 2).running() as job:
            job.progress(7, total=10, loss=0.25, bad=math.nan, worse=math.inf)
        [point] = read_progress(tmp_path)
        assert point.at <= datetime.now(UTC)
        assert point == ProgressPoint(step=7, at=point.at, attempt=1, rank=1, total=10, metrics={"loss": 0.25})

    def test_a_line_that_a_killed_process_left_torn_costs_no_other_line(self, tmp_path: Path) -> None:
        (tmp_path / protocol.PROGRESS_FILE).write_bytes(b'{"step": 5, "time": "2026-01-')
        for rank in (Rank(tmp_path, 0, 2), Rank(tmp_path, 1, 2)):
            with rank.running() as job:
                job.progress(6)
                job.progress(7)
        assert [point.step for point in read_progress(tmp_path)] == [6, 7, 6, 7]

    def test_many_processes_write_whole_lines(self, tmp_path: Path) -> None:
        script = f"import sys; sys.path.insert(0, {str(JOB_FILE.parent)!r}); import job\n"
        script += "for step in range(300): job.progress(step, **{'x' * 50: step})"
        env = {protocol.RUN_DIR: str(tmp_path)}
        writers = [subprocess.Popen([sys.executable, "-c", script], env=env) for _ in range(3)]
        assert [writer.wait(60) for writer in writers] == [0, 0, 0]
        assert sorted(point.step for point in read_progress(tmp_path)) == sorted([*range(300)] * 3)

    def test_a_file_that_cannot_be_written_is_told_once_and_does_not_fail_the_job(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / protocol.PROGRESS_FILE).mkdir()
        with Rank(tmp_path, 0, 1).running() as job:
            job.progress(1)
            job.progress(2)
        assert capsys.readouterr().err.count("progress cannot be written") == 1


class TestCheckpoint:
    def test_it_counts_once_every_rank_has_saved(self, tmp_path: Path) -> None:
        ranks = [Rank(tmp_path, number, 2) for number in range(2)]
        ranks[1].save(20)
        assert [record.problem for record in judge(tmp_path)] == ["rank 0: its manifest is missing"]
        ranks[0].save(20)
        [record] = judge(tmp_path)
        assert (record.complete, record.step, record.attempt, record.folder) == (True, 20, 1, FOLDER)
        assert record.metrics == {"loss": 0.5}
        assert record.saved_at is not None
        assert datetime.now(UTC) - record.saved_at < timedelta(minutes=5)

    def test_an_exception_discards_it_and_passes_through(self, tmp_path: Path) -> None:
        def save() -> None:
            with Rank(tmp_path, 0, 1).running() as job, job.checkpoint(20) as folder:
                (folder / "half").write_text("x")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            save()
        assert not judge(tmp_path)[0].complete
        assert not list(tmp_path.rglob("half"))

    def test_folders_are_kept_as_they_are_and_links_are_refused(self, tmp_path: Path) -> None:
        rank = Rank(tmp_path, 0, 1)
        with rank.running() as job:
            with job.checkpoint(20) as folder:
                (folder / "shards").mkdir()
                (folder / "shards/0.bin").write_bytes(b"0")
            with pytest.raises(ValueError, match="regular files only"), job.checkpoint(30) as folder:
                (folder / "link").symlink_to("/etc/hostname")
        assert [(record.step, record.complete) for record in judge(tmp_path)] == [(20, True), (30, False)]
        assert (tmp_path / FOLDER / "rank-0/shards/0.bin").read_bytes() == b"0"

    def test_a_step_that_this_attempt_has_committed_stays_as_it_is(self, tmp_path: Path) -> None:
        for content in (b"first", b"second"):
            Rank(tmp_path, 0, 1).save(20, content)
        assert (tmp_path / FOLDER / "rank-0/weights.npz").read_bytes() == b"first"
        assert judge(tmp_path)[0].complete

    def test_what_a_killed_save_left_does_not_get_into_the_next(self, tmp_path: Path) -> None:
        for left in ("rank-0.tmp", "rank-0"):
            (tmp_path / FOLDER / left).mkdir(parents=True)
            (tmp_path / FOLDER / left / "rest").write_text("x")
        Rank(tmp_path, 0, 1).save(20)
        assert judge(tmp_path)[0].complete
        assert not list(tmp_path.rglob("rest"))

    def test_attempts_do_not_share_a_folder(self, tmp_path: Path) -> None:
        Rank(tmp_path, 0, 2).save(20)
        Rank(tmp_path, 1, 2, token=LATER).save(20)
        assert [record.problem for record in judge(tmp_path)] == [
            "rank 1: its manifest is missing",
            "rank 0: its manifest is missing",
        ]

    def test_resume_gives_the_folder_of_the_rank_and_of_all(self, tmp_path: Path) -> None:
        root = tmp_path / FOLDER
        environment = {protocol.RESUME_FROM: str(root)}
        for extra in ({}, {protocol.RESUME_STEP: "20"}):
            with Rank(tmp_path, 1, 2, **environment, **extra).running() as job:
                assert job.resume() == (20, root / "rank-1", root)

    def test_below_torchrun_its_numbers_count(self, tmp_path: Path) -> None:
        with Rank(tmp_path, 0, 1, TORCHELASTIC_RUN_ID="x", RANK="5", WORLD_SIZE="8").running() as job:
            assert (job.rank(), job.world_size()) == (5, 8)


class TestRequests:
    def test_a_request_is_honoured_once_and_acknowledged_with_the_step(self, tmp_path: Path) -> None:
        rank = Rank(tmp_path, 0, 1)
        assert not rank.should_checkpoint(1)
        request(tmp_path, "r1")
        assert rank.should_checkpoint(2)
        rank.save(2)
        assert acknowledged(tmp_path, 0) == ("r1", 2)
        assert not rank.should_checkpoint(3)
        request(tmp_path, "r2", checkpoint=False, stop_by="2030-01-01T00:00:00Z")
        assert rank.should_checkpoint(4)

    def test_a_change_of_deadline_alone_asks_for_nothing(self, tmp_path: Path) -> None:
        rank = Rank(tmp_path, 0, 1)
        request(tmp_path, "r1", checkpoint=False, deadline="2030-01-01T00:00:00Z")
        assert not rank.should_checkpoint(1)
        rank.save(1)
        assert not (tmp_path / protocol.ack_file(0)).exists()

    def test_a_save_that_began_before_the_request_does_not_answer_it(self, tmp_path: Path) -> None:
        rank = Rank(tmp_path, 0, 1)
        with rank.running() as job, job.checkpoint(1):
            request(tmp_path, "late")
        assert not (tmp_path / protocol.ack_file(0)).exists()
        assert rank.should_checkpoint(2)

    def test_the_interval_counts_from_the_last_save(self, tmp_path: Path) -> None:
        rank = Rank(tmp_path, 0, 1, **{protocol.CHECKPOINT_EVERY: "60"})
        assert not rank.should_checkpoint(1)
        rank.job._memory.saved_at -= 61
        assert rank.should_checkpoint(2)
        rank.save(2)
        assert not rank.should_checkpoint(3)

    @pytest.mark.parametrize(
        ("own", "control", "stop_by", "expected"),
        [
            (None, None, None, None),
            ("2030-01-01T00:00:00Z", None, None, 2030),
            ("2030-01-01T00:00:00Z", "2031-01-01T00:00:00+00:00", None, 2031),
            ("2030-01-01T00:00:00Z", None, "2029-01-01T00:00:00Z", 2029),
            (None, None, "2029-01-01T00:00:00Z", 2029),
        ],
    )
    def test_the_deadline_is_the_extended_one_or_the_time_to_stop(
        self, own: str | None, control: str | None, stop_by: str | None, expected: int | None, tmp_path: Path
    ) -> None:
        request(tmp_path, "r", deadline=control, stop_by=stop_by)
        with Rank(tmp_path, 0, 1, **({protocol.DEADLINE: own} if own else {})).running() as job:
            assert job.deadline() == (datetime(expected, 1, 1, tzinfo=UTC) if expected else None)


class TestAgreement:
    """Ranks that meet once per step save the same steps, whatever their order within a step is."""

    @settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.data())
    def test_all_ranks_save_the_same_steps_and_every_request_is_answered(
        self, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        run = tmp_path_factory.mktemp("run")
        size = data.draw(st.integers(2, 4))
        ranks = [Rank(run, number, size, **{protocol.CHECKPOINT_EVERY: "60"}) for number in range(size)]
        asked = data.draw(st.integers(1, 8))
        waited = data.draw(st.integers(1, 8))
        saved: dict[int, list[int]] = {number: [] for number in range(size)}
        for step in range(1, 13):
            for place, rank in enumerate(data.draw(st.permutations(ranks))):
                if (step, place) == (asked, 1):
                    request(run, "r1")
                if step == waited:
                    rank.job._memory.saved_at -= 61  # on each rank's own clock, but only rank 0's counts
                if rank.should_checkpoint(step):
                    rank.save(step)
                    saved[rank.number].append(step)
        assert saved[0]
        assert all(steps == saved[0] for steps in saved.values())
        assert all(record.complete for record in judge(run))
        assert {acknowledged(run, number)[0] for number in range(size)} == {"r1"}

    def test_a_decision_of_an_earlier_attempt_is_not_followed(self, tmp_path: Path) -> None:
        (tmp_path / protocol.SAVE_AT_FILE).write_text(json.dumps({"token": LATER, "step": 5}))
        assert not Rank(tmp_path, 1, 2).should_checkpoint(5)

    def test_ranks_that_meet_every_n_steps_are_given_the_decision_n_steps_ahead(self, tmp_path: Path) -> None:
        ranks = [Rank(tmp_path, number, 2) for number in range(2)]
        request(tmp_path, "r1")
        for step in range(1, 11):
            for rank in ranks:
                with rank.running() as job:
                    assert job.should_checkpoint(step, ahead=4) is (step in (5, 10))


class TestCommandLine:
    def test_a_shell_script_commits_a_folder_and_acknowledges(self, tmp_path: Path) -> None:
        source = tmp_path / "output"
        source.mkdir()
        (source / "model.bin").write_bytes(b"m")
        request(tmp_path, "r1")
        done = shell("commit", str(source), "--step", "20", "--metrics", "loss=0.5", run=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        [record] = judge(tmp_path)
        assert (record.complete, record.metrics, acknowledged(tmp_path, 0)) == (True, {"loss": 0.5}, ("r1", 20))
        assert (source / "model.bin").exists()

    def test_a_shell_script_reports_resumes_and_keeps(self, tmp_path: Path) -> None:
        assert shell("progress", "--step", "3", "--total", "9", "--metrics", "a=1", run=tmp_path).returncode == 0
        [point] = read_progress(tmp_path)
        assert (point.step, point.total, point.metrics) == (3, 9, {"a": 1.0})
        assert shell("resume", run=tmp_path).stdout == "\n"
        given = {protocol.RESUME_FROM: str(tmp_path / FOLDER), protocol.RESUME_STEP: "20"}
        assert shell("resume", run=tmp_path, **given).stdout == f"{tmp_path / FOLDER}/rank-0\n"
        assert shell("resume", "--step", run=tmp_path, **given).stdout == "20\n"
        (tmp_path / "plot.png").write_bytes(b"p")
        assert shell("artifact", str(tmp_path / "plot.png"), run=tmp_path).returncode == 0
        assert (tmp_path / "artifacts/plot.png").read_bytes() == b"p"

    @pytest.mark.parametrize("arguments", [[], ["commit"], ["commit", "x"], ["commit", "x", "--step", "y"], ["other"]])
    def test_a_wrong_call_says_how_to_call(self, arguments: list[str], tmp_path: Path) -> None:
        done = shell(*arguments, run=tmp_path)
        assert (done.returncode, done.stderr.startswith("usage: job.py")) == (2, True)


def test_an_artifact_may_have_a_name_in_a_folder_but_not_outside(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    with Rank(tmp_path, 0, 1).running() as job:
        assert job.artifact(tmp_path / "a", "plots/a.txt") == tmp_path / "artifacts/plots/a.txt"
        with pytest.raises(ValueError, match="leads out"):
            job.artifact(tmp_path / "a", "../a")
