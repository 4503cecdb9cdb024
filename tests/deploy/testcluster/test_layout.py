"""Several clusters stand side by side on one machine: what each takes is its own, and fits the kernel's limits."""

import ipaddress
from pathlib import Path

import pytest

from deploy.testcluster import layout, node_files
from deploy.testcluster.errors import ClusterError
from deploy.testcluster.layout import REAL_NODES

INTERFACE_NAME = 15
SOCKET_PATH = 107


def test_two_clusters_share_no_name_and_no_token(tmp_path: Path) -> None:
    one, other = layout.new(tmp_path / "one"), layout.new(tmp_path / "other")
    for attribute in ("netns", "host_link", "cgroup", "run", "kubeconfig"):
        assert getattr(one, attribute) != getattr(other, attribute)
    assert set(one.tokens.values()).isdisjoint(other.tokens.values())
    assert len(set(one.ports.values())) == len(one.ports)


def test_addresses_lie_in_their_networks_and_apart(tmp_path: Path) -> None:
    made = layout.new(tmp_path)
    pods, services = ipaddress.ip_network(made.pod_network), ipaddress.ip_network(made.service_network)
    assert not pods.overlaps(services)
    nodes = [ipaddress.ip_address(made.node_address(node)) for node in REAL_NODES]
    assert len(set(nodes)) == len(REAL_NODES)
    assert all(address in pods for address in nodes)
    assert ipaddress.ip_address(made.service_address) in services
    for outside in (made.host_address, made.uplink_address):
        assert ipaddress.ip_address(outside) in ipaddress.ip_network(made.network)
        assert ipaddress.ip_address(outside) not in pods


def test_names_and_paths_fit_the_kernel(tmp_path: Path) -> None:
    made = layout.new(tmp_path)
    assert len(made.host_link) <= INTERFACE_NAME
    assert all(len(str(node_files.socket(made, node))) <= SOCKET_PATH for node in REAL_NODES)


def test_a_layout_is_found_again_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    made = layout.new(tmp_path)
    made.save()
    assert layout.load(tmp_path) == made
    assert (tmp_path / layout.FILE).stat().st_mode & 0o777 == 0o600
    with pytest.raises(ClusterError, match="holds a cluster already"):
        layout.new(tmp_path)


def test_a_folder_without_a_cluster_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"no cluster in .*; start one: python -m deploy.testcluster up"):
        layout.load(tmp_path)


def test_a_folder_that_leaves_no_room_for_sockets_is_refused(tmp_path: Path) -> None:
    layout.must_fit(Path("/var/lib/perdure"))
    with pytest.raises(ClusterError, match=r"has a path of \d+ characters; sockets in it leave room for 67"):
        layout.must_fit(tmp_path / ("long" * 20))
