"""In a storm of faults, work through the client ends right, on a small server and on the real one."""

from datetime import timedelta
from pathlib import Path

import pytest

from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.connection import Connection
from tests.activities.kubernetes.client.storm import rage
from tests.support.chaos_proxy import ChaosProxy, Dice, chaos_proxy
from tests.support.cluster import TestCluster
from tests.support.kube_server import running_kube_server

CHANCE = 0.45
STEPS = 60


def client(kubeconfig: Path, namespace: str) -> KubeClient:
    second = timedelta(seconds=1)
    return KubeClient(Connection(kubeconfig, namespace=namespace, connect=second, read=second / 2, within=8 * second))


def weather(proxy: ChaosProxy, folder: Path, token: str, direct: KubeClient, namespace: str, seed: int) -> None:
    dice = Dice(seed, CHANCE)
    proxy.plan = dice
    ours = client(proxy.kubeconfig(folder / "through-faults", token), namespace)

    def calm() -> None:
        dice.chance = 0.0

    storm = rage(ours, direct, seed, STEPS, calm)
    ours.close()
    direct.close()
    faults = sum(proxy.did.values())
    assert faults > STEPS / 4, "the proxy did not misbehave enough to prove anything"
    assert storm.asked > 5
    assert sum(storm.failed.values()) <= storm.asked / 2


@pytest.mark.parametrize("seed", range(2))
def test_a_storm_before_a_small_server(seed: int, tmp_path: Path) -> None:
    with running_kube_server(pages=3) as server, chaos_proxy(server.url) as calm, chaos_proxy(server.url) as proxy:
        direct = client(calm.kubeconfig(tmp_path / "direct"), "here")
        weather(proxy, tmp_path, "test", direct, "here", seed)


@pytest.mark.kube
@pytest.mark.parametrize("seed", range(2))
def test_a_storm_before_the_real_server(seed: int, tmp_path: Path, kube_api: TestCluster) -> None:
    with kube_api.namespace() as space, chaos_proxy(kube_api.url, certificate=kube_api.certificate) as proxy:
        direct = KubeClient(Connection(kube_api.kubeconfig, namespace=space.name))
        weather(proxy, tmp_path, kube_api.token, direct, space.name, seed)
