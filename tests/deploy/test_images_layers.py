"""A layer is a function of its content: what was there first, when files were written and by whom leaves no trace."""

import io
import os
import tarfile
from datetime import timedelta
from pathlib import Path

import pytest

from deploy.images import deb
from deploy.images.kept import KEPT_FOR, KeptLayers
from deploy.images.machine import MACHINES, Refused, this_machine
from deploy.images.tree import File, Folder, Link, Tree
from tests.support.debs import member, write_deb


def tree(**files: bytes) -> Tree:
    made = Tree()
    for name, data in files.items():
        made[name.replace("_", "/")] = File(data)
    return made


def members(of: Tree) -> list[tarfile.TarInfo]:
    written = io.BytesIO()
    of.write(written)
    written.seek(0)
    with tarfile.open(fileobj=written) as archive:
        return archive.getmembers()


def test_the_order_in_which_files_came_does_not_matter() -> None:
    assert tree(a_b=b"1", c=b"2").digest() == tree(c=b"2", a_b=b"1").digest()


def test_other_content_is_another_digest() -> None:
    digests = {tree(a=b"1").digest(), tree(a=b"2").digest(), tree(b=b"1").digest(), Tree().digest()}
    assert len(digests) == 4


def test_times_and_owners_on_disk_leave_no_trace(tmp_path: Path) -> None:
    def taken() -> str:
        made = Tree()
        made.take(tmp_path, "opt")
        return made.digest()

    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("x")
    (tmp_path / "link").symlink_to("folder/file")
    before = taken()
    os.utime(tmp_path / "folder" / "file", (1, 1))
    (tmp_path / "folder").chmod(0o700)
    (tmp_path / "folder" / "file").chmod(0o600)
    assert taken() == before


def test_a_folder_comes_before_what_is_in_it_also_when_nobody_named_it() -> None:
    assert [entry.name for entry in members(tree(usr_bin_tool=b""))] == ["usr", "usr/bin", "usr/bin/tool"]


def test_all_belongs_to_root_but_the_folders_that_say_otherwise() -> None:
    made = tree(bin_tool=b"")
    made["home/someone"] = Folder(owner=1000)
    assert {entry.name: (entry.uid, entry.gid) for entry in members(made)} == {
        "bin": (0, 0), "bin/tool": (0, 0), "home": (0, 0), "home/someone": (1000, 1000),
    }  # fmt: skip


@pytest.mark.parametrize("path", ["/etc/passwd", "../up", "a/../../up", "a//b", "", ".", "a/", "nul\0"])
def test_a_path_that_could_leave_the_image_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="no path of a layer"):
        Tree()[path] = File(b"")


def test_what_is_written_to_disk_is_what_was_put_in(tmp_path: Path) -> None:
    made = tree(a_file=b"text")
    made["a/link"] = Link("file")
    made.extract(tmp_path / "root")
    assert (tmp_path / "root/a/link").read_text() == "text"
    again = Tree()
    again.take(tmp_path / "root", ".")
    assert again.digest() == made.digest()


def test_a_package_is_read_with_usr_merged_and_without_set_ids(tmp_path: Path) -> None:
    package = write_deb(
        tmp_path / "x.deb",
        [
            member("", kind=tarfile.DIRTYPE, mode=0o755),
            member("bin", kind=tarfile.DIRTYPE, mode=0o755),
            member("bin/su", b"program", mode=0o4755),
            member("bin/other", kind=tarfile.LNKTYPE, to="./bin/su", mode=0o755),
            member("lib64/loader", kind=tarfile.SYMTYPE, to="/lib/loader"),
            member(".hidden", b"dot"),
        ],
        "Package: x\nVersion: 1\n",
    )
    assert dict(deb.entries(package)) == {
        "usr/bin/su": File(b"program", 0o755),
        "usr/bin/other": File(b"program", 0o755),
        "usr/lib64/loader": Link("/lib/loader"),
        ".hidden": File(b"dot"),
    }
    assert deb.control(package) == "Package: x\nVersion: 1\n"


def test_a_device_in_a_package_and_what_is_no_package_are_refused(tmp_path: Path) -> None:
    device = write_deb(tmp_path / "device.deb", [member("dev/null", kind=tarfile.CHRTYPE)])
    with pytest.raises(ValueError, match="neither a file, nor a folder, nor a link"):
        list(deb.entries(device))
    (tmp_path / "text.deb").write_text("hello")
    with pytest.raises(ValueError, match="is no Debian package"):
        deb.control(tmp_path / "text.deb")


def test_a_layer_is_built_once_for_the_same_inputs(tmp_path: Path) -> None:
    kept = KeptLayers(tmp_path)
    first, was_there = kept.layer("a layer", ["input"], [], lambda _: tree(a=b"1"))
    assert not was_there
    assert kept.layer("a layer", ["input"], [], lambda _: tree(a=b"2")) == (first, True)
    other, was_there = kept.layer("a layer", ["another input"], [], lambda _: tree(a=b"2"))
    assert not was_there
    assert other.content != first.content


def test_a_layer_that_another_program_makes_is_another_layer(tmp_path: Path) -> None:
    kept = KeptLayers(tmp_path)
    for programs in (["base.py"], ["bundle.py"], ["base.py", "bundle.py"]):
        assert kept.layer("a layer", ["input"], programs, lambda _: tree(a=b"1"))[1] is False


def test_a_build_that_dies_leaves_nothing(tmp_path: Path) -> None:
    def dies(_: Path) -> Tree:
        raise Refused("the mirror is gone")

    kept = KeptLayers(tmp_path)
    with pytest.raises(Refused):
        kept.layer("a layer", ["input"], [], dies)
    assert list(tmp_path.iterdir()) == []
    assert kept.layer("a layer", ["input"], [], lambda _: tree(a=b"1"))[1] is False


def test_layers_that_nobody_asked_for_in_a_month_are_forgotten(tmp_path: Path) -> None:
    kept = KeptLayers(tmp_path)
    recent, _ = kept.layer("recent", [], [], lambda _: tree(a=b"1"))
    old, _ = kept.layer("old", [], [], lambda _: tree(a=b"2"))
    past = old.file.stat().st_mtime - (KEPT_FOR + timedelta(minutes=1)).total_seconds()
    os.utime(old.file.parent, (past, past))
    kept.forget_unused()
    assert (recent.file.exists(), old.file.exists()) == (True, False)


def test_every_processor_family_names_its_own_loader_and_others_are_refused() -> None:
    assert {name: machine.loader for name, machine in MACHINES.items()} == {
        "x86_64": "ld-linux-x86-64.so.2",
        "aarch64": "ld-linux-aarch64.so.1",
    }
    with pytest.raises(Refused, match="this machine is riscv64"):
        this_machine("riscv64")
