"""The cluster for people: started, looked at and ended by commands that say what they do."""

from pathlib import Path

import pytest

from deploy.testcluster import machine
from deploy.testcluster.__main__ import main
from tests.support.cluster import TestCluster


@pytest.mark.kube
def test_a_cluster_is_started_once_shown_and_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "state")
    try:
        assert main(["up", folder]) == 0
        said = capsys.readouterr()
        assert f"export KUBECONFIG={folder}/kubeconfig" in said.out
        assert "kubernetes v1." in said.out
        assert "kwok v0." in said.out
        assert "starting the control plane: done in" in said.err

        assert main(["up", folder]) == 0
        assert f"a cluster runs in {folder} already" in capsys.readouterr().err

        assert main(["up", "--nodes", "real", folder]) == 1
        assert "has no real nodes; end it first" in capsys.readouterr().err

        assert main(["status", folder]) == 0
        shown = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
        assert "runs as process" in shown["kube-apiserver"]
        assert shown["version"].split()[1].startswith("v1.")
    finally:
        assert main(["down", folder]) == 0
    assert not Path(folder).exists()


def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith(f"testcluster: no cluster in {tmp_path}; start one:")


def test_an_unknown_program_cannot_be_built(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "kubectl"]) == 1
    assert "no such program: kubectl" in capsys.readouterr().err


@pytest.mark.pods
def test_the_container_runtime_says_its_versions(kube_nodes: TestCluster) -> None:
    assert kube_nodes.cluster.has_real_nodes()
    found = machine.versions()
    assert set(found) == {"containerd", "runc"}
    assert all(version[0].isdigit() for version in found.values())
