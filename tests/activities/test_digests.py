"""Digests of files that others change: remembered only while nothing about the file has moved."""

import hashlib
import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from activities import digests
from activities.digests import DigestCache, NotAFile, open_regular

CONTENT = b"weights"


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of files that were really hashed, in order."""
    names: list[str] = []
    real = hashlib.file_digest

    def counting(file: io.BufferedReader, algorithm: str) -> "hashlib._Hash":
        names.append(file.name if isinstance(file.name, str) else os.readlink(f"/proc/self/fd/{file.fileno()}"))
        return real(file, algorithm)

    monkeypatch.setattr(hashlib, "file_digest", counting)
    return names


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "weights.npz"
    path.write_bytes(CONTENT)
    return path


def test_a_file_that_changed_a_moment_ago_is_hashed_each_time(file: Path, hashed: list[str]) -> None:
    cache = DigestCache()
    assert {cache.digest(file), cache.digest(file)} == {hashlib.sha256(CONTENT).hexdigest()}
    assert len(hashed) == 2


class TestSettled:
    @pytest.fixture(autouse=True)
    def _settled_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(digests, "SETTLED", -1e9)

    def test_a_file_at_rest_is_hashed_once(self, file: Path, hashed: list[str]) -> None:
        cache = DigestCache()
        assert {cache.digest(file) for _ in range(3)} == {hashlib.sha256(CONTENT).hexdigest()}
        assert len(hashed) == 1

    @pytest.mark.parametrize(
        "change",
        [
            lambda path: path.write_bytes(b"Weights"),
            lambda path: path.write_bytes(b"more weights"),
            lambda path: (path.rename(path.with_name("old")), path.write_bytes(b"Weights")),
        ],
    )
    def test_a_changed_file_is_hashed_again_even_when_its_time_was_set_back(
        self, change: Callable[[Path], object], file: Path, hashed: list[str]
    ) -> None:
        cache = DigestCache()
        before = file.stat()
        cache.digest(file)
        change(file)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert cache.digest(file) == hashlib.sha256(file.read_bytes()).hexdigest()
        assert len(hashed) == 2

    def test_it_forgets_the_oldest_rather_than_grow_for_ever(
        self, tmp_path: Path, hashed: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(digests, "MOST_KEPT", 2)
        cache = DigestCache()
        files = [tmp_path / name for name in "abc"]
        for path in files:
            path.write_text(path.name)
            cache.digest(path)
        for path in (files[2], files[1], files[0]):
            cache.digest(path)
        assert [Path(name).name for name in hashed] == ["a", "b", "c", "a"]


def test_what_is_not_a_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "."):
        with pytest.raises(NotAFile):
            open_regular(tmp_path / name)
    (tmp_path / "link").symlink_to("/etc/hostname")
    with pytest.raises(OSError, match="symbolic links"):
        open_regular(tmp_path / "link")
