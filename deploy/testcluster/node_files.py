"""The configuration files of real nodes: container runtime, network plug-in, kubelet, names and service addresses."""

import json
from pathlib import Path
from typing import Any

from deploy.testcluster import network
from deploy.testcluster.images import PAUSE
from deploy.testcluster.layout import REAL_NODES, Layout
from deploy.testcluster.machine import CNI_FOLDER

# Every node has an address of its own, so the kubelets may share this port; what listens on loopback may not.
KUBELET_PORT = 10250
HEALTH_PORT = 10300
PODS_PER_NODE = 110
DOMAIN = "cluster.local"

CONTAINERD = """\
version = 2
root = "{home}/containerd"
state = "{runtime}"
disabled_plugins = ["io.containerd.internal.v1.opt"]

[grpc]
address = "{run}/containerd.sock"

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{pause}"
# Without the capability SYS_RESOURCE a pod could not be given the score that it asks for, and would not start.
restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{plugins}"
conf_dir = "{home}/cni"

[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "overlayfs"
default_runtime_name = "runc"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false
"""

DNS = """\
.:53 {{
    bind {address}
    errors
    cache 1
    kubernetes {domain} {{
        kubeconfig {kubeconfig}
        ttl 2
    }}
}}
"""


def folder(layout: Layout, node: str) -> Path:
    """What a node keeps: images, pods' folders, logs."""
    return layout.folder / node


def run(layout: Layout, node: str) -> Path:
    return layout.run / node


def socket(layout: Layout, node: str) -> Path:
    """Where a node's containerd listens."""
    return run(layout, node) / "containerd.sock"


def runtime(layout: Layout, node: str) -> Path:
    """Where a node's containerd keeps what runs now."""
    return run(layout, node) / "containerd"


def cgroup(layout: Layout, node: str) -> str:
    return f"{layout.cgroup}/{node}"


def write(layout: Layout, node: str) -> None:
    """Write all that containerd and kubelet of a node read at their start."""
    home, state = folder(layout, node), run(layout, node)
    (home / "cni").mkdir(parents=True, exist_ok=True)
    state.mkdir(parents=True, exist_ok=True)
    values = {"home": home, "run": state, "runtime": runtime(layout, node), "pause": PAUSE, "plugins": CNI_FOLDER}
    (home / "containerd.toml").write_text(CONTAINERD.format(**values))
    (home / "cni" / "pods.conflist").write_text(json.dumps(_plugins(layout, node), indent=1))
    (home / "kubelet.json").write_text(json.dumps(_kubelet(layout, node), indent=1))


def write_dns(layout: Layout) -> Path:
    path = layout.folder / "Corefile"
    values = {"address": layout.dns_address, "domain": DOMAIN, "kubeconfig": services_kubeconfig(layout)}
    path.write_text(DNS.format(**values))
    return path


def write_proxy(layout: Layout) -> Path:
    path = layout.folder / "kube-proxy.json"
    document = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "clientConnection": {"kubeconfig": str(services_kubeconfig(layout))},
        "hostnameOverride": REAL_NODES[0],
        "clusterCIDR": layout.pod_network,
        # The kernel's connection table belongs to the machine; it stays as it is.
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
    }
    path.write_text(json.dumps(document, indent=1))
    return path


def services_kubeconfig(layout: Layout) -> Path:
    return layout.folder / "services.kubeconfig"


def _plugins(layout: Layout, node: str) -> dict[str, Any]:
    """All nodes' pods share one bridge and one subnet, each node with a part of the addresses."""
    first = 32 * (REAL_NODES.index(node) + 1)
    addresses = {
        "subnet": layout.pod_network,
        "rangeStart": f"10.{layout.block}.{first}.0",
        "rangeEnd": f"10.{layout.block}.{first + 31}.255",
        "gateway": layout.node_address(REAL_NODES[0]),
    }
    bridge = {
        "type": "bridge",
        "bridge": network.BRIDGE,
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "dataDir": str(folder(layout, node) / "addresses"),
            "ranges": [[addresses]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    return {"cniVersion": "0.4.0", "name": network.plugin_network(layout, node), "plugins": [bridge]}


def _kubelet(layout: Layout, node: str) -> dict[str, Any]:
    home = folder(layout, node)
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": layout.node_address(node),
        "port": KUBELET_PORT,
        "healthzPort": HEALTH_PORT + REAL_NODES.index(node),
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "containerRuntimeEndpoint": f"unix://{socket(layout, node)}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{cgroup(layout, node)}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        "clusterDNS": [layout.dns_address],
        "clusterDomain": DOMAIN,
        "resolvConf": "",
        "makeIPTablesUtilChains": False,
        "maxPods": PODS_PER_NODE,
        "podLogsDir": str(home / "logs"),
        "volumePluginDir": str(home / "plugins"),
        "nodeStatusUpdateFrequency": "2s",
        "nodeLeaseDurationSeconds": 8,
        "serializeImagePulls": False,
        # Images are loaded by hand and must stay; the machine's disk is not the cluster's to judge.
        "imageGCHighThresholdPercent": 100,
        "evictionHard": {"memory.available": "50Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
    }
