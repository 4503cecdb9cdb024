"""Where state may lie."""

import os
import stat
from pathlib import Path

import pytest

from perdure.local.errors import LocalError
from perdure.local.home import Home, filesystem_of, locate, prepare, require_fit

MOUNTS = """\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 27 0:40 / /home rw,relatime shared:5 master:1 - nfs4 server:/home rw,vers=4.2
31 30 254:1 / /home/anna/fast\\040disk rw,relatime - xfs /dev/vdb rw
32 27 0:41 / /work rw - fuse.sshfs host:/work rw
33 32 254:2 / /work rw - ext4 /dev/vdc rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib/perdure", "ext4"),
        ("/home/anna/.perdure", "nfs4"),
        ("/home/anna/fast disk/perdure", "xfs"),
        ("/homework", "ext4"),
        ("/work/perdure", "ext4"),
    ],
)
def test_the_innermost_and_latest_mount_tells_the_file_system(path: str, kind: str) -> None:
    assert filesystem_of(Path(path), MOUNTS) == kind


def test_a_home_on_a_file_system_shared_between_machines_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure.local.home.filesystem_of", lambda path, mounts: "nfs4")
    with pytest.raises(LocalError, match=r"shared between machines \(nfs4\) \[PD-4003\]"):
        require_fit(Home(tmp_path / "home"))
    assert not (tmp_path / "home").exists()


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    with pytest.raises(LocalError, match=r"is not a folder \[PD-4003\]"):
        require_fit(Home(tmp_path / "home"))


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(LocalError, match=rf"belongs to user id {os.getuid()}.*\[PD-4003\]"):
        require_fit(Home(tmp_path))


def test_a_fit_folder_is_made_private_even_when_it_was_open(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.root.mkdir(mode=0o755)
    require_fit(home)
    prepare(home)
    prepare(home)
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (home.root, home.logs)] == [0o700, 0o700]


def test_the_environment_names_the_home_and_a_tilde_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/anna")
    assert locate({}).root == Path("/home/anna/.perdure")
    assert locate({"PERDURE_HOME": "~/cloud"}).root == Path("/home/anna/cloud")
    assert locate({"PERDURE_HOME": "/srv/perdure"}).root == Path("/srv/perdure")
