"""Credentials come from a kubeconfig or from the pod we run in, and what is wrong with them is said."""

import json
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kubernetes.config import incluster_config

from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.connection import Connection, Transport
from activities.adapters.kubernetes.errors import KubeError
from activities.adapters.kubernetes.kinds import Kind
from tests.activities.kubernetes.client.conftest import World
from tests.support.polling import eventually

PLUGIN = """#!/bin/sh
echo x >> "$(dirname "$0")/runs"
cat <<END
{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
 "status": {"token": "from-plugin-$(wc -l < "$(dirname "$0")/runs" | tr -d ' ')",
            "expirationTimestamp": "2020-01-01T00:00:00Z"}}
END
"""


def kubeconfig(folder: Path, server: str, user: dict[str, Any], context: str = "it") -> Path:
    file = folder / "config"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "it",
        "clusters": [{"name": "it", "cluster": {"server": server}}],
        "users": [{"name": "it", "user": user}],
        "contexts": [{"name": context, "context": {"cluster": "it", "user": "it"}}],
    }
    file.write_text(json.dumps(content))
    return file


def test_a_plugin_is_asked_again_when_its_token_has_expired(world: World, tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    plugin.write_text(PLUGIN)
    plugin.chmod(0o700)
    asked = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin), "interactiveMode": "Never"}
    client = KubeClient(Connection(kubeconfig(tmp_path, world.proxy.url, {"exec": asked}), namespace="here"))
    client.get(Kind.POD, "a")
    client.get(Kind.POD, "a")
    sent = [request.authorization for request in world.proxy.requests]
    assert all(token.startswith("Bearer from-plugin-") for token in sent)
    assert len(set(sent)) == 2
    client.close()


def test_a_plugin_that_hangs_holds_nobody_up_beyond_the_limit(tmp_path: Path) -> None:
    asked = {"apiVersion": "client.authentication.k8s.io/v1", "command": "sleep", "args": ["5"]}
    file = kubeconfig(tmp_path, "https://127.0.0.1:1", {"exec": {**asked, "interactiveMode": "Never"}})
    began = time.monotonic()
    with pytest.raises(KubeError, match="plugin does not answer") as caught:
        Transport(Connection(file, within=timedelta(seconds=0.5)))
    assert time.monotonic() - began < 3
    assert caught.value.code == "PD-3101"
    eventually(lambda: not any(thread.name == "kube-credentials" for thread in threading.enumerate()), 10)


def test_a_token_in_a_file_of_the_pod_is_used(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("of-the-pod")
    (tmp_path / "ca.crt").write_text("not looked at before the first connection")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    transport = Transport(Connection())
    assert transport.url("/version") == "https://10.0.0.1:443/version"
    assert transport.authorization() == {"Authorization": "bearer of-the-pod"}


WRONG: dict[str, dict[str, Any]] = {
    "no credentials": {"server": "https://127.0.0.1:1", "user": {}},
    "a plugin that fails": {"server": "https://127.0.0.1:1", "user": {"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/false", "interactiveMode": "Never"}}},
    "no such context": {"server": "https://127.0.0.1:1", "user": {"token": "x"}, "context": "other"},
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_credentials_that_cannot_be_used_are_named(name: str, tmp_path: Path) -> None:
    file = kubeconfig(tmp_path, **WRONG[name])
    with pytest.raises(KubeError, match=str(file)) as caught:
        Transport(Connection(file))
    assert (caught.value.code, caught.value.permanent) == ("PD-3101", False)


@pytest.mark.parametrize("content", [None, "", "a: [", "[]", "just words"])
def test_a_kubeconfig_that_is_none_is_named(content: str | None, tmp_path: Path) -> None:
    file = tmp_path / "config"
    if content is not None:
        file.write_text(content)
    with pytest.raises(KubeError) as caught:
        Transport(Connection(file))
    assert caught.value.code == "PD-3101"


def test_an_error_about_a_kubeconfig_shows_no_credentials(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path, "https://127.0.0.1:1", {})
    content = json.loads(file.read_text())
    content["users"] = [{"name": "it", "token": "do-not-show"}]  # one level too high
    file.write_text(json.dumps(content))
    with pytest.raises(KubeError, match="Expected key user") as caught:
        Transport(Connection(file))
    assert "do-not-show" not in str(caught.value)


def test_outside_a_pod_a_kubeconfig_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(KubeError, match="service account of this pod") as caught:
        Transport(Connection())
    assert caught.value.code == "PD-3101"
