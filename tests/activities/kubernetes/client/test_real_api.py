"""The client's rules hold against a real API server."""

import queue
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from activities.adapters.kubernetes.cache import Change, Watched
from activities.adapters.kubernetes.client import KubeClient, Rule
from activities.adapters.kubernetes.connection import Connection
from activities.adapters.kubernetes.errors import KubeError
from activities.adapters.kubernetes.informer import Informer
from activities.adapters.kubernetes.kinds import Kind
from tests.activities.kubernetes.client.objects import config_map
from tests.support.cluster import Namespace, TestCluster
from tests.support.polling import eventually

pytestmark = pytest.mark.kube


@pytest.fixture
def space(kube_api: TestCluster) -> Iterator[Namespace]:
    with kube_api.namespace() as space:
        yield space


@pytest.fixture
def client(kube_api: TestCluster, space: Namespace) -> Iterator[KubeClient]:
    client = KubeClient(Connection(kube_api.kubeconfig, namespace=space.name))
    yield client
    client.close()


def pod(name: str, **labels: str) -> dict[str, Any]:
    """A pod that no node takes."""
    containers = [{"name": "main", "image": "none"}]
    spec = {"containers": containers, "nodeSelector": {"nowhere": "at-all"}, "automountServiceAccountToken": False}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


def test_objects_are_made_once_changed_and_ended(client: KubeClient) -> None:
    made = client.create(Kind.POD, pod("a", app="x"))
    assert client.create(Kind.POD, pod("a", app="other"))["metadata"]["uid"] == made["metadata"]["uid"]
    assert client.patch(Kind.POD, "b", {"metadata": {"labels": {"app": "y"}}}) is None
    assert client.patch(Kind.POD, "a", {"metadata": {"labels": {"app": "y"}}}, uid="not-this-one") is None
    changed = client.patch(Kind.POD, "a", {"metadata": {"labels": {"app": "y"}}}, uid=made["metadata"]["uid"])
    assert changed is not None
    assert [found["metadata"]["name"] for found in client.list(Kind.POD, labels="app=y")] == ["a"]
    assert client.list(Kind.POD, fields="metadata.name=b") == []
    assert client.delete(Kind.POD, "a", uid="not-this-one") is False
    assert client.delete(Kind.POD, "a", grace=0) is True
    assert client.delete(Kind.POD, "a", grace=0) is False
    assert client.get(Kind.POD, "a") is None


def test_a_dry_run_makes_nothing(client: KubeClient) -> None:
    assert client.create(Kind.POD, pod("a"), dry_run=True)["metadata"]["uid"]
    assert client.apply(Kind.CONFIG_MAP, config_map("a"), dry_run=True)
    assert (client.get(Kind.POD, "a"), client.get(Kind.CONFIG_MAP, "a")) == (None, None)


def test_apply_sets_its_fields_and_respects_those_of_others_unless_it_is_to_force(
    client: KubeClient, space: Namespace
) -> None:
    assert client.apply(Kind.CONFIG_MAP, config_map("a", x="1"))["data"] == {"x": "1"}
    space.api.patch(f"{space.path}/configmaps/a?fieldManager=somebody", {"data": {"x": "2", "y": "2"}})
    with pytest.raises(KubeError, match="somebody") as caught:
        client.apply(Kind.CONFIG_MAP, config_map("a", x="1"), force=False)
    assert (caught.value.code, caught.value.permanent) == ("PD-3110", True)
    assert client.apply(Kind.CONFIG_MAP, config_map("a", x="1"))["data"] == {"x": "1", "y": "2"}


def test_refusals_of_the_real_server_have_their_codes(client: KubeClient, space: Namespace) -> None:
    elsewhere = client.in_namespace("no-such-namespace")
    space.api.post(f"{space.path}/resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"services": "0"}}})
    service = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    locked = {"metadata": {"resourceVersion": "1"}, "data": {"x": "1"}}
    client.create(Kind.CONFIG_MAP, config_map("a"))
    found = eventually(lambda: client.get(Kind.RESOURCE_QUOTA, "q"))
    eventually(lambda: (client.get(Kind.RESOURCE_QUOTA, "q") or found)["status"].get("hard"), 20, "the quota counts")
    table: dict[str, Callable[[], object]] = {
        "PD-3106": lambda: elsewhere.create(Kind.POD, pod("a")),
        "PD-3108": lambda: client.create(Kind.POD, pod("Not A Name")),
        "PD-3109": lambda: client.patch(Kind.CONFIG_MAP, "a", locked),
        "PD-3115": lambda: client.logs("no-such-pod", "main"),
        "PD-3119": lambda: client.create(Kind.SERVICE, service),
    }
    for code, call in table.items():
        with pytest.raises(KubeError) as caught:
            call()
        assert caught.value.code == code, caught.value


def test_an_account_without_rights_is_told_which_rule_it_lacks(
    client: KubeClient, kube_api: TestCluster, space: Namespace, tmp_path: Path
) -> None:
    client.create(Kind.SERVICE_ACCOUNT, {"metadata": {"name": "weak"}})
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    client.create(Kind.ROLE, {"metadata": {"name": "weak"}, "rules": rules})
    subjects = [{"kind": "ServiceAccount", "name": "weak"}]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "weak"}
    client.create(Kind.ROLE_BINDING, {"metadata": {"name": "weak"}, "subjects": subjects, "roleRef": role})
    token = space.api.post(f"{space.path}/serviceaccounts/weak/token", {"spec": {"expirationSeconds": 3600}})
    config = yaml.safe_load(kube_api.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token["status"]["token"]}
    file = tmp_path / "weak"
    file.write_text(yaml.safe_dump(config))
    weak = KubeClient(Connection(file, namespace=space.name))
    eventually(lambda: weak.can_i([Rule("list", Kind.POD)])[Rule("list", Kind.POD)], 10, "the right is there")
    asked = [Rule("list", Kind.POD), Rule("get", Kind.POD, "log"), Rule("create", Kind.JOB), Rule("list", Kind.NODE)]
    assert list(weak.can_i(asked).values()) == [True, False, False, False]
    assert weak.list(Kind.POD) == []
    with pytest.raises(KubeError) as caught:
        weak.create(Kind.JOB, {"metadata": {"name": "a"}})
    assert '{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create"]}' in str(caught.value)
    assert (caught.value.code, caught.value.permanent) == ("PD-3103", True)
    weak.close()


def test_the_server_says_its_version(client: KubeClient) -> None:
    assert client.version().startswith("v1.")


def test_a_watch_tells_every_change_from_a_list_on(client: KubeClient) -> None:
    version = client.listing(Kind.CONFIG_MAP).version
    client.create(Kind.CONFIG_MAP, config_map("a"))
    client.patch(Kind.CONFIG_MAP, "a", {"data": {"x": "1"}})
    client.delete(Kind.CONFIG_MAP, "a")
    events = [event for event in client.watch(Kind.CONFIG_MAP, version, seconds=2) if event.type != "BOOKMARK"]
    mine = [event.type for event in events if event.object["metadata"]["name"] == "a"]
    assert mine == ["ADDED", "MODIFIED", "DELETED"]


def test_a_version_that_is_yet_to_come_is_silence(client: KubeClient) -> None:
    """Why the informer compares versions: after etcd was restored, a watch from before tells nothing, and no error."""
    client.create(Kind.CONFIG_MAP, config_map("a"))
    assert client.current_version(Kind.CONFIG_MAP) == client.listing(Kind.CONFIG_MAP).version
    events = client.watch(Kind.CONFIG_MAP, "999999999999", seconds=1)
    client.create(Kind.CONFIG_MAP, config_map("b"))
    assert [event for event in events if event.type != "BOOKMARK"] == []


def test_pods_that_run_are_seen_from_first_to_last(client: KubeClient, kube_api: TestCluster) -> None:
    """Through a simulated node: the picture follows a pod without anybody asking for it."""
    informer = Informer(
        client, [Watched(Kind.POD, labels="app=x", index=lambda found: found["metadata"]["labels"]["app"])]
    )
    changes: queue.SimpleQueue[Change] = queue.SimpleQueue()
    informer.subscribe(changes.put)
    informer.start()
    try:
        assert informer.wait_synced(20)
        with kube_api.simulated_nodes(1, {"cpu": "8", "memory": "8Gi", "pods": "20"}) as (node,):
            wanted = pod("a", app="x")
            wanted["spec"] |= {
                "nodeSelector": {"kubernetes.io/hostname": node},
                "tolerations": [{"operator": "Exists"}],
            }
            began = datetime.now(UTC)
            client.create(Kind.POD, wanted)
            running = lambda: (informer.get(Kind.POD, "a") or {}).get("status", {}).get("phase") == "Running"  # noqa: E731
            eventually(running, 30, "the pod runs")
            assert [found["metadata"]["name"] for found in informer.having(Kind.POD, "x")] == ["a"]
            client.delete(Kind.POD, "a", grace=0)
            eventually(lambda: not informer.cache(Kind.POD), 30, "the pod is gone")
        told = []
        while not changes.empty():
            told.append(changes.get())
        assert (told[0].old, told[-1].new) == (None, None)
        assert all(change.at >= began for change in told)
        assert informer.trouble(Kind.POD) is None
    finally:
        informer.stop()
