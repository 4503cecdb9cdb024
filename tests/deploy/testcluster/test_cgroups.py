"""Control groups are made and removed in both versions of the hierarchy. Folders stand for the kernel's here."""

from pathlib import Path

import pytest

from deploy.testcluster import cgroups
from deploy.testcluster.errors import ClusterError


def version_1(root: Path) -> Path:
    for name in ("cpuset", "memory"):
        (root / name).mkdir()
    (root / "unified").mkdir()
    (root / "unified" / cgroups.CONTROLLERS).write_text("")
    return root


def version_2(root: Path) -> Path:
    for folder in (root, root / "ours"):
        folder.mkdir(exist_ok=True)
        (folder / cgroups.CONTROLLERS).write_text("cpu memory\n")
    return root


def test_version_1_has_the_group_in_every_hierarchy_with_controllers(tmp_path: Path) -> None:
    root = version_1(tmp_path)
    cgroups.make("ours/node-a", root)
    assert sorted(path.name for path in cgroups.hierarchies(root)) == ["cpuset", "memory"]
    assert (root / "cpuset" / "ours" / "node-a").is_dir()
    assert (root / "memory" / "ours" / "node-a").is_dir()
    assert not (root / "unified" / "ours").exists()


def test_version_2_hands_its_controllers_down(tmp_path: Path) -> None:
    root = version_2(tmp_path)
    cgroups.make("ours/node-a", root)
    assert (root / "ours" / "node-a").is_dir()
    for above in (root, root / "ours"):
        assert (above / "cgroup.subtree_control").read_text() == "+cpu +memory"


def test_a_version_2_that_hands_nothing_down_is_refused_with_the_remedy(tmp_path: Path) -> None:
    root = version_2(tmp_path)
    (root / "cgroup.subtree_control").mkdir()  # so that it cannot be written
    with pytest.raises(
        ClusterError, match=r"cannot hand its controllers down .*; run real nodes on the machine itself"
    ):
        cgroups.make("ours/node-a", root)


def test_a_group_is_removed_wherever_it_is_and_no_other(tmp_path: Path) -> None:
    root = version_1(tmp_path)
    cgroups.make("ours/node-a", root)
    cgroups.make("theirs", root)
    (root / "unified" / "ours" / "made-by-the-runtime").mkdir(parents=True)
    cgroups.remove("ours", root)
    assert not any(root.glob("*/ours"))
    assert (root / "memory" / "theirs").is_dir()
    cgroups.remove("ours", root)
