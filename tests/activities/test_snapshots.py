"""Snapshots as they arrive and as they are laid out: exact, or refused with the reason, and nothing written."""

import contextlib
import gzip
import hashlib
import io
import os
import stat
import tarfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.adapters.objects_folder import FolderObjects
from activities.ports import PortError
from activities.snapshot_archive import read_archive
from activities.snapshots import extract, store_upload, verify_upload
from definitions.errors import PerdureError
from definitions.object_keys import snapshot_key
from definitions.snapshot import (
    MANIFEST_MEMBER,
    SnapshotEntry,
    SnapshotInfo,
    SnapshotLimits,
    SnapshotManifest,
    canonical_bytes,
)
from tests.support.archives import (
    Member,
    archive_of,
    file_entry,
    file_member,
    link_entry,
    link_member,
    odd_member,
    snapshot_of,
    tar_of,
)

DEEP = "/".join(["folder" * 20] * 4) + "/é.py"  # longer than a tar header's own name field
FILES = {"train.py": b"print('hello')\n", "src/model.py": b"", DEEP: b"x" * 3000}
LINKS = {"latest": "src", "src/up": "../train.py", "gone": "nowhere/at/all"}


@pytest.fixture
def objects(tmp_path: Path) -> FolderObjects:
    return FolderObjects(tmp_path / "objects")


def put(objects: FolderObjects, archive: io.BytesIO, sha256: str) -> str:
    """Store an archive unverified, as a damaged store would have it."""
    archive.seek(0)
    return objects.put(snapshot_key("t", "p", sha256), archive).key


def listing(root: Path) -> dict[str, bytes | str]:
    """Content of files and targets of links below a folder."""
    found: dict[str, bytes | str] = {}
    for path in sorted(root.rglob("*")):
        if path.is_symlink():
            found[path.relative_to(root).as_posix()] = os.readlink(path)
        elif path.is_file():
            found[path.relative_to(root).as_posix()] = path.read_bytes()
    return found


def test_what_is_uploaded_is_laid_out_byte_by_byte(objects: FolderObjects, tmp_path: Path) -> None:
    archive, sha256 = snapshot_of(FILES, LINKS, mode=0o750)
    size = len(archive.getvalue())
    total = sum(map(len, FILES.values()))
    assert store_upload(objects, "t", "p", sha256, archive) == SnapshotInfo(
        sha256=sha256, bytes=total, files=6, archive_bytes=size
    )
    extract(objects, snapshot_key("t", "p", sha256), sha256, tmp_path / "runs" / "work")
    assert listing(tmp_path / "runs" / "work") == FILES | LINKS
    assert {stat.S_IMODE((tmp_path / "runs/work" / path).stat().st_mode) for path in FILES} == {0o750}
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["work"]


@settings(max_examples=25)
@given(
    st.dictionaries(st.from_regex(r"[a-c]{1,2}(/[d-f]{1,2})?", fullmatch=True), st.binary(max_size=2000), max_size=6)
)
def test_any_tree_of_files_is_accepted(files: dict[str, bytes]) -> None:
    files = {
        path: content
        for path, content in files.items()
        if "/" in path or not any(f.startswith(path + "/") for f in files)
    }
    archive, sha256 = snapshot_of(files)
    assert verify_upload(archive, sha256).files == len(files)


def test_an_upload_may_be_repeated_and_keeps_the_first_archive(objects: FolderObjects) -> None:
    archive, sha256 = snapshot_of(FILES)
    first = store_upload(objects, "t", "p", sha256, archive)
    other_compression = io.BytesIO(gzip.compress(gzip.decompress(archive.getvalue()), 9))
    assert store_upload(objects, "t", "p", sha256, other_compression).sha256 == sha256
    assert [blob.bytes for blob in objects.list("")] == [first.archive_bytes]


def manifest(*entries: SnapshotEntry) -> SnapshotManifest:
    """Unchecked."""
    return SnapshotManifest.model_construct(entries=entries)


ONE = manifest(file_entry("a", b"right"))

HOSTILE: dict[str, tuple[SnapshotManifest, list[Member], str, str]] = {
    "other bytes": (ONE, [file_member("a", b"wrong")], "PD-3405", "sha256"),
    "fewer bytes": (ONE, [file_member("a", b"rig")], "PD-3405", "size"),
    "other mode": (ONE, [file_member("a", b"right", 0o4644)], "PD-3405", "mode"),
    "other name": (ONE, [file_member("b", b"right")], "PD-3405", "has 'b'"),
    "missing member": (ONE, [], "PD-3405", "ends where 'a'"),
    "member twice": (ONE, [file_member("a", b"right"), file_member("a", b"right")], "PD-3405", "holds 'a'"),
    "member too many": (ONE, [file_member("a", b"right"), file_member("b")], "PD-3405", "holds 'b'"),
    "link for a file": (ONE, [link_member("a", "b")], "PD-3405", "type"),
    "file for a link": (manifest(link_entry("a", "b")), [file_member("a", b"")], "PD-3405", "not the link"),
    "other link": (manifest(link_entry("a", "b")), [link_member("a", "/etc/passwd")], "PD-3405", "not the link"),
    "hard link": (ONE, [odd_member("a", tarfile.LNKTYPE, "/etc/passwd")], "PD-3403", "hard link"),
    "device": (ONE, [odd_member("a", tarfile.BLKTYPE)], "PD-3403", "device"),
    "pipe": (ONE, [odd_member("a", tarfile.FIFOTYPE)], "PD-3403", "named pipe"),
    "folder": (ONE, [odd_member("a", tarfile.DIRTYPE)], "PD-3403", "folder"),
    "sparse": (ONE, [odd_member("a", tarfile.GNUTYPE_SPARSE)], "PD-3403", "sparse"),
    "pax header": (ONE, [odd_member("a", tarfile.XHDTYPE, size=2**40)], "PD-3403", "pax"),
    "unknown type": (ONE, [odd_member("a", b"Z")], "PD-3403", "type b'Z'"),
    "endless name": (ONE, [odd_member("a", tarfile.GNUTYPE_LONGNAME, size=2**33)], "PD-3403", "size"),
}


def unchecked(path: str, **others: object) -> SnapshotEntry:
    """An entry that no checked model would hold."""
    return file_entry("a").model_copy(update={"path": path, **others})


HOSTILE_MANIFESTS = {
    "absolute": unchecked("/etc/cron.d/x"),
    "climbing": unchecked("../../x"),
    "climbing link": unchecked("x", mode=None, bytes=None, sha256=None, link="../../etc"),
    "absolute link": unchecked("x", mode=None, bytes=None, sha256=None, link="/etc"),
    "set-user-id": unchecked("x", mode=0o4755),
    "its own manifest": unchecked(MANIFEST_MEMBER),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_member_that_is_not_what_the_manifest_says_is_refused(
    name: str, objects: FolderObjects, tmp_path: Path
) -> None:
    content, members, code, words = HOSTILE[name]
    archive, sha256 = archive_of(content, members)
    with pytest.raises(PerdureError, match=words) as refusal:
        store_upload(objects, "t", "p", sha256, archive)
    assert refusal.value.code.code == code
    assert objects.list("") == []
    refuses_to_extract(objects, archive, sha256, tmp_path, code)


@pytest.mark.parametrize("name", HOSTILE_MANIFESTS)
def test_a_manifest_that_reaches_out_of_the_tree_is_refused(name: str, objects: FolderObjects, tmp_path: Path) -> None:
    entry = HOSTILE_MANIFESTS[name]
    archive, sha256 = archive_of(manifest(entry), [file_member("x")])
    with pytest.raises(PerdureError) as refusal:
        verify_upload(archive, sha256)
    assert refusal.value.code.code == "PD-3403"
    refuses_to_extract(objects, archive, sha256, tmp_path, "PD-3403")


def refuses_to_extract(objects: FolderObjects, archive: io.BytesIO, sha256: str, tmp_path: Path, code: str) -> None:
    """Extraction trusts no earlier verification."""
    key = put(objects, archive, sha256)
    with pytest.raises(PerdureError) as refusal:
        extract(objects, key, sha256, tmp_path / "runs" / "work")
    assert refusal.value.code.code == code
    assert list((tmp_path / "runs").iterdir()) == []


def _cut(archive: bytes) -> bytes:
    return archive[: len(archive) // 2]


def _flipped(archive: bytes) -> bytes:
    return archive[:-6] + bytes([archive[-6] ^ 1]) + archive[-5:]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda archive: b"",
    "not gzip": lambda archive: b"PK\x03\x04" + archive,
    "cut": _cut,
    "checksum": _flipped,
    "not tar": lambda archive: gzip.compress(b"hello" * 1000),
    "no members": lambda archive: gzip.compress(tar_of([])),
    "no manifest": lambda archive: gzip.compress(tar_of([file_member("train.py")])),
    "not canonical": lambda archive: gzip.compress(
        tar_of([file_member(MANIFEST_MEMBER, b'{"version":1, "entries":[]}')])
    ),
    "payload after the end": lambda archive: gzip.compress(gzip.decompress(archive) + b"\0" * 20_000 + b"hidden"),
    "payload in the padding": lambda archive: gzip.compress(gzip.decompress(archive)[:-9] + b"hidden..."),
    "names without end": lambda archive: gzip.compress(_long_names(archive)),
}


def _long_names(archive: bytes) -> bytes:
    """A header that says `the next one has a long name`, two thousand times over."""
    header = odd_member("././@LongLink", tarfile.GNUTYPE_LONGNAME, size=2)[0].tobuf(tarfile.GNU_FORMAT)
    block = (header + b"x\0").ljust(2 * tarfile.BLOCKSIZE, b"\0")
    first = gzip.decompress(archive)[: 2 * tarfile.BLOCKSIZE]
    return first + block * 2000


@pytest.mark.parametrize("name", DAMAGES)
def test_an_archive_that_is_damaged_or_holds_more_is_refused(name: str) -> None:
    whole, sha256 = archive_of(ONE, [file_member("a", b"right")])
    damaged = DAMAGES[name](whole.getvalue())
    if name == "not canonical":
        sha256 = hashlib.sha256(b'{"version":1, "entries":[]}').hexdigest()
    with pytest.raises(PerdureError) as refusal:
        verify_upload(io.BytesIO(damaged), sha256)
    assert refusal.value.code.code == "PD-3400"


@settings(max_examples=40)
@given(st.data())
def test_no_flipped_byte_of_an_archive_changes_what_it_holds(data: st.DataObject) -> None:
    files = {"a": b"some content", "b/c": bytes(300)}
    archive, sha256 = snapshot_of(files, {"d": "a"})
    content = bytearray(gzip.decompress(archive.getvalue()))
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    seen: dict[str, bytes | str] = {}

    def collect(entry: SnapshotEntry, chunks: Iterator[bytes]) -> None:
        seen[entry.path] = entry.link or b"".join(chunks)

    with contextlib.suppress(PerdureError):
        read_archive(io.BytesIO(gzip.compress(content, 1)), sha256, SnapshotLimits(), collect)
        assert seen == files | {"d": "a"}, "where the flipped byte is only padding"


def test_a_snapshot_under_a_name_that_is_not_its_own_is_refused() -> None:
    archive, sha256 = snapshot_of(FILES)
    with pytest.raises(PerdureError, match=f"is {sha256}, not 00") as refusal:
        verify_upload(archive, "0" * 64)
    assert refusal.value.code.code == "PD-3401"


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (SnapshotLimits(files=2), "3 files, more than 2"),
        (SnapshotLimits(bytes=3000), "3015 bytes, more than 3000"),
        (SnapshotLimits(file_bytes=2999), "has 3000 bytes, more than 2999"),
        (SnapshotLimits(manifest_bytes=100), "manifest has"),
        (SnapshotLimits(ratio=2, ratio_from=1024), "more than 2 times its size"),
    ],
)
def test_a_snapshot_beyond_a_limit_is_refused_saying_which(limits: SnapshotLimits, words: str) -> None:
    archive, sha256 = snapshot_of(FILES)
    with pytest.raises(PerdureError, match=words) as refusal:
        verify_upload(archive, sha256, limits)
    assert refusal.value.code.code == "PD-3402"


def test_zeros_without_end_are_given_up_early() -> None:
    """A few hundred kilobytes that unpack to gigabytes, hidden where no member is."""
    whole, sha256 = snapshot_of({"a": b"x"})
    bomb = gzip.compress(gzip.decompress(whole.getvalue())) + gzip.compress(bytes(50_000_000), 9) * 100
    archive = io.BytesIO(bomb)
    with pytest.raises(PerdureError) as refusal:
        verify_upload(archive, sha256)
    assert refusal.value.code.code == "PD-3402"
    assert archive.tell() < len(bomb) // 10


def test_extraction_is_safe_to_repeat_and_leaves_a_folder_that_is_in_use(
    objects: FolderObjects, tmp_path: Path
) -> None:
    archive, sha256 = snapshot_of(FILES)
    key = put(objects, archive, sha256)
    extract(objects, key, sha256, tmp_path / "work")
    (tmp_path / "work" / "output.txt").write_text("written by the job")
    extract(objects, key, sha256, tmp_path / "work")
    assert (tmp_path / "work" / "output.txt").read_text() == "written by the job"


def test_racing_extractions_end_with_one_whole_folder(objects: FolderObjects, tmp_path: Path) -> None:
    archive, sha256 = snapshot_of(FILES, LINKS)
    key = put(objects, archive, sha256)
    start = threading.Barrier(4)

    def race(_: int) -> None:
        start.wait()
        extract(objects, key, sha256, tmp_path / "runs" / "work")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(race, range(4)))
    assert listing(tmp_path / "runs" / "work") == FILES | LINKS
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["work"]


def test_an_absent_snapshot_and_a_folder_that_cannot_be_written_are_told_apart(
    objects: FolderObjects, tmp_path: Path
) -> None:
    archive, sha256 = snapshot_of(FILES)
    with pytest.raises(PortError) as absent:
        extract(objects, snapshot_key("t", "p", sha256), sha256, tmp_path / "work")
    assert absent.value.code == "PD-3404"
    key = put(objects, archive, sha256)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(PerdureError) as blocked:
        extract(objects, key, sha256, tmp_path / "file" / "work")
    assert (blocked.value.code.code, blocked.value.where) == ("PD-3408", str(tmp_path / "file" / "work"))


def test_an_empty_snapshot_is_an_empty_folder(objects: FolderObjects, tmp_path: Path) -> None:
    archive, sha256 = snapshot_of({})
    assert sha256 == hashlib.sha256(canonical_bytes(SnapshotManifest(entries=()))).hexdigest()
    store_upload(objects, "t", "p", sha256, archive)
    extract(objects, snapshot_key("t", "p", sha256), sha256, tmp_path / "work")
    assert list((tmp_path / "work").iterdir()) == []
