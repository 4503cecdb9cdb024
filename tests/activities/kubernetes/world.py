"""The world of the Kubernetes runtime: a namespace of a real cluster, an object store, secrets in memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.connection import Connection
from activities.adapters.kubernetes.informer import Informer
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import TOKEN
from activities.adapters.kubernetes.runtime import KubernetesRuntime
from activities.adapters.kubernetes.tracking import watched
from activities.ports import ObjectStore
from definitions.attempt import AttemptRef, Workdir
from definitions.cluster import ClusterSettings
from tests.activities.local.world import FixedSecrets
from tests.support.cluster import Namespace, TestCluster

W = TypeVar("W", bound="KubernetesWorld")
SYNCED_WITHIN = 30.0
MISSING = "0" * 64


class KubernetesWorld:
    """One runtime, as a cluster's worker has it. `calls`: every request that it sent, as `verb resource`."""

    patience = 300.0  # a pod takes its seconds, and a gang of eight many of them
    client_class: type[KubeClient] = KubeClient

    def __init__(
        self,
        cluster: TestCluster,
        space: Namespace,
        settings: ClusterSettings,
        objects: ObjectStore,
        secrets: FixedSecrets | None = None,
    ) -> None:
        self.cluster = cluster
        self.space = space
        self.settings = settings
        self.objects = objects
        self.secrets = secrets or FixedSecrets()
        self.calls: list[str] = []
        self.missing_workdir = Workdir(mode="snapshot", sha256=MISSING)
        self.client = self.client_class(
            Connection(kubeconfig=cluster.kubeconfig, namespace=space.name),
            on_call=lambda verb, resource, status, seconds: self.calls.append(f"{verb} {resource}"),
        )
        self.informer = Informer(self.client, watched())
        self.runtime = KubernetesRuntime(self.client, self.informer, settings, self.secrets, objects)

    def start(self) -> None:
        self.informer.start()
        assert self.informer.wait_synced(SYNCED_WITHIN)

    def stop(self) -> None:
        self.informer.stop()
        self.client.close()

    def set_secret(self, name: str, value: str) -> None:
        self.secrets.values[name] = value

    def objects_of(self, ref: AttemptRef) -> list[str]:
        """What the cluster holds of an attempt, as `kind name`."""
        kinds = (Kind.JOB, Kind.POD, Kind.SERVICE, Kind.SECRET)
        found = []
        for kind in kinds:
            items = self.client.list(kind, labels=f"{TOKEN}={ref.token}")
            found += [f"{kind.value.name} {item['metadata']['name']}" for item in items]
        return found


@contextmanager
def running(world: W) -> Iterator[W]:
    world.start()
    try:
        yield world
    finally:
        world.stop()
