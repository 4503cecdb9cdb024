"""Jobs whose pods have places: as a cluster's worker makes them, made by the administrator of a test cluster."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.connection import Connection
from activities.adapters.kubernetes.facts import pod_index
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import TOKEN
from activities.adapters.kubernetes.objects.render import preview
from definitions.cluster import ClusterSettings
from definitions.places import PlacedPod, Placement
from definitions.pod_needs import PodNeeds
from tests.activities.runtime_world import launch_of
from tests.support.cluster import Namespace, TestCluster


@contextmanager
def placed_job(cluster: TestCluster, space: Namespace, *nodes: str) -> Iterator[Callable[[], list[str]]]:
    """One with a pod for each of these nodes, until the block ends. Gives a look at where its pods are, by index.

    Nobody but a worker that watches the namespace lets the pods go; to it they are those of an attempt like any other.
    """
    settings = ClusterSettings(namespace=space.name, image="train:1", storage_bytes=None)
    placement = Placement(pool="test", decision=1, pods=tuple(PlacedPod(node=node) for node in nodes))
    launch = launch_of(("true",), nodes=len(nodes), placement=placement, pod=PodNeeds())
    job = next(each for each in preview(launch, settings, datetime.now(UTC)) if each["kind"] == "Job")
    client = KubeClient(Connection(cluster.kubeconfig, namespace=space.name))

    def places() -> list[str]:
        pods = client.list(Kind.POD, labels=f"{TOKEN}={launch.ref.token}")
        return [pod["spec"].get("nodeName", "") for pod in sorted(pods, key=pod_index)]

    try:
        client.create(Kind.JOB, {**job, "spec": {**job["spec"], "suspend": False}})
        yield places
    finally:
        client.delete(Kind.JOB, job["metadata"]["name"])
        client.close()
