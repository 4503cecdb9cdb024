"""Judging and removing checkpoints: nothing a job wrote is believed, and nothing outside of its folder is touched."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from activities.checkpoints import judge, remove
from definitions.attempt import CheckpointRecord
from tests.support.checkpoints import LATER, TOKEN, save, write_manifest

FOLDER = f"checkpoints/step-0000000020.{TOKEN}"


def test_a_complete_one_is_described_by_its_manifests(tmp_path: Path) -> None:
    folder = save(tmp_path, 20, attempt=3, ranks=2, metrics={"loss": 0.25})
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    assert judge(tmp_path) == [
        CheckpointRecord(
            step=20,
            token=TOKEN,
            attempt=3,
            folder=FOLDER,
            complete=True,
            bytes=sum(sizes),
            files=6,
            saved_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
            metrics={"loss": 0.25},
        )
    ]


def _cut(folder: Path) -> None:
    (folder / "rank-1/weights.npz").write_bytes(b"w" * 256)


def _grow(folder: Path) -> None:
    (folder / "rank-1/state.json").write_text("{} and more")


def _link_out(folder: Path) -> None:
    outside = folder.parents[1] / "outside"
    (folder / "rank-1/weights.npz").rename(outside)
    (folder / "rank-1/weights.npz").symlink_to(outside)


def _link_folder_out(folder: Path) -> None:
    outside = folder.parents[1] / "outside"
    (folder / "rank-1").rename(outside)
    (folder / "rank-1").symlink_to(outside)


def _pipe(folder: Path) -> None:
    (folder / "rank-1/state.json").unlink()
    os.mkfifo(folder / "rank-1/state.json")
    write_manifest(folder, 1, **FIELDS, files=[{"path": "rank-1/state.json", "bytes": 0, "sha256": "0" * 64}])


def _manifest(**fields: object) -> Callable[[Path], None]:
    return lambda folder: write_manifest(folder, 1, **(FIELDS | fields))


def _raw_manifest(content: bytes) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / "manifest-1.json").write_bytes(content)

    return write


def _manifest_pipe(folder: Path) -> None:
    (folder / "manifest-1.json").unlink()
    os.mkfifo(folder / "manifest-1.json")


FIELDS: dict[str, object] = {"step": 20, "token": TOKEN, "attempt": 1, "world_size": 2}
DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "cut file": (_cut, "rank 1: weights.npz has 256 of 1024 bytes (25 %)"),
    "grown file": (_grow, "rank 1: state.json has 11 of 2 bytes (550 %)"),
    "missing file": (lambda folder: (folder / "rank-1/state.json").unlink(), "rank 1: state.json is missing"),
    "file that is a link out": (_link_out, "rank 1: weights.npz is or leads through a link, or lies outside"),
    "folder that is a link out": (_link_folder_out, "rank 1: state.json is or leads through a link, or lies outside"),
    "named pipe for a file": (_pipe, "rank 1: state.json is not a regular file"),
    "missing manifest": (lambda folder: (folder / "manifest-1.json").unlink(), "rank 1: its manifest is missing"),
    "named pipe for a manifest": (_manifest_pipe, "rank 1: its manifest cannot be read"),
    "torn manifest": (_raw_manifest(b'{"version": 1, "step": 2'), "rank 1: its manifest cannot be read"),
    "deeply nested manifest": (_raw_manifest(b"[" * 100_000), "rank 1: its manifest cannot be read"),
    "manifest of zeros": (_raw_manifest(bytes(700)), "rank 1: its manifest cannot be read"),
    "manifest of a later version": (_manifest(version=2), "rank 1: its manifest cannot be read"),
    "foreign token": (_manifest(token=LATER), "rank 1: its manifest is of another attempt"),
    "foreign step": (_manifest(step=19), "rank 1: its manifest is of step 19, rank 1"),
    "foreign rank": (_manifest(rank=0), "rank 1: its manifest is of step 20, rank 0"),
    "other world size": (_manifest(world_size=4), "its manifests do not agree on the number of ranks (2, 4)"),
    "climbing path": (
        _manifest(files=[{"path": "../../control.json", "bytes": 2, "sha256": "0" * 64}]),
        "rank 1: ../../control.json is or leads through a link, or lies outside of the checkpoint",
    ),
    "absolute path": (
        _manifest(files=[{"path": "/etc/hostname", "bytes": 2, "sha256": "0" * 64}]),
        "rank 1: /etc/hostname is or leads through a link, or lies outside of the checkpoint",
    ),
    "path with a NUL": (
        _manifest(files=[{"path": "rank-1/\0", "bytes": 2, "sha256": "0" * 64}]),
        "rank 1: \0 cannot be read",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_of_one_rank_makes_the_checkpoint_incomplete_and_is_named(name: str, tmp_path: Path) -> None:
    damage, words = DAMAGES[name]
    folder = save(tmp_path, 20, ranks=2)
    (tmp_path / "control.json").write_text("{}")
    damage(folder)
    [record] = judge(tmp_path)
    assert not record.complete
    assert record.problem.startswith(words)


def test_a_rank_too_many_a_folder_without_files_and_one_that_is_a_link_do_not_count(tmp_path: Path) -> None:
    surplus = save(tmp_path, 10)
    write_manifest(surplus, 1, step=10, token=TOKEN, attempt=1, world_size=1)
    empty = tmp_path / f"checkpoints/step-0000000020.{TOKEN}"
    write_manifest(empty, 0, step=20, token=TOKEN, attempt=1, world_size=1)
    (tmp_path / f"checkpoints/step-0000000030.{TOKEN}").symlink_to(save(tmp_path / "elsewhere", 30))
    assert [(record.complete, record.problem) for record in judge(tmp_path)] == [
        (False, "rank 1: its manifest is one too many, with 1 ranks in all"),
        (False, "it holds no file"),
        (False, "it is not a folder"),
    ]


def test_of_many_problems_a_few_are_named_and_the_rest_counted(tmp_path: Path) -> None:
    folder = save(tmp_path, 20, ranks=9)
    for rank in range(9):
        (folder / f"rank-{rank}/weights.npz").unlink()
    assert judge(tmp_path)[0].problem == (
        "; ".join(f"rank {rank}: weights.npz is missing" for rank in range(4)) + "; and 5 more"
    )


def test_metrics_that_are_no_numbers_are_left_out(tmp_path: Path) -> None:
    folder = save(tmp_path, 20)
    manifest = folder / "manifest-0.json"
    manifest.write_text(manifest.read_text().replace('"metrics": {}', '"metrics": {"loss": NaN, "a": 1, "b": null}'))
    [record] = judge(tmp_path)
    assert (record.complete, record.metrics) == (True, {"a": 1.0})
    assert CheckpointRecord.model_validate_json(record.model_dump_json()) == record


def test_a_run_without_checkpoints_has_none_and_a_linked_folder_of_them_is_not_followed(tmp_path: Path) -> None:
    assert judge(tmp_path) == []
    save(tmp_path / "elsewhere", 20)
    (tmp_path / "checkpoints").symlink_to(tmp_path / "elsewhere/checkpoints")
    assert judge(tmp_path) == []
    assert remove(tmp_path, (FOLDER,)) == ()
    assert (tmp_path / "elsewhere" / FOLDER).is_dir()


def test_removing_is_safe_to_repeat_and_says_what_is_gone(tmp_path: Path) -> None:
    save(tmp_path, 10)
    save(tmp_path, 20)
    assert remove(tmp_path, (FOLDER,)) == (FOLDER,)
    assert remove(tmp_path, (FOLDER,)) == (FOLDER,)
    assert [record.step for record in judge(tmp_path)] == [10]


def test_a_removal_that_was_cut_short_is_no_checkpoint_and_is_finished_by_the_next(tmp_path: Path) -> None:
    save(tmp_path, 10)
    folder = save(tmp_path, 20)
    folder.rename(folder.with_name(folder.name + ".removing"))
    assert [record.step for record in judge(tmp_path)] == [10]
    assert remove(tmp_path, (FOLDER,)) == (FOLDER,)
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == [f"step-0000000010.{TOKEN}"]


def test_removing_a_checkpoint_that_is_a_link_leaves_what_it_leads_to(tmp_path: Path) -> None:
    target = save(tmp_path / "elsewhere", 20)
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / FOLDER).symlink_to(target)
    assert remove(tmp_path, (FOLDER,)) == (FOLDER,)
    assert (target / "manifest-0.json").exists()


@pytest.mark.parametrize(
    "name", ["", "checkpoints", "checkpoints/best", f"checkpoints/../{FOLDER}", "/etc", f"checkpoints/step-1.{TOKEN}/x"]
)
def test_nothing_but_a_checkpoint_can_be_removed(name: str, tmp_path: Path) -> None:
    save(tmp_path, 20)
    with pytest.raises(ValueError, match="does not name a checkpoint"):
        remove(tmp_path, (name,))
    assert len(judge(tmp_path)) == 1
