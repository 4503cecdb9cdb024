"""Elastic jobs on a cluster: each attempt has as many pods as places, on the nodes that were decided for it."""

from collections.abc import Iterator

import pytest

from tests.integration.test_placed_pods import PATIENCE, Field, running_field
from tests.support.cluster import TestCluster
from tests.support.polling import eventually

pytestmark = pytest.mark.kube
SAVES = {
    "checkpoints": {"command": ["./save"], "directory": "/saves", "grace": "30s"},
    "volumes": [{"name": "saves", "source": {"emptyDir": {}}}],
    "volumeMounts": [{"name": "saves", "mountPath": "/saves"}],
}


@pytest.fixture(scope="module")
def field(kube_api: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    with running_field(kube_api, tmp_path_factory, PERDURE_RESIZE_EVERY="1s") as made:
        yield made


def until_it_runs_on(field: Field, job: str, nodes: int, attempt: int) -> None:
    def there() -> bool:
        view = field.stack.job(job)
        return (view["phase"], view["nodes"], view["attempt"]) == ("Running", nodes, attempt)

    eventually(there, PATIENCE, f"{job} on {nodes} nodes")
    assert field.until_it_runs(job) == field.decided(job)
    assert len(field.pods(job)) == nodes


@pytest.mark.timeout(400)
def test_an_attempt_has_as_many_pods_as_places_when_a_job_grows_and_when_a_person_resizes_it(field: Field) -> None:
    other = field.submit("other", nodes=2, gpus=8)
    field.until_it_runs(other)
    wide = field.submit("wide", nodes=3, gpus=8, elastic={"minNodes": 1, "maxNodes": 3}, **SAVES)
    until_it_runs_on(field, wide, 1, 1)
    field.finish(other)
    until_it_runs_on(field, wide, 3, 2)
    assert set(field.decided(wide)) == set(field.nodes)
    field.stack.run("jobs", "resize", wide, "--nodes", "2")
    until_it_runs_on(field, wide, 2, 3)
    field.finish(wide)
    attempts = field.stack.items(wide, "attempts")
    assert [each["failure"] for each in attempts] == ["preempted", "preempted", None]
