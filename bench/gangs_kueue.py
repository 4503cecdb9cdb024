"""The other controller of gangs that we compare ours with, Kueue: its own release, for the Jobs of one namespace of a
test cluster. Needs root, since it looks for certificates in a fixed folder of the system."""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from bench.cluster_rig import servers_of, used_by
from bench.harness import say
from deploy.testcluster import go, tools
from deploy.testcluster.api import Api, until
from tests.support.certificates import Authority
from tests.support.cluster import TestCluster
from tests.support.ports import free_port

GROUP = "kueue.x-k8s.io"
BASE = f"/apis/{GROUP}/v1beta2"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
QUEUE, LOW, HIGH = "jobs", "low", "high"
IN_QUEUE = {f"{GROUP}/queue-name": QUEUE}
PRIORITY = f"{GROUP}/priority-class"
SERVED_WITH = "certificates"
WITHIN = 120.0
SETTLED = 0.3  # processor seconds of all servers in two: what new kinds made them do is over


@contextmanager
def kueue(cluster: TestCluster, namespace: str, quota: Mapping[str, str]) -> Iterator[None]:
    """It runs, unthrottled, and one queue of the namespace has that quota; jobs of `HIGH` displace those of `LOW`."""
    program, servers = tools.program("kueue", say), cluster.cluster.servers
    _install_kinds(cluster.api)
    folder = cluster.cluster.layout.folder / "kueue"
    config = folder / "config.yaml"
    command = _seeing_certificates(folder, [str(program), f"--config={config}", "--zap-log-level=error"])
    config.write_text(yaml.safe_dump(_configuration(folder)))
    servers.start("kueue", command, environment={"KUBECONFIG": str(cluster.kubeconfig)})
    try:
        for path, body in _objects(namespace, quota):
            cluster.api.post(path, body)
        until(lambda: _is_active(cluster.api), WITHIN, "Kueue's queue is active", servers.must_live)
        _settle(cluster)
        yield
        servers.must_live()
    finally:
        servers.stop("kueue")


def version() -> str:
    return next(module.version for module in tools.MODULES if module.name == "kueue")


def _install_kinds(api: Api) -> None:
    names = []
    for path in sorted(_release().glob("config/components/crd/bases/*.yaml")):
        made = api.post(CRDS, yaml.safe_load(path.read_text()))
        names.append(made["metadata"]["name"])
    assert names, "the release has no kinds where they were expected"

    def served() -> bool:
        return all(holds(api.get(f"{CRDS}/{name}"), "Established") for name in names)

    until(served, WITHIN, "Kueue's kinds are served", lambda: None)
    api.post("/api/v1/namespaces", {"metadata": {"name": "kueue-system"}})


def _release() -> Path:
    """Where the source of the pinned release lies."""
    goroot = go.root(say)
    command = [str(goroot / "bin" / "go"), "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kueue"]
    where = tools.SOURCES / "kueue"
    done = subprocess.run(command, cwd=where, env=go.environment(goroot), capture_output=True, text=True, check=True)
    return Path(done.stdout.strip())


def _seeing_certificates(folder: Path, command: list[str]) -> list[str]:
    """The command in a view of the file system of its own, in which the system's folder holds what it looks for."""
    layer = folder / "upper"
    (folder / "work").mkdir(parents=True)
    for place in (layer / "kueue" / "metrics" / "certs", folder / SERVED_WITH):
        place.mkdir(parents=True)
        Authority(place, "authority").issue("tls")
    layers = f"lowerdir=/etc,upperdir={layer},workdir={folder / 'work'}"
    script = f'mount -t overlay overlay -o {layers} /etc && exec "$@"'
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *command]


def _configuration(folder: Path) -> dict[str, Any]:
    """As it is shipped, but for its throttle, which would be all that is measured, and for what one of it needs not."""
    health, metrics, webhook = free_port(), free_port(), free_port()
    parallel = {"Job.batch": 5, "Pod": 5, f"Workload.{GROUP}": 5}
    single = {f"{kind}.{GROUP}": 1 for kind in ("LocalQueue", "Cohort", "ClusterQueue", "ResourceFlavor")}
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": "kueue-system",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
        "metrics": {"bindAddress": f"127.0.0.1:{metrics}"},
        "webhook": {"host": "127.0.0.1", "port": webhook, "certDir": str(folder / SERVED_WITH)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "controller": {"groupKindConcurrency": {**parallel, **single}},
        "clientConnection": {"qps": 1000, "burst": 2000},
        "featureGates": {"VisibilityOnDemand": False},
        "integrations": {"frameworks": ["batch/job"]},
    }


def _objects(namespace: str, quota: Mapping[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    amounts = [{"name": name, "nominalQuota": amount} for name, amount in quota.items()]
    flavors = [{"name": "default", "resources": amounts}]
    queue = {
        "namespaceSelector": {},
        "queueingStrategy": "BestEffortFIFO",
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [{"coveredResources": list(quota), "flavors": flavors}],
    }
    yield f"{BASE}/resourceflavors", _document("ResourceFlavor", "default", spec={})
    yield f"{BASE}/clusterqueues", _document("ClusterQueue", QUEUE, spec=queue)
    for name, value in ((LOW, 100), (HIGH, 1000)):
        yield f"{BASE}/workloadpriorityclasses", _document("WorkloadPriorityClass", name, value=value, description=name)
    yield f"{BASE}/namespaces/{namespace}/localqueues", _document("LocalQueue", QUEUE, spec={"clusterQueue": QUEUE})


def _document(kind: str, name: str, **rest: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1beta2", "kind": kind, "metadata": {"name": name}, **rest}


def _is_active(api: Api) -> bool:
    return holds(api.get(f"{BASE}/clusterqueues/{QUEUE}"), "Active")


def holds(thing: dict[str, Any], condition: str) -> bool:
    """Whether an object's status says so."""
    found = thing.get("status", {}).get("conditions") or []
    return any(each["type"] == condition and each["status"] == "True" for each in found)


def _settle(cluster: TestCluster) -> None:
    def quiet() -> bool:
        before = sum(processor(cluster).values())
        time.sleep(2.0)
        return sum(processor(cluster).values()) - before < SETTLED

    until(quiet, WITHIN, "the servers are at rest", cluster.cluster.servers.must_live)


def processor(cluster: TestCluster) -> dict[str, float]:
    """Processor seconds of every server of a cluster."""
    return used_by(servers_of(cluster))


def lacks() -> str | None:
    """What keeps it from running here."""
    return None if os.geteuid() == 0 else "it needs root: it looks for certificates in a fixed folder of the system"
