"""The repository speaks of itself alone: no addresses of registries, no paths of one machine, no unfinished work."""

import ast
import hashlib
import re
from pathlib import Path

import pytest

from tests.arch.source import python_files, text, tracked, tree

# Written in pieces, so that this file passes its own test.
REGISTRY_HOSTS = (
    "pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".org", "crates" + ".io", "proxy.golang" + ".org",
    "maven" + ".org", "deb.debian" + ".org", "test.pypi" + ".org", "anaconda" + ".org",
)  # fmt: skip
MACHINE_PATHS = (
    "/work" + "/main",
    "/work" + "/shared",
    "/root" + "/",
    "/tmp" + "/pd",
    "/opt" + "/wheels",
    ".pyenv" + "/",
)
UNFINISHED = (r"\bTO" + r"DO\b", r"\bFIX" + r"ME\b", r"\bXX" + r"X\b", r"\bNot" + r"ImplementedError\b")
# Names of other products and of tools nobody needs to know, as digests: the list itself must not name them.
OTHER_NAMES = {
    "33c5913741220258",
    "14f05e52d32fbd1e",
    "fe31a367d52c7145",
    "0b6b52cb61d0d120",
    "bb61f31dfde92369",
    "9336a45f8f82f653",
    "8348e0915fc78ec2",
    "c857d09db23e6822",
    "c70eca6b0f88f44d",
    "67e5a3025bc013d0",
    "30e26161cfe5b294",
}
# Says on a lesser machine what a test lacks; in CI such a skip fails the run.
MAY_SKIP = Path("tests/support/lacking.py")
NOT_PROSE = {".json", ".png", ".svg", ".txt"}


def prose() -> list[Path]:
    """Files that people write; recorded histories and lock files hold hashes in which any word may occur."""
    return [path for path in tracked() if path.suffix not in NOT_PROSE and path.name != "LICENSE"]


def lines_with(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    return [
        f"{path}:{number}: {found.group()}"
        for path in paths
        for number, line in enumerate(text(path).splitlines(), 1)
        if (found := pattern.search(line))
    ]


@pytest.mark.parametrize("words", [REGISTRY_HOSTS, MACHINE_PATHS], ids=["registries", "machine paths"])
def test_no_file_names_a_registry_or_a_path_of_one_machine(words: tuple[str, ...]) -> None:
    assert lines_with(re.compile("|".join(map(re.escape, words))), list(tracked())) == []


def test_nothing_is_left_unfinished() -> None:
    assert lines_with(re.compile("|".join(UNFINISHED)), prose()) == []


def test_no_other_product_is_named() -> None:
    found = [
        f"{path}: {word}"
        for path in prose()
        for word in set(re.findall(r"[a-z0-9]+", text(path).lower()))
        if hashlib.sha256(word.encode()).hexdigest()[:16] in OTHER_NAMES
    ]
    assert found == []


def test_no_test_is_skipped_or_expected_to_fail() -> None:
    forbidden = {"skip", "skipif", "xfail", "importorskip"}
    found = [
        f"{path}:{node.lineno}: {node.attr}"
        for path in python_files("tests")
        if path != MAY_SKIP
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute) and node.attr in forbidden and ast.unparse(node.value).startswith("pytest")
    ]
    assert found == []
