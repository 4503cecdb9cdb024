"""What a job reported, read from its run folder and kept where it cannot be read any more."""

import json
from pathlib import Path

import pytest

from activities import progress
from activities.adapters.objects_folder import FolderObjects
from activities.progress import keep_progress, keep_run_progress, kept_progress, read_progress
from definitions.object_keys import progress_key

JOB = ("acme", "default", "j1")


@pytest.fixture
def objects(tmp_path: Path) -> FolderObjects:
    return FolderObjects(tmp_path / "objects")


def lines(*steps: int, attempt: int = 1) -> bytes:
    point = {"time": "2026-01-01T00:00:00Z", "attempt": attempt, "rank": 0, "metrics": {"loss": 0.5}}
    return b"".join(json.dumps({**point, "step": step}).encode() + b"\n" for step in steps)


def kept(objects: FolderObjects) -> list[tuple[int, int]]:
    return [(point.attempt, point.step) for point in kept_progress(objects, *JOB)]


def test_attempts_that_were_kept_one_by_one_are_read_in_their_order(objects: FolderObjects) -> None:
    for attempt in (11, 2):
        keep_progress(objects, progress_key(*JOB, attempt), lines(1, 2, attempt=attempt))
    keep_progress(objects, progress_key("acme", "default", "j10", 1), lines(7))
    assert kept(objects) == [(2, 1), (2, 2), (11, 1), (11, 2)]


def test_a_run_folder_that_attempts_share_is_kept_anew_each_time(objects: FolderObjects, tmp_path: Path) -> None:
    file = tmp_path / "progress.jsonl"
    for attempt in (1, 2):
        with file.open("ab") as stream:
            stream.write(lines(5, attempt=attempt))
        keep_run_progress(objects, progress_key(*JOB, None), tmp_path)
    assert kept(objects) == [(1, 5), (2, 5)]
    assert [(point.attempt, point.step) for point in read_progress(tmp_path)] == kept(objects)


def test_nothing_reported_is_nothing_kept(objects: FolderObjects, tmp_path: Path) -> None:
    keep_run_progress(objects, progress_key(*JOB, None), tmp_path)
    tmp_path.joinpath("progress.jsonl").symlink_to(tmp_path / "elsewhere")
    keep_run_progress(objects, progress_key(*JOB, None), tmp_path)
    assert objects.list("acme/") == []
    assert kept(objects) == []


def test_of_too_much_the_newest_is_kept_and_read(objects: FolderObjects, monkeypatch: pytest.MonkeyPatch) -> None:
    one = len(lines(1))
    monkeypatch.setattr(progress, "WHOLE", 4 * one)
    keep_progress(objects, progress_key(*JOB, 1), lines(1, 2, 3, 4, 5, 6))
    keep_progress(objects, progress_key(*JOB, 2), lines(7, attempt=2))
    assert kept(objects) == [(1, 4), (1, 5), (1, 6), (2, 7)]
