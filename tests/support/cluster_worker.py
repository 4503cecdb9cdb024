"""A cluster's worker for tests: started as a user starts it, and again when it has ended, as a service manager does."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from activities.adapters.kubernetes import rbac
from activities.adapters.kubernetes.kinds import Kind
from tests.support.cluster import Namespace, TestCluster
from tests.support.stack import PERDURE, Stack

PAUSE = 0.2  # seconds between an end and the next start
ENDS_WITHIN = 60
ACCOUNT = "perdure-worker"
TOKEN_SECONDS = 7200
KINDS = {
    "ServiceAccount": Kind.SERVICE_ACCOUNT,
    "Role": Kind.ROLE,
    "RoleBinding": Kind.ROLE_BINDING,
    "ClusterRole": Kind.CLUSTER_ROLE,
    "ClusterRoleBinding": Kind.CLUSTER_ROLE_BINDING,
}


class ClusterWorker:
    """Serves one cluster of a stack. `crash` holds the hooks that a test arms for this worker alone."""

    def __init__(self, stack: Stack, name: str, kubeconfig: Path, **environment: str) -> None:
        self.name = name
        self.log = stack.home.parent / f"{name}-worker.log"
        self.crash = stack.home.parent / f"{name}-worker-crash"
        self.crash.mkdir(exist_ok=True)
        self.starts = 0
        self._command = [PERDURE, "clusters", "worker", name, "--kubeconfig", str(kubeconfig)]
        self._environment = {**stack.environment, "PERDURE_CRASH_DIR": str(self.crash), **environment}
        self._over = threading.Event()
        self._process = self._start()
        self._keeper = threading.Thread(target=self._keep, name=f"keeper of {name}", daemon=True)
        self._keeper.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def arm(self, hook: str) -> Path:
        """Make the worker die when it comes to this hook; returns the file that is there once it has."""
        (self.crash / hook).touch()
        return self.crash / f"{hook}.fired"

    def kill(self) -> None:
        """SIGKILL to the worker that runs now; the next one starts by itself."""
        os.kill(self._process.pid, signal.SIGKILL)

    def close(self) -> int:
        """End it as Ctrl-C does; returns its status."""
        self._over.set()
        self._keeper.join(10)
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        return self._process.wait(ENDS_WITHIN)

    def _keep(self) -> None:
        while not self._over.wait(PAUSE):
            if self._process.poll() is not None:
                self._process = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        self.starts += 1
        with self.log.open("ab") as file:
            return subprocess.Popen(
                self._command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )


@contextmanager
def running_worker(stack: Stack, name: str, kubeconfig: Path, **environment: str) -> Iterator[ClusterWorker]:
    """The worker until the block ends; its log is shown when a test fails."""
    worker = ClusterWorker(stack, name, kubeconfig, **environment)
    try:
        yield worker
    except BaseException:
        print(worker.log.read_text()[-8000:], file=sys.stderr)
        raise
    finally:
        status = worker.close()
    assert status == 0, f"the worker ended with {status}: {worker.log.read_text()[-4000:]}"


def add_cluster(stack: Stack, name: str, folder: Path, spec: dict[str, Any]) -> None:
    """Make a cluster known to the stack, by a document in this folder."""
    document = {"apiVersion": "perdure/v1", "kind": "Cluster", "metadata": {"name": name}, "spec": spec}
    file = folder / "cluster.yaml"
    file.write_text(yaml.safe_dump(document))
    stack.run("clusters", "add", name, "-f", str(file))


def add_simulated_cluster(stack: Stack, name: str, folder: Path, space: Namespace) -> None:
    """One whose pods are simulated: their images are never fetched, and they have no volumes."""
    images = {"image": "perdure.test/train:1", "agentImage": "perdure.test/perdure:1"}
    add_cluster(stack, name, folder, {"namespace": space.name, **images, "storage": {"enabled": False}})


@contextmanager
def account(cluster: TestCluster, space: Namespace, folder: Path) -> Iterator[Path]:
    """A kubeconfig of a service account of its own, so that the API server's audit log has what it asked for."""
    api, binding = cluster.api, f"perdure-{space.name}"
    api.post(f"{space.path}/serviceaccounts", {"metadata": {"name": ACCOUNT}})
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": space.name}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    api.post(bindings, {"metadata": {"name": binding}, "roleRef": role, "subjects": [subject]})
    path = kubeconfig_of(cluster, space, ACCOUNT, folder)
    try:
        yield path
    finally:
        api.delete(f"{bindings}/{binding}")


@contextmanager
def least_account(cluster: TestCluster, space: Namespace, folder: Path) -> Iterator[Path]:
    """A kubeconfig of the account whose objects `perdure clusters rbac` prints, with those rights and no others.

    What is not in the namespace gets a name of its own, since others use the cluster too.
    """
    own, made = f"{rbac.NAME}-{space.name}", []
    try:
        for thing in yaml.safe_load_all(rbac.document(space.name)):
            meta, kind = thing["metadata"], KINDS[thing["kind"]]
            if not kind.namespaced:
                meta["name"] = own
                if "roleRef" in thing:
                    thing["roleRef"]["name"] = own
                made.append(kind.path(space.name, own))
            cluster.api.post(kind.path(space.name), thing)
        yield kubeconfig_of(cluster, space, rbac.NAME, folder)
    finally:
        for path in made:
            cluster.api.delete(path)


def kubeconfig_of(cluster: TestCluster, space: Namespace, name: str, folder: Path) -> Path:
    """Write a kubeconfig with a token of a service account that is there."""
    asked = {"spec": {"expirationSeconds": TOKEN_SECONDS}}
    token = cluster.api.post(f"{space.path}/serviceaccounts/{name}/token", asked)["status"]["token"]
    path = folder / "kubeconfig"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}],
        "clusters": [
            {"name": "test", "cluster": {"server": cluster.url, "certificate-authority": str(cluster.certificate)}}
        ],
        "users": [{"name": name, "user": {"token": token}}],
    }
    path.write_text(json.dumps(document))
    path.chmod(0o600)
    return path
