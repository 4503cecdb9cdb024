"""The parts of a cluster's worker that speak with Kubernetes."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from sqlalchemy import Engine

from activities.adapters.journal import SqlJournal
from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.connection import Connection
from activities.adapters.kubernetes.informer import Informer
from activities.adapters.kubernetes.inspecting import KubernetesInspector
from activities.adapters.kubernetes.janitor import Janitor
from activities.adapters.kubernetes.naming import INSTALLATION
from activities.adapters.kubernetes.operating import KubernetesOperator
from activities.adapters.kubernetes.others import Others
from activities.adapters.kubernetes.runtime import KubernetesRuntime
from activities.adapters.kubernetes.tracking import watched
from activities.adapters.secrets import SqlSecrets
from activities.clock import utc_now
from definitions.cluster import ClusterSettings
from definitions.cluster_document import Cluster, settings_of
from store import system
from store.engine import transaction
from store.sealing import load_keys
from store.tables import ClusterRow
from workers.api_adapters import refusals
from workers.cluster_parts import ClusterParts
from workers.objects import open_objects
from workers.settings import Settings
from workers.stray_sweeper import is_known

SYNCED_WITHIN = 20.0  # seconds for the first list; without it the worker asks the cluster each time
log = logging.getLogger(__name__)


@contextmanager
def opened_kubernetes(settings: Settings, engine: Engine, row: ClusterRow) -> Iterator[ClusterParts]:
    """Raises PerdureError when there are no credentials for the cluster; one that is away is waited for."""
    installation = transaction(engine, lambda session: system.installation(session, utc_now()))
    wanted = _labelled(settings_of(Cluster.model_validate(row.document)), installation)
    if wanted.objects_url is not None:
        settings = settings.model_copy(update={"s3_pod_endpoint": wanted.objects_url})
    objects = open_objects(settings)
    secrets = SqlSecrets(engine, load_keys(os.environ, settings.secrets_key_file))
    connection = Connection(kubeconfig=settings.kubeconfig, context=settings.kube_context, namespace=wanted.namespace)
    with refusals():
        client = KubeClient(connection)
    informer, others = Informer(client, watched()), Others(client, wanted, installation)
    runtime = KubernetesRuntime(client, informer, wanted, secrets, objects)
    try:
        informer.start()
        others.start()
        if not informer.wait_synced(SYNCED_WITHIN):
            log.warning("the cluster has not been seen yet; its worker goes on trying")
        yield ClusterParts(
            settings,
            row,
            engine,
            objects,
            runtime,
            SqlJournal(engine),
            KubernetesInspector(row.name, client, informer, wanted, objects, utc_now, others),
            KubernetesOperator(client),
            Janitor(client, objects, partial(is_known, engine), utc_now, installation=installation),
        )
    finally:
        others.stop()
        informer.stop()
        client.close()


def _labelled(settings: ClusterSettings, installation: str) -> ClusterSettings:
    """With the label that says whose the objects are: another control plane may use the same namespace."""
    return settings.model_copy(update={"labels": {**settings.labels, INSTALLATION: installation}})
