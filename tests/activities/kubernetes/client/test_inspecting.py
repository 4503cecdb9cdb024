"""The nodes of a cluster, which several ask for every second: those that stay as they are cost nothing."""

from pathlib import Path
from typing import Any

from activities.adapters.kubernetes.cache import Watched
from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.informer import Informer
from activities.adapters.kubernetes.inspecting import KubernetesInspector
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.objects_folder import FolderObjects
from activities.clock import utc_now
from definitions.cluster import ClusterSettings
from tests.support.polling import eventually


def node(name: str) -> dict[str, Any]:
    ready = {"type": "Ready", "status": "True"}
    return {"metadata": {"name": name}, "status": {"allocatable": {"cpu": "8"}, "conditions": [ready]}}


def test_only_nodes_that_changed_are_read_again(client: KubeClient, tmp_path: Path) -> None:
    for name in ("stays", "changes", "goes"):
        client.create(Kind.NODE, node(name))
    informer = Informer(client, [Watched(Kind.NODE)])
    inspector = KubernetesInspector(
        "north-1", client, informer, ClusterSettings(), FolderObjects(tmp_path / "objects"), utc_now
    )
    informer.start()
    try:
        assert informer.wait_synced(30)
        before = {each.name: each for each in inspector.nodes()}
        assert {name: view.cpu_millis for name, view in before.items()} == dict.fromkeys(before, 8000)
        client.patch(Kind.NODE, "changes", {"spec": {"unschedulable": True}})
        client.delete(Kind.NODE, "goes")
        told = {"changes": False, "stays": True}
        eventually(lambda: {each.name: each.schedulable for each in inspector.nodes()} == told, 30, "both are told")
        after = {each.name: each for each in inspector.nodes()}
        assert after["stays"] is before["stays"]
    finally:
        informer.stop()
