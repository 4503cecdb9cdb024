"""What ends an attempt is judged from the words of a real kubelet, and a report says so of every class."""

import os
from collections.abc import Iterator
from unittest import mock

import pytest

from definitions.pod import PodCause
from definitions.states import FailureClass
from deploy.testcluster.progress import to_stderr
from tests.pods_report import nodes_act
from tests.pods_report.provocations import PROVOCATIONS, Provocation
from tests.pods_report.report import UNIT_TEST, UNPROVOKED, Row, rows
from tests.pods_report.sources import KUBELET, PATCHED, source, writers
from tests.pods_report.stage import staged
from tests.support.cluster import TestCluster
from tests.support.images import Images
from tests.support.minio import Minio

ALL = (*PROVOCATIONS, *nodes_act.PROVOCATIONS)
# Classes that the control plane gives, for reasons that no pod knows of.
NOT_OF_PODS = {FailureClass.DEPENDENCY, FailureClass.REPEATED}


@pytest.fixture(scope="module")
def report(kube_nodes: TestCluster, pods_store: Minio, pod_images: Images) -> Iterator[dict[str, Row]]:
    with (
        mock.patch.dict(os.environ, pods_store.environment),
        staged(kube_nodes, pods_store, pod_images) as stage,
    ):
        yield {row.name: row for row in rows(stage, to_stderr)}


@pytest.mark.pods
@pytest.mark.timeout(900)
@pytest.mark.parametrize("provocation", ALL, ids=lambda each: each.name)
def test_an_end_is_told_in_the_words_of_what_brought_it_about(provocation: Provocation, report: dict[str, Row]) -> None:
    row = report[provocation.name]
    assert (row.failure, row.cause) == (provocation.failure, provocation.cause), row.words
    assert row.source == provocation.source, row.writers


def test_every_class_and_every_cause_is_provoked_or_names_its_unit_test() -> None:
    told = [
        *((one.failure, one.cause) for one in ALL),
        *((failure, cause) for failure, cause, _ in UNPROVOKED.values()),
    ]
    assert {failure for failure, _ in told} == set(FailureClass) - NOT_OF_PODS
    assert {cause for _, cause in told if cause is not None} == set(PodCause)
    assert UNIT_TEST not in {one.source for one in ALL}


def test_a_status_that_somebody_else_wrote_is_called_patched() -> None:
    def pod(*managers: str) -> dict[str, object]:
        fields = [{"manager": name, "subresource": "status"} for name in managers]
        return {"metadata": {"managedFields": [*fields, {"manager": "perdure"}]}}

    assert writers([pod("kube-scheduler", KUBELET)]) == (KUBELET, "kube-scheduler")
    assert source(writers([pod("kube-scheduler", KUBELET)])) == KUBELET
    assert source(writers([pod("kube-scheduler")])) == "kube-scheduler"
    assert source(writers([pod(KUBELET, "curl")])) == PATCHED
