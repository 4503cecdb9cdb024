"""Real nodes: per node a containerd and a kubelet of its own, on one machine, and a DNS server for all."""

import signal
import subprocess
from pathlib import Path

from deploy.testcluster import cgroups, control_plane, leftovers, network, node_files, tools
from deploy.testcluster.api import connect, until
from deploy.testcluster.errors import ClusterError
from deploy.testcluster.kwok import ready_nodes
from deploy.testcluster.layout import REAL_NODES, Layout
from deploy.testcluster.node_files import socket
from deploy.testcluster.processes import Servers
from deploy.testcluster.progress import Say

DNS = "coredns"
PROXY = "kube-proxy"
PROGRAMS = ("kubelet", PROXY, DNS)
READY_WITHIN = 60.0
IMPORT_WITHIN = 300.0


def kubelet(node: str) -> str:
    """The name of a node's kubelet among the cluster's servers."""
    return f"kubelet-{node}"


def containerd(node: str) -> str:
    return f"containerd-{node}"


def start(layout: Layout, servers: Servers, base: Path, say: Say) -> None:
    """Start both nodes with the images of an archive; return when they are Ready. The network must be there."""
    for node in REAL_NODES:
        node_files.write(layout, node)
        cgroups.make(node_files.cgroup(layout, node))
        command = ["containerd", f"--config={node_files.folder(layout, node) / 'containerd.toml'}"]
        servers.start(containerd(node), [*network.enter(layout), *command], umask=0o022)
    for node in REAL_NODES:
        _await_containerd(layout, servers, node)
        load_image(layout, node, base)
        start_kubelet(layout, servers, node, say)
    start_services(layout, servers, say)
    api = connect(layout)
    try:
        until(lambda: set(REAL_NODES) <= ready_nodes(api), READY_WITHIN, "both nodes are Ready", servers.must_live)
    finally:
        api.close()


def start_kubelet(layout: Layout, servers: Servers, node: str, say: Say) -> None:
    """Start a node's kubelet, for the first time or after `stop_kubelet`."""
    home = node_files.folder(layout, node)
    control_plane.write_kubeconfig(layout, home / "kubeconfig", node, layout.inner_url)
    arguments = [
        f"--kubeconfig={home / 'kubeconfig'}", f"--config={home / 'kubelet.json'}",
        f"--root-dir={home / 'kubelet'}", f"--cert-dir={home / 'certificates'}",
        f"--hostname-override={node}", f"--node-ip={layout.node_address(node)}", "--v=1",
    ]  # fmt: skip
    command = [*network.enter(layout), str(tools.program("kubelet", say)), *arguments]
    servers.start(kubelet(node), command, umask=0o022)


def start_services(layout: Layout, servers: Servers, say: Say) -> None:
    """Start what pods find each other by: names, and addresses of services. One of each is enough on one machine."""
    control_plane.write_kubeconfig(layout, node_files.services_kubeconfig(layout), "admin", layout.inner_url)
    arguments = {DNS: f"-conf={node_files.write_dns(layout)}", PROXY: f"--config={node_files.write_proxy(layout)}"}
    for name, argument in arguments.items():
        servers.start(name, [*network.enter(layout), str(tools.program(name, say)), argument])


def stop_kubelet(servers: Servers, node: str) -> None:
    """End a node's kubelet. Its pods go on, and the cluster sees the node fall silent."""
    servers.stop(kubelet(node))


def pause_kubelet(servers: Servers, node: str) -> None:
    """Let a node fall silent without ending anything on it."""
    _signal(servers, node, signal.SIGSTOP)


def continue_kubelet(servers: Servers, node: str) -> None:
    _signal(servers, node, signal.SIGCONT)


def load_image(layout: Layout, node: str, archive: Path) -> None:
    """Import the images of an OCI archive. Repeatable. Raises ClusterError with the runtime's words."""
    command = ["ctr", f"--address={socket(layout, node)}", "--namespace=k8s.io", "images", "import", str(archive)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=IMPORT_WITHIN)
    if done.returncode:
        raise ClusterError(f"{archive} cannot be loaded into {node}: {done.stderr.strip()}")


def simulate_gpus(layout: Layout, node: str, count: int, resource: str = "nvidia.com/gpu") -> None:
    """Let a node claim to have GPUs. The scheduler counts them; containers that ask for them get no device."""
    api = connect(layout)
    try:
        path = f"/api/v1/nodes/{node}"
        amount = {resource: str(count)}
        api.patch(f"{path}/status", {"status": {"capacity": amount, "allocatable": amount}})
    finally:
        api.close()


def stop(layout: Layout, servers: Servers) -> None:
    """End nodes and pods at once and remove what they left on this machine. Repeatable."""
    if not layout.run.exists():  # no real nodes were started; and who may start none may not look into root's folders
        return
    for node in REAL_NODES:
        servers.stop(kubelet(node), grace=2.0)
    pods: dict[str, str] = {}
    for node in REAL_NODES:
        pods |= leftovers.sandboxes(node_files.runtime(layout, node))
        servers.stop(containerd(node), grace=5.0)
        leftovers.end_shims(socket(layout, node))
    for name in (DNS, PROXY):
        servers.stop(name, grace=1.0)
    cgroups.remove(layout.cgroup)
    for folder in (layout.run, layout.folder):
        leftovers.unmount_below(folder)
    leftovers.remove_pod_networks(pods)
    leftovers.remove_log_links(layout.folder)
    leftovers.remove_folder(layout.run)


def _await_containerd(layout: Layout, servers: Servers, node: str) -> None:
    command = ["ctr", f"--address={socket(layout, node)}", "version"]
    answers = lambda: subprocess.run(command, capture_output=True, timeout=10).returncode == 0  # noqa: E731
    until(answers, READY_WITHIN, f"containerd of {node} answers", servers.must_live)


def _signal(servers: Servers, node: str, number: signal.Signals) -> None:
    server = servers.find(kubelet(node))
    if server is None or not server.alive():
        raise ClusterError(f"the kubelet of {node} does not run")
    server.signal(number)
