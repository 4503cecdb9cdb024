"""What the client packs is what the server verifies and lays out: two programs that share a format, and no code."""

import io
import os
from pathlib import Path

import pytest

from activities.adapters.objects_folder import FolderObjects
from activities.snapshots import extract, store_upload
from definitions.object_keys import snapshot_key
from definitions.snapshot import SnapshotLimits
from perdure.snapshot import Limits, take

LONG = "/".join(["a-rather-long-name-of-a-folder" * 4] * 3)
TREES: dict[str, dict[str, bytes | str]] = {
    "nothing": {},
    "files and folders": {"train.py": b"print(1)\n", "src/model/net.py": b"", "data/digits.npy": bytes(300_000)},
    "names that sort oddly": {"a-b": b"1", "a/b": b"2", "a.b": b"3", "A": b"4", "_": b"5", "é": b"6", "😊/x": b"7"},
    "names that are long": {f"{LONG}/file.py": b"deep", "n" * 200: b"long"},
    "names that look strange": {
        "with space": b"1",
        "tab\there": b"2",
        "'quoted'": b"3",
        "back\\slash": b"4",
        "%41": b"5",
    },
    "links": {
        "data/real": b"x",
        "latest": "data/real",
        "data/again": "real",
        "sub/up": "../data/real",
        "folder": "data",
    },
    "long link": {f"{LONG}/real": b"x", "link": f"{LONG}/real"},
}


@pytest.fixture
def objects(tmp_path: Path) -> FolderObjects:
    return FolderObjects(tmp_path / "objects")


def build(root: Path, tree: dict[str, bytes | str]) -> None:
    root.mkdir()
    for name, content in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.symlink_to(content)
        else:
            path.write_bytes(content)


def found(root: Path) -> dict[str, bytes | str]:
    leaves = [path for path in root.rglob("*") if path.is_symlink() or path.is_file()]
    return {
        path.relative_to(root).as_posix(): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in leaves
    }


@pytest.mark.parametrize("name", TREES)
def test_a_tree_arrives_as_it_was(name: str, objects: FolderObjects, tmp_path: Path) -> None:
    build(tmp_path / "source", TREES[name])
    snapshot = take(tmp_path / "source")
    archive = io.BytesIO()
    snapshot.pack(archive)
    archive.seek(0)
    info = store_upload(objects, "t", "p", snapshot.sha256, archive)
    assert (info.files, info.bytes) == (snapshot.files, snapshot.bytes)
    extract(objects, snapshot_key("t", "p", snapshot.sha256), snapshot.sha256, tmp_path / "work")
    assert found(tmp_path / "work") == TREES[name]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o500])
def test_permissions_arrive_as_they_were(mode: int, objects: FolderObjects, tmp_path: Path) -> None:
    build(tmp_path / "source", {"run.sh": b"#!/bin/sh\n"})
    (tmp_path / "source/run.sh").chmod(mode)
    snapshot = take(tmp_path / "source")
    archive = io.BytesIO()
    snapshot.pack(archive)
    archive.seek(0)
    store_upload(objects, "t", "p", snapshot.sha256, archive)
    extract(objects, snapshot_key("t", "p", snapshot.sha256), snapshot.sha256, tmp_path / "work")
    assert (tmp_path / "work/run.sh").stat().st_mode & 0o7777 == mode


def test_what_the_client_lets_through_by_default_is_within_the_servers_limits() -> None:
    client, server = Limits(), SnapshotLimits()
    assert client.bytes <= server.bytes
    assert client.bytes <= server.file_bytes
    assert client.files <= server.files
