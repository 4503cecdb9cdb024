"""What one cluster is made of on this machine: folder, names, ports and addresses. Written down once, at its birth."""

import ipaddress
import json
import secrets
import socket
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from deploy.testcluster.errors import ClusterError

FILE = "cluster.json"
# Below the range from which the kernel takes ports for outgoing connections.
PORTS = range(20000, 32000)
SERVERS = ("etcd", "etcd-peer", "api", "controller-manager", "scheduler", "kwok")
REAL_NODES = ("node-a", "node-b")
# The kernel takes 107 characters for a socket's path; this is the longest that a kubelet appends.
LONGEST_FOLDER = 107 - len("/node-a/kubelet/pod-resources/1234567890")


@dataclass(frozen=True)
class Layout:
    """`block` is the second byte of the cluster's own network 10.<block>.0.0/16."""

    folder: Path
    id: str
    block: int
    ports: dict[str, int]
    tokens: dict[str, str]

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.ports['api']}"

    @property
    def inner_url(self) -> str:
        """The API server as seen from the network of the real nodes."""
        return f"https://{self.host_address}:{self.ports['api']}"

    @property
    def certificate(self) -> Path:
        return self.folder / "control" / "certificates" / "apiserver.crt"

    @property
    def audit_log(self) -> Path:
        """One JSON line for every request of a service account that is not the control plane's own."""
        return self.folder / "logs" / "audit.jsonl"

    @property
    def network(self) -> str:
        return f"10.{self.block}.0.0/16"

    @property
    def pod_network(self) -> str:
        return f"10.{self.block}.0.0/17"

    @property
    def service_network(self) -> str:
        return f"10.{self.block}.128.0/18"

    @property
    def service_address(self) -> str:
        """Where pods find the API server: the first address of the service network."""
        return f"10.{self.block}.128.1"

    @property
    def dns_address(self) -> str:
        return f"10.{self.block}.0.1"

    @property
    def host_address(self) -> str:
        """Where pods reach what listens on this machine."""
        return f"10.{self.block}.255.1"

    @property
    def uplink_address(self) -> str:
        return f"10.{self.block}.255.2"

    @property
    def netns(self) -> str:
        return f"perdure-{self.id}"

    @property
    def host_link(self) -> str:
        """The network interface of this machine that leads to the cluster; 15 characters are the kernel's limit."""
        return f"perdure-{self.id}"

    @property
    def cgroup(self) -> str:
        return f"perdure-{self.id}"

    @property
    def run(self) -> Path:
        """Sockets and runtime state: short, since a socket's path has at most 107 characters."""
        return Path("/run") / f"perdure-{self.id}"

    def node_address(self, node: str) -> str:
        return f"10.{self.block}.0.{REAL_NODES.index(node) + 1}"

    def save(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o755)
        path = self.folder / FILE
        path.touch(mode=0o600)
        path.write_text(json.dumps({**asdict(self), "folder": str(self.folder)}, indent=1))


def new(folder: Path, others: Sequence[Layout] = ()) -> Layout:
    """Choose what is free on this machine now, and is none of the others'. Raises ClusterError when the folder holds a
    cluster already."""
    if (folder / FILE).exists():
        raise ClusterError(
            f"{folder} holds a cluster already; end it first: python -m deploy.testcluster down {folder}"
        )
    tokens = {name: secrets.token_urlsafe(24) for name in ("admin", *REAL_NODES)}
    return Layout(folder.resolve(), secrets.token_hex(3), _free_block(others), _free_ports(SERVERS, others), tokens)


def must_fit(folder: Path) -> None:
    """Raise ClusterError when a folder's path is too long for the sockets that kubelets make below it."""
    length = len(str(folder.resolve()))
    if length > LONGEST_FOLDER:
        raise ClusterError(
            f"{folder} has a path of {length} characters; sockets in it leave room for {LONGEST_FOLDER}: name another"
        )


def load(folder: Path) -> Layout:
    """Raises ClusterError when there is no cluster in this folder."""
    try:
        document = json.loads((folder / FILE).read_text())
    except FileNotFoundError:
        raise ClusterError(f"no cluster in {folder}; start one: python -m deploy.testcluster up {folder}") from None
    return Layout(**{**document, "folder": Path(document["folder"])})


def _free_ports(names: tuple[str, ...], others: Sequence[Layout]) -> dict[str, int]:
    chosen: dict[str, int] = {}
    theirs = {port for each in others for port in each.ports.values()}
    while len(chosen) < len(names):
        port = secrets.choice(PORTS)
        if port not in theirs and port not in chosen.values() and _free(port):
            chosen[names[len(chosen)]] = port
    return chosen


def _free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("0.0.0.0", port))
        except OSError:
            return False
        return True


def _free_block(others: Sequence[Layout]) -> int:
    theirs = {each.block for each in others}
    taken = [
        ipaddress.ip_network(f"{address.address}/{address.netmask}", strict=False)
        for addresses in psutil.net_if_addrs().values()
        for address in addresses
        if address.family == socket.AF_INET and address.netmask
    ]
    free = [
        block
        for block in range(64, 224)
        if block not in theirs
        and not any(network.overlaps(ipaddress.ip_network(f"10.{block}.0.0/16")) for network in taken)
    ]
    if not free:
        raise ClusterError("no free network between 10.64.0.0/16 and 10.223.0.0/16; other clusters left over?")
    return secrets.choice(free)
