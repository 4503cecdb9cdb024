"""Keeping what a job left: every regular file, exactly once, and a sentence for everything that is left out."""

import hashlib
import os
from pathlib import Path
from typing import BinaryIO

import pytest

from activities.adapters.objects_folder import FolderObjects
from activities.artifacts import ArtifactLimits, KeptArtifacts, keep
from activities.ports import ObjectInfo, PortError
from definitions.attempt import ArtifactRecord

PREFIX = "t/p/jobs/j/artifacts/2"


@pytest.fixture
def objects(tmp_path: Path) -> FolderObjects:
    return FolderObjects(tmp_path / "objects")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    (folder / "artifacts/plots").mkdir(parents=True)
    (folder / "artifacts/model.bin").write_bytes(b"m" * 1000)
    (folder / "artifacts/plots/loss.png").write_bytes(b"p" * 10)
    return folder


def record(path: str, content: bytes, key: str) -> ArtifactRecord:
    return ArtifactRecord(path=path, bytes=len(content), sha256=hashlib.sha256(content).hexdigest(), object_key=key)


BOTH = (
    record("model.bin", b"m" * 1000, f"{PREFIX}/model.bin"),
    record("plots/loss.png", b"p" * 10, f"{PREFIX}/plots/loss.png"),
)


def content(objects: FolderObjects, key: str) -> bytes:
    with objects.get(key) as blob:
        return blob.read()


def test_every_file_is_stored_with_its_digest_below_the_prefix(objects: FolderObjects, run: Path) -> None:
    for prefix in (PREFIX, PREFIX + "/"):
        assert keep(objects, run, prefix) == KeptArtifacts(BOTH, ())
    assert content(objects, f"{PREFIX}/plots/loss.png") == b"p" * 10


def test_an_attempt_without_artifacts_has_none(objects: FolderObjects, tmp_path: Path) -> None:
    assert keep(objects, tmp_path, PREFIX) == KeptArtifacts((), ())


class Counting(FolderObjects):
    puts = 0

    def put(self, key: str, data: BinaryIO, *, if_absent: bool = False) -> ObjectInfo:
        self.puts += 1
        return super().put(key, data, if_absent=if_absent)


def test_repeating_sends_only_what_is_new_or_was_changed(tmp_path: Path, run: Path) -> None:
    objects = Counting(tmp_path / "objects")
    keep(objects, run, PREFIX)
    (run / "artifacts/plots/loss.png").write_bytes(b"q" * 10)
    (run / "artifacts/new").write_bytes(b"n")
    kept = keep(objects, run, PREFIX)
    assert (objects.puts, len(kept.records)) == (4, 3)
    assert content(objects, f"{PREFIX}/plots/loss.png") == b"q" * 10


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("50%.png", "50~25.png"),
        ("a?b#c\\d", "a~3fb~23c~5cd"),
        ("~x", "~7ex"),
        ("é 😊", "é 😊"),
        ("line\nbreak", "line~0abreak"),
    ],
)
def test_a_name_that_keys_refuse_is_escaped_in_the_key_and_kept_in_the_record(
    name: str, key: str, objects: FolderObjects, tmp_path: Path
) -> None:
    (tmp_path / "artifacts").mkdir()
    (tmp_path / "artifacts" / name).write_bytes(b"x")
    assert keep(objects, tmp_path, PREFIX) == KeptArtifacts((record(name, b"x", f"{PREFIX}/{key}"),), ())
    assert content(objects, f"{PREFIX}/{key}") == b"x"


def test_links_pipes_and_names_that_are_no_text_are_left_out_by_name(objects: FolderObjects, run: Path) -> None:
    folder = run / "artifacts"
    (folder / "passwd").symlink_to("/etc/passwd")
    (folder / "latest").symlink_to("model.bin")
    (folder / "system").symlink_to("/etc")
    os.mkfifo(folder / "pipe")
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff")).write_bytes(b"x")
    (folder / ("n" * 250)).write_bytes(b"x")
    kept = keep(objects, run, PREFIX)
    assert kept.records == BOTH
    assert "".join(kept.problems).encode().isascii(), "what cannot be encoded could not be recorded either"
    assert sorted(problem.split(": left out, ")[1] for problem in kept.problems) == [
        "it is not a regular file",
        "its name has a segment of more than 240 bytes",
        "its name is not UTF-8",
        "links are not followed",
        "links are not followed",
        "links are not followed",
    ]


def test_an_artifacts_folder_that_is_itself_a_link_is_not_followed(objects: FolderObjects, tmp_path: Path) -> None:
    (tmp_path / "artifacts").symlink_to("/etc")
    assert keep(objects, tmp_path, PREFIX) == KeptArtifacts((), ("artifacts is a link, which is not followed",))


@pytest.mark.parametrize(
    ("limits", "kept", "problem"),
    [
        (ArtifactLimits(file_bytes=999), BOTH[1:], "model.bin: left out, 1000 bytes, and 999 are kept of a file"),
        (ArtifactLimits(bytes=1005), BOTH[:1], "plots/loss.png: left out, 10 bytes, and only 5 are left"),
        (ArtifactLimits(files=1), BOTH[:1], "plots/loss.png: left out, 1 files are kept at the most"),
    ],
)
def test_a_limit_is_a_problem_that_is_told_and_no_failure(
    limits: ArtifactLimits, kept: tuple[ArtifactRecord, ...], problem: str, objects: FolderObjects, run: Path
) -> None:
    found = keep(objects, run, PREFIX, limits)
    assert found.records == kept
    assert [text.startswith(problem) for text in found.problems] == [True]


class Full(FolderObjects):
    def put(self, key: str, data: BinaryIO, *, if_absent: bool = False) -> ObjectInfo:
        raise PortError("no space left", code="PD-3407")


def test_a_store_that_fails_is_the_callers_to_try_again(tmp_path: Path, run: Path) -> None:
    with pytest.raises(PortError, match="no space left"):
        keep(Full(tmp_path / "full"), run, PREFIX)
