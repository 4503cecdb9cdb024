"""A snapshot's manifest: what it may hold, and that equal content has one name."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from definitions.snapshot import (
    MANIFEST_MEMBER,
    SnapshotEntry,
    SnapshotManifest,
    canonical_bytes,
    link_problem,
    manifest_digest,
    path_problem,
)

ZEROS = "0" * 64

paths = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=8).filter(
        lambda segment: segment not in (".", "..")
    ),
    min_size=1,
    max_size=4,
).map("/".join)


def test_the_canonical_bytes_are_the_documented_ones() -> None:
    manifest = SnapshotManifest(
        entries=(
            SnapshotEntry(path="bin/data", link="../data/é"),
            SnapshotEntry(path="bin/train", mode=0o755, bytes=3, sha256=ZEROS),
        )
    )
    expected = (
        '{"entries":[{"link":"../data/\\u00e9","path":"bin/data"},'
        f'{{"bytes":3,"mode":493,"path":"bin/train","sha256":"{ZEROS}"}}],"version":1}}'
    ).encode()
    assert canonical_bytes(manifest) == expected
    assert manifest_digest(manifest) == hashlib.sha256(expected).hexdigest()


@given(st.sets(paths, max_size=5))
def test_a_manifest_survives_being_written_and_read(names: set[str]) -> None:
    ordered = sorted(names)
    if any(other.startswith(name + "/") for name in ordered for other in ordered):
        return
    manifest = SnapshotManifest(entries=tuple(SnapshotEntry(path=p, mode=0, bytes=0, sha256=ZEROS) for p in ordered))
    again = SnapshotManifest.model_validate_json(canonical_bytes(manifest))
    assert (again, canonical_bytes(again)) == (manifest, canonical_bytes(manifest))


@pytest.mark.parametrize(
    "path",
    [
        "", "/etc/passwd", "../up", "a/../b", "a/..", "./a", "a/./b", "a//b", "a/", "nul\0", "\ud800", "x" * 256,
        "/".join("x" * 101), "/".join(["y" * 200] * 21), MANIFEST_MEMBER,
    ],
)  # fmt: skip
def test_a_path_that_is_not_plainly_inside_the_tree_is_refused(path: str) -> None:
    assert path_problem(path)
    with pytest.raises(ValidationError):
        SnapshotEntry(path=path, mode=0o644, bytes=0, sha256=ZEROS)


@pytest.mark.parametrize("path", ["a", "..a", "a..", ".git", "a b", "Icon\r", "C:\\x", "é", f"sub/{MANIFEST_MEMBER}"])
def test_an_odd_name_that_stays_inside_is_taken(path: str) -> None:
    assert path_problem(path) is None


@pytest.mark.parametrize(
    ("path", "link", "taken"),
    [
        ("a", "b", True),
        ("a/b", "../c", True),
        ("a/b/c", "../../d/e", True),
        ("a", "./b//c/", True),
        ("a", ".", True),
        ("a/b", "..", True),
        ("a", "dangling/one", True),
        ("a", "..", False),
        ("a/b", "../../c", False),
        ("a", "/etc/passwd", False),
        ("a", "", False),
        ("a", "b\0", False),
        ("a/b/c", "d/../../e", False),  # where `d` is a link it would climb from somewhere else
        ("a/b/c", "../d/..", False),
        ("a", "x" * 4097, False),
    ],
)
def test_a_link_must_stay_inside_the_tree_whatever_other_links_there_are(path: str, link: str, taken: bool) -> None:
    assert (link_problem(path, link) is None) is taken


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param([{"path": "a"}], id="neither file nor link"),
        pytest.param([{"path": "a", "link": "b", "mode": 420}], id="both file and link"),
        pytest.param([{"path": "a", "mode": 0o4755, "bytes": 0, "sha256": ZEROS}], id="set-user-id"),
        pytest.param([{"path": "a", "mode": 0, "bytes": -1, "sha256": ZEROS}], id="negative size"),
        pytest.param([{"path": "a", "mode": 0, "bytes": 0, "sha256": ZEROS.replace("0", "A")}], id="digest"),
        pytest.param([{"path": "a", "link": "x"}, {"path": "a", "link": "y"}], id="twice"),
        pytest.param([{"path": "b", "link": "x"}, {"path": "a", "link": "y"}], id="not sorted"),
        pytest.param(
            [{"path": "a", "link": "x"}, {"path": "a-b", "link": "x"}, {"path": "a/b", "link": "x"}], id="below"
        ),
    ],
)
def test_a_manifest_that_could_be_read_in_two_ways_is_refused(entries: list[dict[str, Any]]) -> None:
    with pytest.raises(ValidationError):
        SnapshotManifest.model_validate_json(json.dumps({"version": 1, "entries": entries}))
