"""The folder store: the contract, and what is the folder's own."""

import errno
import io
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from activities.adapters.objects_folder import STALE, TEMPORARY, FolderObjects
from activities.ports import PortError
from tests.activities.object_store_contract import ObjectStoreContract, info, read

WRITER = """
import io, sys
from pathlib import Path
from activities.adapters.objects_folder import FolderObjects
print(FolderObjects(Path(sys.argv[1])).put("raced", io.BytesIO(sys.argv[2].encode() * 100_000), if_absent=True).sha256)
"""


@pytest.fixture
def objects(tmp_path: Path) -> FolderObjects:
    return FolderObjects(tmp_path / "objects")


class TestFolderObjects(ObjectStoreContract):
    pass


def test_of_racing_processes_one_wins_and_all_are_told_which(objects: FolderObjects, tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path / "objects")]
    writers = [subprocess.Popen([*command, letter], stdout=subprocess.PIPE, text=True) for letter in "abc"]
    answers = {writer.communicate(timeout=60)[0].strip() for writer in writers}
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    stored = objects.stat("raced")
    assert stored is not None
    assert answers == {stored.sha256}


def test_what_lies_below_a_key_is_listed_too(objects: FolderObjects) -> None:
    keys = ["a", "a b", "a-", "a/b", "a/b/c", "a0"]
    for key in reversed(keys):
        objects.put(key, io.BytesIO(key.encode()))
    assert objects.list("") == [info(key, key.encode()) for key in keys]
    assert [blob.key for blob in objects.list("a/", after="a/b")] == ["a/b/c"]


def test_everything_is_private(objects: FolderObjects, tmp_path: Path) -> None:
    objects.put("tenant/project/key", io.BytesIO(b"x"))
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "objects").rglob("*") if path.is_file()}
    folders = {path.stat().st_mode & 0o777 for path in (tmp_path / "objects").rglob("*") if path.is_dir()}
    assert (modes, folders) == ({0o600}, {0o700})


def test_a_digest_kept_beside_another_file_is_not_believed(objects: FolderObjects, tmp_path: Path) -> None:
    objects.put("key", io.BytesIO(b"old"))
    (tmp_path / "objects/key%blob").write_bytes(b"restored from a backup")
    assert objects.stat("key") == info("key", b"restored from a backup")
    (tmp_path / "objects/key%sha256").write_bytes(b"\0" * 20)
    assert objects.list("") == [info("key", b"restored from a backup")]


def test_what_a_dead_writer_left_goes_and_what_a_living_one_writes_stays(tmp_path: Path) -> None:
    FolderObjects(tmp_path)
    left, young = tmp_path / TEMPORARY / "left", tmp_path / TEMPORARY / "young"
    for file in (left, young):
        file.write_bytes(b"x")
    os.utime(left, (time.time() - STALE - 60,) * 2)
    assert FolderObjects(tmp_path).list("") == []
    assert (left.exists(), young.exists()) == (False, True)


def test_deleting_the_last_object_of_a_folder_removes_the_folder(objects: FolderObjects, tmp_path: Path) -> None:
    objects.put("tenant/project/key", io.BytesIO(b"x"))
    objects.delete("tenant/project/key")
    assert [path.name for path in (tmp_path / "objects").iterdir()] == [TEMPORARY]


def test_a_full_disk_is_an_error_that_may_pass_and_leaves_no_rest(
    objects: FolderObjects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    objects.put("key", io.BytesIO(b"before"))
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(PortError, match="no space left") as failure:
            objects.put("key", io.BytesIO(b"after"))
    assert (failure.value.code, failure.value.permanent) == ("PD-3407", False)
    assert read(objects, "key") == b"before"
    assert list((tmp_path / "objects" / TEMPORARY).iterdir()) == []
