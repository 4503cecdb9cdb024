"""Case C10: a job killed while saving must resume from what is complete, say so, and lose nothing of the user's."""

import shutil
from pathlib import Path

import pytest

from activities.checkpoints import judge, remove
from definitions.job_state import CheckpointRules
from policies.checkpoints import explain_resume, resume_point
from policies.retention import to_prune
from tests.support.checkpoints import LATER, TOKEN, save, save_rank, write_manifest


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """9 and 10 are complete; of 20 the weights are cut to half and the state is missing; 30 was being written."""
    save(tmp_path, 9)
    save(tmp_path, 10)
    twenty = save(tmp_path, 20)
    (twenty / "rank-0/weights.npz").write_bytes(b"w" * 512)
    (twenty / "rank-0/state.json").unlink()
    thirty = save(tmp_path, 30)
    thirty.rename(thirty.with_name(thirty.name + ".tmp"))
    return tmp_path


def tree(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def test_the_newest_complete_one_is_chosen_and_the_newer_broken_one_is_explained(run: Path) -> None:
    records = judge(run)
    chosen = resume_point(records)
    assert chosen is not None
    assert (chosen.step, chosen.folder) == (10, f"checkpoints/step-0000000010.{TOKEN}")
    assert [(record.step, record.complete) for record in records] == [(9, True), (10, True), (20, False)]
    assert explain_resume(records) == (
        "resumes from step 10; step 20 is incomplete: "
        "rank 0: state.json is missing; rank 0: weights.npz has 512 of 1024 bytes (50 %)"
    )


def test_steps_are_compared_as_numbers_however_they_are_written(tmp_path: Path) -> None:
    for step, name in ((9, "step-9"), (10, "step-10"), (100, "step-0000000100"), (99, "step-0000000099")):
        folder = save(tmp_path, step)
        folder.rename(folder.with_name(f"{name}.{TOKEN}"))
    records = judge(tmp_path)
    assert [record.step for record in records] == [9, 10, 99, 100]
    assert explain_resume(records) == "resumes from step 100"


def test_judging_and_choosing_delete_nothing(run: Path) -> None:
    before = tree(run)
    resume_point(judge(run))
    assert tree(run) == before


def test_a_shard_of_zero_bytes_makes_its_checkpoint_incomplete(tmp_path: Path) -> None:
    save(tmp_path, 10, ranks=2)
    twenty = save(tmp_path, 20, ranks=2)
    (twenty / "rank-1/weights.npz").write_bytes(b"")
    records = judge(tmp_path)
    assert records[-1].problem == "rank 1: weights.npz has 0 of 1024 bytes (0 %)"
    assert explain_resume(records).startswith("resumes from step 10; step 20 is incomplete: rank 1")


def test_right_size_and_wrong_bytes_are_found(tmp_path: Path) -> None:
    folder = save(tmp_path, 20)
    (folder / "rank-0/weights.npz").write_bytes(b"v" + b"w" * 1023)
    assert judge(tmp_path)[0].problem == ("rank 0: weights.npz has other bytes than were saved (its sha256 differs)")


def test_a_best_link_to_what_is_gone_is_passed_over(run: Path) -> None:
    (run / "checkpoints/best").symlink_to("step-0000000005." + TOKEN)
    (run / "checkpoints/best.json").write_text('{"path": "checkpoints/step-0000000005"}')
    assert explain_resume(judge(run)).startswith("resumes from step 10;")


def test_what_was_complete_and_has_lost_a_file_since_is_not_resumed_from(run: Path) -> None:
    """The choice is made from what is there now, not from what was verified once."""
    shutil.rmtree(run / f"checkpoints/step-0000000010.{TOKEN}/rank-0")
    assert explain_resume(judge(run)).startswith("resumes from step 9; step 10 is incomplete: rank 0")


def test_a_save_without_any_manifest_did_not_finish(tmp_path: Path) -> None:
    save_rank(tmp_path / f"checkpoints/step-0000000040.{TOKEN}", 0, {"weights.npz": b"whole, as it happens"})
    assert explain_resume(judge(tmp_path)) == (
        "starts from the beginning: there is no complete checkpoint; "
        "step 40 is incomplete: it has no manifest: the save did not finish"
    )


def test_manifests_of_two_attempts_never_make_one_checkpoint(tmp_path: Path) -> None:
    """A rank of attempt 1 that still writes cannot complete what attempt 2 has begun."""
    folder = tmp_path / f"checkpoints/step-0000000020.{LATER}"
    save_rank(folder, 0, {"weights.npz": b"new"})
    save_rank(folder, 1, {"weights.npz": b"old"})
    write_manifest(folder, 0, step=20, token=LATER, attempt=2, world_size=2)
    write_manifest(folder, 1, step=20, token=TOKEN, attempt=1, world_size=2)
    assert judge(tmp_path)[0].problem == ("rank 1: its manifest is of another attempt")


def test_retention_never_removes_the_last_complete_one(run: Path) -> None:
    rules = CheckpointRules(keep_last=1)
    pruned = to_prune(judge(run), rules)
    assert pruned == (f"checkpoints/step-0000000009.{TOKEN}",)
    assert remove(run, pruned) == pruned
    assert explain_resume(judge(run)).startswith("resumes from step 10; step 20 is incomplete")
    assert to_prune(judge(run), rules) == ()
