"""A snapshot holds what git would list, and refuses by name what it cannot hold."""

import os
import socket
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perdure.errors import SnapshotRefused
from perdure.snapshot import Limits
from perdure.snapshot.walk import find

QUIET_GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "PATH": os.environ["PATH"]}


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, env=QUIET_GIT, capture_output=True, text=True, check=True)
    return done.stdout


def write(root: Path, files: Mapping[str, str]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)


def paths(root: Path, limits: Limits | None = None) -> list[str]:
    return [each.path for each in find(root, limits or Limits())]


def listed_by_git(root: Path) -> list[str]:
    names = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    return sorted({name for name in names if name and (root / name).exists()}, key=str.encode)


TABLE = {
    "a star in any folder": ("*.bin\n", {"a.bin": "", "x/b.bin": "", "x/c.py": ""}),
    "a folder wherever it is": ("out/\n", {"out/a": "", "x/out/b": "", "x/outer/c": "", "y/out": ""}),
    "anchored to its own folder": ("/data\n", {"data/a": "", "x/data/b": ""}),
    "a path with a slash in it": ("x/data\n", {"x/data/a": "", "y/x/data/b": ""}),
    "kept again by an exclamation mark": ("*.log\n!keep.log\n", {"a.log": "", "keep.log": "", "x/keep.log": ""}),
    "not kept again below an ignored folder": ("out/\n!out/keep\n", {"out/keep": "", "out/a": ""}),
    "kept again below a folder whose content is ignored": ("out/*\n!out/keep\n", {"out/keep": "", "out/a": ""}),
    "two stars": ("x/**/z\n", {"x/z": "", "x/y/z": "", "x/y/y/z": "", "z": ""}),
    "everything inside": ("x/**\n!x/keep\n", {"x/a": "", "x/keep": "", "y": ""}),
    "a folder that is kept says nothing about its files": ("*.d\n!x.d\n", {"x.d/y.d": "", "x.d/z": ""}),
    "everything but one kind": ("*\n!*/\n!*.py\n", {"a.py": "", "a.txt": "", "x/y/b.py": "", "x/c": ""}),
    "any folder": ("*/\n", {"a": "", "x/b": ""}),
    "comments, blanks and escapes": ("# c\n\n\\#a\n\\!b\n", {"#a": "", "!b": "", "c": ""}),
    "lines that end as on Windows": ("a\r\n*.o\r\n", {"a": "", "b.o": "", "c": ""}),
    "classes of letters": ("[ab].txt\n[!c]x\n", {"a.txt": "", "c.txt": "", "bx": "", "cx": ""}),
}


@pytest.mark.parametrize(("rules", "files"), TABLE.values(), ids=TABLE.keys())
def test_ignore_rules_mean_what_they_mean_to_git(tmp_path: Path, rules: str, files: Mapping[str, str]) -> None:
    git(tmp_path, "init", "--quiet")
    write(tmp_path, {".gitignore": rules, **files})
    assert paths(tmp_path) == listed_by_git(tmp_path)


names = st.sampled_from(["a", "b", "x.d", "out", "keep", "a.log"])
lines = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/", "**/", "out/", "a/"]),
    st.sampled_from(["a", "b", "*.d", "x.d", "out", "keep", "*.log", "*", "[ab]", "?"]),
    st.sampled_from(["", "", "/", "/*"]),
)
trees = st.dictionaries(st.lists(names, min_size=1, max_size=4).map("/".join), st.just(""), min_size=1, max_size=8)


def plantable(files: Mapping[str, str]) -> dict[str, str]:
    """Leaves out files that would have to lie below another file."""
    return {path: "" for path in files if not any(path.startswith(f"{other}/") for other in files)}


@settings(max_examples=60)
@given(trees, st.lists(lines, max_size=4), st.sampled_from(["", "a/", "out/"]), st.lists(lines, max_size=3))
@example({"out/a": "", "out/keep": ""}, ["out/*"], "out/", ["!keep"])
def test_any_rules_on_any_tree_list_what_git_lists(
    files: dict[str, str], top: list[str], nested: str, inner: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        git(root, "init", "--quiet")
        planted = plantable(files)
        write(root, planted)
        (root / ".gitignore").write_text("\n".join(top))
        if (root / nested).is_dir():
            (root / nested / ".gitignore").write_text("\n".join(top if not nested else inner))
        assert paths(root) == listed_by_git(root)


def test_a_folder_inside_a_repository_obeys_the_rules_above_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    write(tmp_path, {".gitignore": "*.bin\n/train/out/\n", "train/a.bin": "", "train/out/b": "", "train/c.py": ""})
    assert paths(tmp_path / "train") == ["c.py"]


def test_a_folder_that_is_itself_ignored_is_taken_when_somebody_submits_from_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    write(tmp_path, {".gitignore": "build/\n", "build/.gitignore": "*.tmp\n", "build/a": "", "build/b.tmp": ""})
    assert paths(tmp_path / "build") == [".gitignore", "a"]


def test_perdureignore_adds_rules_and_may_keep_what_git_ignores(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "*.bin\n", ".perdureignore": "notes/\n!small.bin\n"})
    write(tmp_path, {"small.bin": "", "big.bin": "", "notes/a": "", "x/.perdureignore": "y\n", "x/y": "", "y": ""})
    assert paths(tmp_path) == [".gitignore", ".perdureignore", "small.bin", "x/.perdureignore", "y"]


def test_what_git_tracks_is_kept_although_a_rule_ignores_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    write(tmp_path, {"out/kept": "", "out/unkept": "", "out/later": "", ".perdureignore": "later\n"})
    git(tmp_path, "add", "out/kept", "out/later")
    (tmp_path / ".gitignore").write_text("out/\n")
    assert paths(tmp_path) == [".gitignore", ".perdureignore", "out/kept"]


def test_the_repository_itself_is_never_part_of_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    write(tmp_path, {"a": "", "sub/.git": "gitdir: elsewhere\n", "sub/b": ""})
    assert paths(tmp_path) == ["a", "sub/b"]


def test_the_control_planes_own_folder_is_never_part_of_it_even_if_git_tracks_it(tmp_path: Path) -> None:
    write(tmp_path, {"train.py": "", "state/admin.token": "pd_live_x", "state/runs/log": "", "other/state/keep": ""})
    os.mkfifo(tmp_path / "state" / "runs" / ".notify")
    git(tmp_path, "init", "--quiet")
    (tmp_path / ".gitignore").write_text("state/admin.token\n")
    git(tmp_path, "add", "-f", "state/admin.token")
    limits = Limits(own=tmp_path / "state")
    assert paths(tmp_path, limits) == [".gitignore", "other/state/keep", "train.py"]
    for inside in (tmp_path / "state", tmp_path / "state" / "runs"):
        with pytest.raises(SnapshotRefused, match="keeps its keys"):
            find(inside, limits)


def test_a_link_that_stays_inside_is_kept_as_a_link(tmp_path: Path) -> None:
    write(tmp_path, {"data/small/a": "", "bin/run": ""})
    (tmp_path / "bin/data").symlink_to("../data/small")
    (tmp_path / "latest").symlink_to("bin/data/a")
    links = {each.path: each.link for each in find(tmp_path, Limits()) if each.link is not None}
    assert links == {"bin/data": "../data/small", "latest": "bin/data/a"}


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("/etc/hostname", "PD-2913"),
        ("../outside", "PD-2913"),
        ("x/../../outside", "PD-2913"),
        ("missing", "PD-2915"),
        ("ignored/file", "PD-2915"),
        ("link", "PD-2915"),
    ],
)
def test_a_link_whose_target_would_not_be_there_is_refused_with_its_target(
    tmp_path: Path, target: str, code: str
) -> None:
    write(tmp_path, {".gitignore": "ignored/\n", "ignored/file": "", "x/y": ""})
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(SnapshotRefused, match=f"link -> {target}") as refusal:
        find(tmp_path, Limits())
    assert refusal.value.code == code
    assert ".perdureignore" in refusal.value.remedy


def test_sockets_and_pipes_are_refused_by_name_unless_ignored(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SnapshotRefused, match="pipe is a named pipe") as refusal:
        find(tmp_path, Limits())
    assert refusal.value.code == "PD-2914"
    (tmp_path / ".perdureignore").write_text("pipe\nserver\n")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "server"))
        assert stat.S_ISSOCK((tmp_path / "server").lstat().st_mode)
        assert paths(tmp_path) == [".perdureignore"]


def test_a_name_that_is_not_text_is_refused(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")).touch()
    with pytest.raises(SnapshotRefused, match="not UTF-8") as refusal:
        find(tmp_path, Limits())
    assert refusal.value.code == "PD-2916"


def test_the_name_of_the_list_of_files_is_taken(tmp_path: Path) -> None:
    write(tmp_path, {".perdure-manifest.json": "{}"})
    with pytest.raises(SnapshotRefused, match="snapshot's own list"):
        find(tmp_path, Limits())


def test_too_many_bytes_are_refused_naming_the_biggest_first(tmp_path: Path) -> None:
    write(tmp_path, {"big": "x" * 3000, "x/bigger": "x" * 5000, "small": "x"})
    with pytest.raises(SnapshotRefused, match=r"the biggest: x/bigger \(4.9 KiB\), big \(2.9 KiB\), small") as refusal:
        find(tmp_path, Limits(bytes=8000))
    assert refusal.value.code == "PD-2910"
    assert paths(tmp_path, Limits(bytes=8001)) == ["big", "small", "x/bigger"]


def test_too_many_files_are_refused_naming_the_fullest_folders(tmp_path: Path) -> None:
    write(tmp_path, {f"many/{number}": "" for number in range(4)} | {"few/1": ""})
    with pytest.raises(SnapshotRefused, match=r"lie in many/ \(3\), few/ \(1\)") as refusal:
        find(tmp_path, Limits(files=3))
    assert refusal.value.code == "PD-2911"
