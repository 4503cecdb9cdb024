"""Where ends are provoked: the runtime on real nodes, and a witness that keeps every pod as the cluster last had it."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from activities.adapters.kubernetes.cache import Change, Watched
from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.informer import Informer
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import OURS, RANKS, ROLE, TOKEN, label
from activities.adapters.s3 import S3Objects, S3Place
from definitions.attempt import AttemptRef
from definitions.cluster import ClusterSettings
from tests.activities.kubernetes.pods_world import PodsWorld
from tests.activities.kubernetes.world import SYNCED_WITHIN
from tests.support.cluster import TestCluster
from tests.support.images import Images
from tests.support.minio import REGION, Minio

Object = dict[str, Any]
Admission = Callable[[Object], None]
# Short, so that giving up can be seen; what is given up and when is the policy's to decide.
PATIENCE = {
    "image_patience": timedelta(seconds=8),
    "config_patience": timedelta(seconds=8),
    "node_patience": timedelta(seconds=20),  # longer than a kubelet takes to start again
}


class AdmittingClient(KubeClient):
    """Changes pods of a Job before they are made, as an admission webhook of the cluster might."""

    admissions: dict[str, Admission]  # by token of the attempt

    def create(self, kind: Kind, body: Object, *, dry_run: bool = False) -> Object:
        change = getattr(self, "admissions", {}).get(label(body, TOKEN))
        if kind is Kind.JOB and change is not None:
            change(body["spec"]["template"]["spec"])
        return super().create(kind, body, dry_run=dry_run)


class Stage(PodsWorld):
    """A world of real pods, as in production; its witness is a watch of its own that trims nothing."""

    client_class = AdmittingClient
    patience = 240.0  # several pods at a time, and a node that is short of everything

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        assert isinstance(self.client, AdmittingClient)
        self.admissions: dict[str, Admission] = {}
        self.client.admissions = self.admissions
        self._pods: dict[str, dict[str, Object]] = {}  # by token, then uid
        self._lock = threading.Lock()
        self._witness = Informer(self.client, (Watched(Kind.POD, labels=OURS),))
        self._witness.subscribe(self._saw)

    def start(self) -> None:
        super().start()
        self._witness.start()
        assert self._witness.wait_synced(SYNCED_WITHIN)

    def stop(self) -> None:
        self._witness.stop()
        super().stop()

    def pods_seen(self, ref: AttemptRef) -> Mapping[str, Object]:
        """Every pod of the attempt's ranks by uid, also those that are gone."""
        with self._lock:
            return dict(self._pods.get(ref.token, {}))

    def _saw(self, change: Change) -> None:
        pod = change.new or change.old
        if pod is not None and label(pod, ROLE) == RANKS:
            with self._lock:
                self._pods.setdefault(label(pod, TOKEN), {})[pod["metadata"]["uid"]] = pod


@contextmanager
def staged(cluster: TestCluster, store: Minio, images: Images) -> Iterator[Stage]:
    """A stage in a namespace of its own. The store's credentials must be in the environment."""
    objects = S3Objects(S3Place(store.bucket(), "", store.endpoint, REGION))
    with cluster.namespace() as space:
        settings = ClusterSettings(namespace=space.name, image=images.training, agent_image=images.perdure, **PATIENCE)
        stage = Stage(cluster, space, settings, objects)
        stage.start()
        try:
            yield stage
        finally:
            stage.stop()
