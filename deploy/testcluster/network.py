"""The network of a cluster's real nodes: a namespace with one bridge, and one link from it to this machine.

Everything that nodes add (pods' interfaces, rules) is in that namespace, so removing it removes them.
"""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from deploy.testcluster.errors import ClusterError
from deploy.testcluster.layout import REAL_NODES, Layout

BRIDGE = "pods"
UPLINK = "uplink"
NAMESPACES = Path("/run/netns")
# Pods of both nodes meet on the bridge, so packets between them must not be refused on their way.
SETTINGS = {"net/ipv4/ip_forward": "1", "net/bridge/bridge-nf-call-iptables": "1"}


def start(layout: Layout) -> None:
    """Make namespace, bridge and link. Raises ClusterError with the kernel's words."""
    link, inside = layout.host_link, ["-n", layout.netns]
    _ip("netns", "add", layout.netns)
    _ip("link", "add", link, "type", "veth", "peer", "name", UPLINK, "netns", layout.netns)
    _ip("addr", "add", f"{layout.host_address}/30", "dev", link)
    _ip("link", "set", link, "up")
    _ip(*inside, "addr", "add", f"{layout.uplink_address}/30", "dev", UPLINK)
    _ip(*inside, "link", "add", BRIDGE, "type", "bridge")
    for node in REAL_NODES:
        _ip(*inside, "addr", "add", f"{layout.node_address(node)}/17", "dev", BRIDGE)
    for interface in ("lo", UPLINK, BRIDGE):
        _ip(*inside, "link", "set", interface, "up")
    _ip(*inside, "route", "add", "default", "via", layout.host_address)
    _ip("route", "add", layout.network, "via", layout.uplink_address, "dev", link)
    # An address that no service has (yet) refuses at once. Else a first packet would go astray, and the kernel, which
    # remembers where it sent that, would send every further try the same way.
    refuse = ["iptables", "-w", "-A", "FORWARD", "-d", layout.service_network, "-j", "REJECT"]
    _run([*enter(layout), *refuse])
    for name, value in SETTINGS.items():
        script = f"test ! -e /proc/sys/{name} || echo {value} > /proc/sys/{name}"
        _run([*enter(layout), "sh", "-c", script])


def stop(layout: Layout) -> None:
    """Remove the namespace with all in it, and the link. Repeatable."""
    if (NAMESPACES / layout.netns).exists():
        _ip("netns", "delete", layout.netns)
    if Path("/sys/class/net", layout.host_link).exists():
        _ip("link", "delete", layout.host_link)


def enter(layout: Layout) -> list[str]:
    """What a command starts with to run in the cluster's network; its files and mounts stay this machine's."""
    return ["nsenter", f"--net={NAMESPACES / layout.netns}"]


def plugin_network(layout: Layout, node: str) -> str:
    return f"perdure-{layout.id}-{node}"


def _ip(*arguments: str) -> None:
    _run(["ip", *arguments])


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    if done.returncode:
        raise ClusterError(f"{' '.join(command)}: {done.stderr.strip()}")
