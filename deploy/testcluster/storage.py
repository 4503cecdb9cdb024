"""Storage classes whose volumes are folders of this machine, and the companion process that makes them."""

import sys
from pathlib import Path

from deploy.testcluster.api import connect
from deploy.testcluster.layout import Layout
from deploy.testcluster.processes import Servers

PROVISIONER = "perdure.dev/test-folders"
DEFAULT_CLASS = "folders"
OTHER_CLASS = "folders-too"
COMPANION = "companion"
ROOT = Path(__file__).parents[2]


def start(layout: Layout, servers: Servers) -> None:
    """Offer a default class and one that is not; both can be mounted by many nodes, by any user."""
    api = connect(layout)
    try:
        for name in (DEFAULT_CLASS, OTHER_CLASS):
            marked = {"storageclass.kubernetes.io/is-default-class": "true"} if name == DEFAULT_CLASS else {}
            api.ensure("/apis/storage.k8s.io/v1/storageclasses", _class(name, marked))
    finally:
        api.close()
    command = [sys.executable, "-m", "deploy.testcluster.companion", str(layout.folder)]
    # Folders of volumes must be writable by whatever user a pod runs as.
    servers.start(COMPANION, command, environment={"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}, umask=0)


def _class(name: str, annotations: dict[str, str]) -> dict[str, object]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "annotations": annotations},
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
    }
