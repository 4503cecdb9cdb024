"""Starting, finding and ending a whole cluster. All about one is in its state folder, so any process may do it."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from deploy.testcluster import births, control_plane, images, kwok, layout, machine, network, nodes, storage, tools
from deploy.testcluster.api import Api, connect
from deploy.testcluster.errors import ClusterError
from deploy.testcluster.layout import REAL_NODES, Layout
from deploy.testcluster.processes import Servers
from deploy.testcluster.progress import Say, step, to_stderr

# A real node that falls silent is NotReady after this time. Simulated ones are only kept alive where real ones are.
LOST_AFTER = "12s"
NEVER_LOST = "1h"
LEASE_SECONDS = 20


@dataclass(frozen=True)
class Cluster:
    """A cluster that was started, by this process or by another."""

    layout: Layout
    servers: Servers

    @property
    def kubeconfig(self) -> Path:
        return self.layout.kubeconfig

    @property
    def host_address(self) -> str:
        """Where pods reach what listens on this machine; only with real nodes."""
        return self.layout.host_address

    def api(self) -> Api:
        return connect(self.layout)

    def has_real_nodes(self) -> bool:
        return self.servers.find(nodes.kubelet(REAL_NODES[0])) is not None

    def load_image(self, archive: Path) -> None:
        """Give every real node the images of an OCI archive, under the names that its annotations give them."""
        for node in REAL_NODES:
            nodes.load_image(self.layout, node, archive)


def up(folder: Path, *, real: bool, say: Say = to_stderr) -> Cluster:
    """Start a cluster in an empty folder, with real nodes (root, Linux) or only with KWOK.

    When that fails, what had been started is ended again, and only its logs are kept. Raises ClusterError.
    """
    if real:
        machine.must_run_nodes()
        layout.must_fit(folder)
        machine.install_packages(say)
    for name in needed_programs(real):
        tools.program(name, say)
    cluster = Cluster(births.choose(folder, say), Servers(folder.resolve()))
    try:
        with step(say, "starting the control plane"):
            control_plane.start(cluster.layout, cluster.servers, LOST_AFTER if real else NEVER_LOST, say)
            kwok.start(cluster.layout, cluster.servers, LEASE_SECONDS if real else 0, say)
            storage.start(cluster.layout, cluster.servers)
        if real:
            add_real_nodes(cluster, say)
    except BaseException:
        down(folder, say, keep_logs=True)
        raise
    return cluster


def add_real_nodes(cluster: Cluster, say: Say = to_stderr) -> None:
    """Start the two real nodes of a running cluster, with pod network and DNS, and return when both are Ready."""
    with step(say, "starting two real nodes"):
        network.start(cluster.layout)
        archive = images.write_base(cluster.layout.folder / "base.tar")
        nodes.start(cluster.layout, cluster.servers, archive, say)


def attach(folder: Path) -> Cluster:
    """A cluster that runs already. Raises ClusterError when there is none or one of its servers has ended."""
    cluster = Cluster(layout.load(folder), Servers(folder.resolve()))
    cluster.servers.must_live()
    return cluster


def down(folder: Path, say: Say = to_stderr, *, keep_logs: bool = False) -> None:
    """End a cluster and remove all it made on this machine, whatever state it is in. Its folder goes too."""
    if not (folder / layout.FILE).exists():
        say(f"no cluster in {folder}")
        return
    found, servers = layout.load(folder), Servers(folder.resolve())
    with step(say, f"ending the cluster in {folder}"):
        nodes.stop(found, servers)
        for server in reversed(servers.all()):
            servers.stop(server.name, grace=1.0)  # what they would save goes with the folder
        network.stop(found)
        _remove_folder(found.folder, keep=("logs",) if keep_logs else ())


def needed_programs(real: bool) -> tuple[str, ...]:
    return (*control_plane.PROGRAMS, "kwok", *(nodes.PROGRAMS if real else ()))


def versions(*, real: bool) -> dict[str, str]:
    """What a cluster is made of, by program (or module of programs)."""
    used = set(needed_programs(real))
    pinned = {module.name: module.version for module in tools.MODULES if used & set(module.programs)}
    return {**pinned, **(machine.versions() if real else {})}


def status(folder: Path) -> Mapping[str, str]:
    """What runs, for a person: one line per server and node."""
    cluster = Cluster(layout.load(folder), Servers(folder.resolve()))
    lines = {
        server.name: f"runs as process {server.pid}" if server.alive() else "has ended"
        for server in cluster.servers.all()
    }
    api = cluster.api()
    try:
        lines["version"] = control_plane.version(api)
        ready = kwok.ready_nodes(api)
        for item in api.items("/api/v1/nodes"):
            name = item["metadata"]["name"]
            lines[f"node {name}"] = "Ready" if name in ready else "not Ready"
    except httpx.HTTPError as error:
        raise ClusterError(f"the API server at {cluster.layout.url} does not answer: {error}") from error
    finally:
        api.close()
    return lines


def _remove_folder(folder: Path, keep: tuple[str, ...]) -> None:
    """What makes it a cluster's folder goes last: until then, whatever interrupts this, it can be ended again."""
    entries = sorted(folder.iterdir(), key=lambda path: path.name == layout.FILE)
    for path in entries:
        if path.name in keep:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    if not keep:
        folder.rmdir()
