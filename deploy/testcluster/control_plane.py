"""etcd, API server, controller manager and scheduler as plain processes on loopback. Needs no root."""

import json
import os
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from deploy.testcluster import tools
from deploy.testcluster.api import Api, connect, until
from deploy.testcluster.layout import REAL_NODES, Layout
from deploy.testcluster.processes import Servers
from deploy.testcluster.progress import Say

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
READY_WITHIN = 60.0
# Who may be asked what they did: the service accounts that a test makes, but not those of the controllers.
AUDITED = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "userGroups": ["system:serviceaccounts:kube-system"]},
        {"level": "Metadata", "userGroups": ["system:serviceaccounts"]},
    ],
}
# Their defaults (20 to 50 requests a second) would be what a load test measures.
UNHURRIED = ("--kube-api-qps=1000", "--kube-api-burst=2000")


def start(layout: Layout, servers: Servers, lost_after: str, say: Say) -> None:
    """Start the four and return when the API answers and the default namespace is usable.

    A node that says nothing for `lost_after` (a Go duration) becomes NotReady.
    """
    programs = {name: str(tools.program(name, say)) for name in PROGRAMS}
    _write_credentials(layout)
    servers.start("etcd", [programs["etcd"], *_etcd(layout)])
    servers.start("kube-apiserver", [programs["kube-apiserver"], *_api_server(layout)])
    until(layout.certificate.exists, READY_WITHIN, "the API server's certificate", servers.must_live)
    api = connect(layout)
    try:
        until(lambda: api.text("/readyz") == "ok", READY_WITHIN, "the API server is ready", servers.must_live)
        _start_controllers(layout, servers, programs, lost_after)
        usable = "/api/v1/namespaces/default/serviceaccounts/default"
        until(lambda: api.find(usable) is not None, READY_WITHIN, "the default service account", servers.must_live)
    finally:
        api.close()


def version(api: Api) -> str:
    reported: str = api.get("/version")["gitVersion"]
    return reported


def _start_controllers(layout: Layout, servers: Servers, programs: dict[str, str], lost_after: str) -> None:
    for name, arguments in (
        ("kube-controller-manager", _controller_manager(layout, lost_after)),
        ("kube-scheduler", _scheduler(layout)),
    ):
        servers.start(name, [programs[name], *arguments])


def _etcd(layout: Layout) -> list[str]:
    client, peer = (f"http://127.0.0.1:{layout.ports[name]}" for name in ("etcd", "etcd-peer"))
    return [
        "--name=test", f"--data-dir={layout.folder / 'etcd'}", "--log-level=warn",
        f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=test={peer}",
        # Nothing here must survive a power cut, and a full disk's worth of history must not stop a load test.
        "--unsafe-no-fsync", "--quota-backend-bytes=8000000000",
    ]  # fmt: skip


def _api_server(layout: Layout) -> list[str]:
    control = layout.folder / "control"
    return [
        f"--etcd-servers=http://127.0.0.1:{layout.ports['etcd']}",
        "--bind-address=127.0.0.1", f"--secure-port={layout.ports['api']}",
        # Pods reach the API there; see companion.py.
        f"--advertise-address={layout.host_address}",
        f"--cert-dir={control / 'certificates'}", f"--token-auth-file={control / 'tokens.csv'}",
        f"--service-account-key-file={control / 'service-account.pub'}",
        f"--service-account-signing-key-file={control / 'service-account.key'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
        f"--service-cluster-ip-range={layout.service_network}", "--allow-privileged=true",
        # Else logs and exec look up the name of the node.
        "--kubelet-preferred-address-types=InternalIP",
        f"--audit-policy-file={control / 'audit.json'}", f"--audit-log-path={layout.audit_log}",
        "--max-requests-inflight=800", "--max-mutating-requests-inflight=400",
    ]  # fmt: skip


def _controller_manager(layout: Layout, lost_after: str) -> list[str]:
    control = layout.folder / "control"
    return [
        f"--kubeconfig={layout.kubeconfig}", "--bind-address=127.0.0.1",
        f"--secure-port={layout.ports['controller-manager']}",
        f"--service-account-private-key-file={control / 'service-account.key'}",
        f"--root-ca-file={layout.certificate}", "--use-service-account-credentials",
        "--leader-elect=false", "--concurrent-job-syncs=10",
        # Addresses and routes of pods come from the network plug-in here.
        "--controllers=*,-node-ipam-controller,-node-route-controller,-service-lb-controller",
        f"--node-monitor-grace-period={lost_after}", "--node-monitor-period=1s", *UNHURRIED,
    ]  # fmt: skip


def _scheduler(layout: Layout) -> list[str]:
    return [
        f"--kubeconfig={layout.kubeconfig}", "--bind-address=127.0.0.1",
        f"--secure-port={layout.ports['scheduler']}", "--leader-elect=false", *UNHURRIED,
    ]  # fmt: skip


def _write_credentials(layout: Layout) -> None:
    control = layout.folder / "control"
    control.mkdir(mode=0o700, exist_ok=True)
    lines = [f'{layout.tokens["admin"]},admin,admin,"system:masters"']
    lines += [f'{layout.tokens[node]},system:node:{node},{node},"system:nodes"' for node in REAL_NODES]
    _private(control / "tokens.csv", "\n".join(lines) + "\n")
    _private(control / "audit.json", json.dumps(AUDITED))
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    _private(control / "service-account.key", private.decode())
    _private(control / "service-account.pub", public.decode())
    write_kubeconfig(layout, layout.kubeconfig, "admin", layout.url)


def write_kubeconfig(layout: Layout, path: Path, user: str, url: str) -> None:
    """A kubeconfig (JSON is YAML) for one of the cluster's tokens, readable by its owner only."""
    cluster = {"server": url, "certificate-authority": str(layout.certificate)}
    name = f"perdure-test-{layout.id}"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": user}}],
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": user, "user": {"token": layout.tokens[user]}}],
    }
    _private(path, json.dumps(document, indent=1) + "\n")


def _private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
