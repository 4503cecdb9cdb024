"""A machine that lacks something is told what and how to get it; what a killed session left is ended by the next."""

import os
import shutil
import sys

import pytest
from _pytest.outcomes import Skipped

from deploy.testcluster import cluster, machine
from deploy.testcluster.errors import ClusterError
from tests.support.cluster import RUNNING, end_orphans, running_cluster, sessions

NO_PROCESS = 2**22 + 1  # above the kernel's highest


def without(monkeypatch: pytest.MonkeyPatch, *programs: str) -> None:
    found = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name in programs else found(name))


@pytest.fixture
def good_machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Linux, root, with every program; what the test's own machine is does not matter."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.delenv(RUNNING, raising=False)
    return monkeypatch


def test_a_good_machine_lacks_nothing(good_machine: pytest.MonkeyPatch) -> None:
    assert machine.lacks_for_servers() == ""
    assert machine.lacks_for_nodes() == ""


def test_real_nodes_need_root(good_machine: pytest.MonkeyPatch) -> None:
    good_machine.setattr(os, "geteuid", lambda: 1000)
    assert "run as root" in machine.lacks_for_nodes()
    assert machine.lacks_for_servers() == ""


def test_everything_needs_linux(good_machine: pytest.MonkeyPatch) -> None:
    good_machine.setattr(sys, "platform", "darwin")
    for lacks in (machine.lacks_for_nodes(), machine.lacks_for_servers()):
        assert "use a Linux machine" in lacks


def test_missing_programs_matter_only_where_they_cannot_be_installed(good_machine: pytest.MonkeyPatch) -> None:
    without(good_machine, "runc")
    assert machine.lacks_for_nodes() == ""
    without(good_machine, "runc", "apt-get")
    assert machine.lacks_for_nodes() == ("missing programs: runc; there is no apt-get here, so install them yourself")


@pytest.mark.parametrize("platform", ["darwin", "linux"])
def test_a_test_steps_aside_with_those_words(good_machine: pytest.MonkeyPatch, platform: str) -> None:
    good_machine.setattr(sys, "platform", platform)
    good_machine.setattr(os, "geteuid", lambda: 1000)
    with (
        pytest.raises(Skipped, match="run as root" if platform == "linux" else "needs Linux"),
        running_cluster(real=True),
    ):
        raise AssertionError("a cluster where none can be")


def test_a_start_without_what_it_needs_is_refused_before_anything_is_made(good_machine: pytest.MonkeyPatch) -> None:
    good_machine.setattr(os, "geteuid", lambda: 1000)
    folder = sessions() / "never"
    with pytest.raises(ClusterError, match="real nodes need root"):
        cluster.up(folder, real=True)
    assert not folder.exists()


@pytest.mark.kube
def test_the_cluster_of_a_session_that_was_killed_is_ended_by_the_next() -> None:
    session = sessions() / f"{NO_PROCESS}-1"
    started = cluster.up(session / "kwok", real=False)
    servers = started.servers.all()
    assert all(server.alive() for server in servers)
    end_orphans()
    assert not any(server.alive() for server in servers)
    assert not session.exists()
