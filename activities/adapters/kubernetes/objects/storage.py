"""The attempt's Secret, and the claim of the volume that holds the job's run folder."""

import base64
from typing import Any

from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import REF, job_labels
from activities.adapters.kubernetes.objects.job import meta
from activities.ports import PortError
from definitions.attempt import AttemptLaunch
from definitions.cluster import ClusterSettings
from definitions.pod_needs import PodNeeds

Json = dict[str, Any]

MOST = 1024 * 1024 - 16 * 1024  # bytes that a Secret can hold, less what its metadata takes


def secret(launch: AttemptLaunch, settings: ClusterSettings, base: str, files: dict[str, str]) -> Json:
    """`files`: content by key. Raises PortError(permanent) when it is more than a Secret can hold."""
    encoded = {name: encode(content) for name, content in files.items()}
    if sum(map(len, encoded.values())) > MOST:
        what = "the job's command, environment and secrets together are more than a Secret of a cluster can hold"
        raise PortError(what, permanent=True, code="PD-3156")
    return {
        "apiVersion": Kind.SECRET.api_version,
        "kind": "Secret",
        "metadata": meta(base, settings, launch.ref),
        "type": "Opaque",
        "data": encoded,
    }


def encode(content: str) -> str:
    return base64.b64encode(content.encode()).decode()


def decode(content: str) -> str:
    return base64.b64decode(content).decode()


def claim(launch: AttemptLaunch, settings: ClusterSettings, name: str) -> Json:
    """Owned by nothing: it stays until the job is forgotten."""
    ref, storage = launch.ref, (launch.pod or PodNeeds()).storage
    size = settings.storage_bytes if storage is None else storage.bytes
    class_name = (storage and storage.class_name) or settings.storage_class
    spec: Json = {
        "accessModes": ["ReadWriteMany" if settings.shared_storage else "ReadWriteOnce"],
        "resources": {"requests": {"storage": str(size)}},
    }
    if class_name is not None:
        spec["storageClassName"] = class_name
    return {
        "apiVersion": Kind.PERSISTENT_VOLUME_CLAIM.api_version,
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name,
            "namespace": settings.namespace,
            "labels": settings.labels | job_labels(ref.tenant, ref.project, ref.job),
            "annotations": {REF: ref.model_dump_json()},  # of the attempt that made it, and of the job
        },
        "spec": spec,
    }
