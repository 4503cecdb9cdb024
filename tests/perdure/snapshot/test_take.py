"""Taking and packing: the manifest is the server's own, the archive is reproducible, and no torn file gets in."""

import hashlib
import io
import json
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from definitions.snapshot import SnapshotManifest, canonical_bytes, manifest_digest
from perdure.errors import PerdureError, SnapshotRefused
from perdure.snapshot import Limits, limits_from, manifest, take
from perdure.snapshot.walk import Found
from tests.perdure.snapshot.test_walk import git, write


def packed(folder: Path) -> bytes:
    target = io.BytesIO()
    take(folder).pack(target)
    return target.getvalue()


def plant(folder: Path) -> None:
    write(folder, {"train.py": "print(1)\n", "ü/data": "x" * 3_000_000, "a" * 200 + "/" + "b" * 150: "long"})
    (folder / "train.py").chmod(0o750)
    (folder / "link").symlink_to("ü/data")


def test_the_digest_and_the_manifest_are_those_of_the_server(tmp_path: Path) -> None:
    plant(tmp_path)
    snapshot = take(tmp_path)
    body = manifest.canonical(snapshot.entries)
    read = SnapshotManifest.model_validate_json(body)
    assert canonical_bytes(read) == body
    assert manifest_digest(read) == snapshot.sha256
    assert (read.total_bytes, len(read.entries)) == (snapshot.bytes, snapshot.files) == (3_000_013, 4)
    assert {entry.path: entry.mode for entry in read.entries}["train.py"] == 0o750


def test_the_archive_begins_with_the_manifest_and_holds_just_its_entries_in_order(tmp_path: Path) -> None:
    plant(tmp_path)
    with tarfile.open(fileobj=io.BytesIO(packed(tmp_path)), mode="r:gz") as tar:
        first, *members = tar.getmembers()
        assert first.name == ".perdure-manifest.json"
        listed = json.load(tar.extractfile(first) or io.BytesIO())["entries"]
        assert [member.name for member in members] == [entry["path"] for entry in listed]
        for member, entry in zip(members, listed, strict=True):
            if member.issym():
                assert member.linkname == entry["link"]
            else:
                content = (tar.extractfile(member) or io.BytesIO()).read()
                assert hashlib.sha256(content).hexdigest() == entry["sha256"]
                assert (len(content), member.mode) == (entry["bytes"], entry["mode"])


def test_the_same_files_make_the_same_bytes_wherever_and_whenever(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        plant(tmp_path / name)
    os.utime(tmp_path / "two/train.py", (1, 1))
    assert packed(tmp_path / "one") == packed(tmp_path / "two")
    (tmp_path / "two/train.py").write_text("print(2)\n")
    assert take(tmp_path / "one").sha256 != take(tmp_path / "two").sha256


def test_a_file_that_changes_once_while_it_is_read_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"x" * 3_000_000)
    reads: list[int] = []

    def meddle(read: int) -> None:
        if not reads:
            with (tmp_path / "log").open("ab") as file:
                file.write(b"y")
        reads.append(read)

    entry = manifest.describe(tmp_path, Found("log"), meddle)
    assert entry.bytes == 3_000_001
    assert entry.sha256 == hashlib.sha256((tmp_path / "log").read_bytes()).hexdigest()


def test_a_file_that_keeps_changing_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"x")

    def meddle(_: int) -> None:
        with (tmp_path / "log").open("ab") as file:
            file.write(b"y")

    with pytest.raises(SnapshotRefused, match="log changed each of the 3 times") as refusal:
        manifest.describe(tmp_path, Found("log"), meddle)
    assert refusal.value.code == "PD-2912"
    assert refusal.value.paths == ("log",)


def test_a_file_that_is_replaced_while_it_is_read_is_seen(tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(b"x" * 10)
    status = (tmp_path / "weights").stat()
    done: list[bool] = []

    def replace(_: int) -> None:
        if not done:
            (tmp_path / "new").write_bytes(b"y" * 10)
            os.utime(tmp_path / "new", ns=(status.st_atime_ns, status.st_mtime_ns))
            (tmp_path / "new").rename(tmp_path / "weights")
            done.append(True)

    assert manifest.describe(tmp_path, Found("weights"), replace).sha256 == hashlib.sha256(b"y" * 10).hexdigest()


@pytest.mark.parametrize("content", ["longer than before", "s", "other"], ids=["longer", "shorter", "as long"])
def test_what_changes_between_listing_and_packing_is_refused(tmp_path: Path, content: str) -> None:
    write(tmp_path, {"config": "first"})
    snapshot = take(tmp_path)
    (tmp_path / "config").write_text(content)
    with pytest.raises(SnapshotRefused, match="config changed") as refusal:
        snapshot.pack(io.BytesIO())
    assert refusal.value.code == "PD-2912"


def test_a_file_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, {"config": "first"})
    snapshot = take(tmp_path)
    (tmp_path / "config").unlink()
    (tmp_path / "config").symlink_to("/etc/hostname")
    with pytest.raises(SnapshotRefused, match="config cannot be read"):
        snapshot.pack(io.BytesIO())


def test_taking_writes_nothing_into_the_folder(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    write(tmp_path, {"a": "1", "x/b": "2"})
    before = sorted((path, path.lstat().st_mtime_ns) for path in tmp_path.rglob("*"))
    take(tmp_path)
    assert sorted((path, path.lstat().st_mtime_ns) for path in tmp_path.rglob("*")) == before


def test_commit_branch_and_dirtiness_are_recorded(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    write(tmp_path, {"a": "1"})
    assert take(tmp_path).git is None, "a repository without a commit has nothing to tell"
    git(tmp_path, "add", "a")
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false")
    git(tmp_path, *identity, "commit", "--quiet", "-m", "first")
    commit = git(tmp_path, "rev-parse", "HEAD").strip()
    state = take(tmp_path).git
    assert state is not None
    assert state.as_json() == {"commit": commit, "branch": "main", "dirty": False}
    write(tmp_path, {"new": ""})
    state = take(tmp_path).git
    assert state is not None
    assert state.dirty
    subprocess.run(["git", "checkout", "--quiet", "--detach"], cwd=tmp_path, check=True)
    state = take(tmp_path).git
    assert state is not None
    assert state.branch is None


def test_progress_is_told_in_bytes_and_ends_at_the_total(tmp_path: Path) -> None:
    plant(tmp_path)
    told: list[tuple[int, int]] = []
    take(tmp_path, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (3_000_013, 3_000_013)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_the_limit_for_bytes_is_a_setting() -> None:
    assert limits_from({"PERDURE_HOME": "/srv/p"}) == Limits(own=Path("/srv/p"))
    assert limits_from({}) == Limits(own=Path("~/.perdure").expanduser().resolve())
    assert limits_from({"PERDURE_SNAPSHOT_MAX_BYTES": "1000"}).bytes == 1000
    with pytest.raises(PerdureError, match="not a number of bytes"):
        limits_from({"PERDURE_SNAPSHOT_MAX_BYTES": "1GB"})
