"""Queues, flavors, priority classes, topologies and pools: strict, and clear about what contradicts itself."""

from typing import Any

import pytest
from pydantic import BaseModel

from definitions.documents import KINDS, AnyKind, ForScheduler, parse
from definitions.node_pool import NodePool
from definitions.priority_class import PriorityClass
from definitions.queue import PreemptOthers, PreemptWithin, Queue
from definitions.resource_flavor import ResourceFlavor
from definitions.spec_errors import SpecError
from definitions.spec_validation import check
from definitions.topology import Topology
from definitions.yaml_writer import dump
from tests.definitions.test_job_model import job

SIMULATED = {"count": 4, "cpus": 8, "memory": "64Gi"}
LEVELS = [{"name": "rack", "nodeLabel": "example.org/rack"}]


def document(kind: str, spec: dict[str, Any] | None = None, name: str = "a") -> dict[str, Any]:
    return {"apiVersion": "perdure/v1", "kind": kind, "metadata": {"name": name}, "spec": spec or {}}


def quotas(**quotas: Any) -> dict[str, Any]:
    return {"quotas": quotas}


@pytest.mark.parametrize(
    ("model", "spec", "path", "code", "says", "write"),
    [
        (Queue, {"weight": -1.0}, "spec.weight", "PD-1106", "not at least 0", "at least 0"),
        (Queue, {"weight": "2"}, "spec.weight", "PD-1103", "text", "write 2"),
        (Queue, {"order": "Strict"}, "spec.order", "PD-1105", "not one of", "did you mean strict?"),
        (Queue, {"stop": "drain"}, "spec.stop", "PD-1105", "not one of", "use one of: no, hold, holdAndDrain"),
        (Queue, {"minRunTime": 90}, "spec.minRunTime", "PD-1108", "no unit", "write 90s, 90m or 90h"),
        (Queue, {"usageHalfLife": "1s"}, "spec.usageHalfLife", "PD-1106", "at least 1m", "at least 1m"),
        (Queue, {"preemption": {"within": "any"}}, "spec.preemption.within", "PD-1105", "not one of", "use one of"),
        (Queue, {"cpus": {"limit": 4}}, "spec.cpus", "PD-1101", "no field cpus", "did you mean spec.quotas.cpus?"),
        (Queue, quotas(gpus={"limit": "8"}), "spec.quotas.gpus.limit", "PD-1601", "not a number", "0.5"),
        (Queue, quotas(gpus={"limit": 0.0005}), "spec.quotas.gpus.limit", "PD-1601", "not a number", "three places"),
        (Queue, quotas(gpus={"limit": True}), "spec.quotas.gpus.limit", "PD-1601", "not a number", "whole GPUs"),
        (Queue, quotas(gpus={"limit": -1}), "spec.quotas.gpus.limit", "PD-1601", "not a number", "whole GPUs"),
        (Queue, quotas(gpus={"limit": 99999999}), "spec.quotas.gpus.limit", "PD-1601", "more than", "whole GPUs"),
        (Queue, quotas(memory={"limit": "8GB"}), "spec.quotas.memory.limit", "PD-1109", "8GB", "8G or 8Gi"),
        (Queue, quotas(flavors={"H100": {}}), "spec.quotas.flavors.H100", "PD-1107", "not a name", "lower-case"),
        (
            Queue,
            quotas(flavors={"h100": {"guarantee": 16, "limit": 8}}),
            "spec.quotas.flavors.h100.guarantee",
            "PD-1112",
            "guarantee 16 is above limit 8",
            "write at most 8",
        ),
        (
            Queue,
            quotas(cpus={"guarantee": 4, "lending": 4.5}),
            "spec.quotas.cpus.lending",
            "PD-1112",
            "lending 4500m is above guarantee 4",
            "write at most 4",
        ),
        (
            Queue,
            quotas(memory={"guarantee": "2Ti", "limit": "1Ti"}),
            "spec.quotas.memory.guarantee",
            "PD-1112",
            "guarantee 2Ti is above limit 1Ti",
            "raise limit",
        ),
        (
            Queue,
            quotas(gpus={"limit": 8}, flavors={"a": {"guarantee": 5}, "b": {"guarantee": 4.5}}),
            "spec.quotas.gpus.limit",
            "PD-1112",
            "guaranteed 9.5 GPUs together, above limit 8",
            "write at least 9.5",
        ),
        (
            Queue,
            quotas(gpus={"guarantee": 2}, flavors={"a": {"guarantee": 3}}),
            "spec.quotas.gpus.guarantee",
            "PD-1112",
            "above guarantee 2",
            "write at least 3",
        ),
        (ResourceFlavor, {}, "spec.gpuType", "PD-1102", "missing", "gpuType: H100"),
        (ResourceFlavor, {"gpuType": "A", "gpuMemory": 0}, "spec.gpuMemory", "PD-1106", "not above 0", "above 0"),
        (
            ResourceFlavor,
            {"gpuType": "A", "alsoKnownAs": ["B", "A"]},
            "spec.alsoKnownAs[1]",
            "PD-1112",
            "A is there twice",
            "remove one",
        ),
        (PriorityClass, {}, "spec.value", "PD-1102", "missing", "value: 1000"),
        (PriorityClass, {"value": 1_000_001}, "spec.value", "PD-1106", "at most 1000000", "at most 1000000"),
        (PriorityClass, {"value": 1, "longestQueueTime": "0s"}, "spec.longestQueueTime", "PD-1106", "above 0s", "0s"),
        (
            PriorityClass,
            {"value": 1, "alertWhenMissed": True},
            "spec.alertWhenMissed",
            "PD-1112",
            "no longest queue time",
            "set longestQueueTime",
        ),
        (
            PriorityClass,
            {"value": 1, "usableBy": ["a", "a"]},
            "spec.usableBy[1]",
            "PD-1112",
            "a is there twice",
            "remove one",
        ),
        (Topology, {"levels": []}, "spec.levels", "PD-1112", "there are no levels", "at least one level"),
        (
            Topology,
            {"levels": [*LEVELS, {"name": "rack", "nodeLabel": "b"}]},
            "spec.levels[1].name",
            "PD-1112",
            "two levels are called rack",
            "another name",
        ),
        (
            Topology,
            {"levels": [*LEVELS, {"name": "rail", "nodeLabel": "example.org/rack"}]},
            "spec.levels[1].nodeLabel",
            "PD-1112",
            "two levels are told by example.org/rack",
            "remove one",
        ),
        (Topology, {"levels": [{"name": "a", "nodeLabel": "a b"}]}, "spec.levels[0].nodeLabel", "PD-1117", "", "team"),
        (NodePool, {}, "spec.nodeSelector", "PD-1112", "nothing says which nodes", "nodeSelector"),
        (
            NodePool,
            {"nodeSelector": {"a": "b"}, "simulated": SIMULATED},
            "spec.simulated",
            "PD-1112",
            "selected and made up",
            "remove one",
        ),
        (
            NodePool,
            {"simulated": {**SIMULATED, "domains": {"rack": 8}}},
            "spec.topology",
            "PD-1112",
            "there is no topology",
            "name the topology",
        ),
        (
            NodePool,
            {"topology": "a", "simulated": {**SIMULATED, "domains": {"rack": 0}}},
            "spec.simulated.domains.rack",
            "PD-1112",
            "0 nodes are no domain",
            "at least 1",
        ),
        (
            NodePool,
            {"simulated": {**SIMULATED, "gpus": 8}},
            "spec.simulated.flavor",
            "PD-1112",
            "nothing says which",
            "ResourceFlavor",
        ),
        (
            NodePool,
            {"simulated": {**SIMULATED, "flavor": "h100"}},
            "spec.simulated.flavor",
            "PD-1112",
            "have no GPUs",
            "set gpus",
        ),
        (NodePool, {"simulated": {**SIMULATED, "cpus": 0}}, "spec.simulated.cpus", "PD-1106", "not above 0", "above 0"),
    ],
)
def test_a_document_that_contradicts_itself_is_told_where_and_what_to_write(
    model: type[BaseModel], spec: dict[str, Any], path: str, code: str, says: str, write: str
) -> None:
    (found,) = check(model, document(model.__name__, spec))[1]
    assert (found.path, found.code) == (path, code)
    assert says in found.what
    assert write in found.fix


def test_the_smallest_queue_is_a_root_without_bounds() -> None:
    queue, issues = check(Queue, {key: value for key, value in document("Queue").items() if key != "spec"})
    assert queue is not None, issues
    assert (queue.spec.parent, queue.spec.weight, queue.spec.quotas.gpus, queue.spec.usage_half_life) == (
        None,
        1.0,
        None,
        None,
    )
    assert (queue.spec.preemption.within, queue.spec.preemption.reclaim) == (PreemptWithin.LOWER, PreemptOthers.ANY)


FULL: dict[str, dict[str, Any]] = {
    "Queue": {
        "parent": "all",
        "weight": 2.5,
        "quotas": {
            "cpus": {"limit": "500m"},
            "memory": {"guarantee": "1Ti", "lending": "0"},
            "gpus": {"limit": 16.5, "borrowing": 0},
            "flavors": {"h100": {"guarantee": 8, "limit": 16}},
        },
        "order": "strict",
        "usageHalfLife": "7d",
        "stop": "no",
        "default": True,
    },
    "ResourceFlavor": {"gpuType": "H100", "alsoKnownAs": ["NVIDIA-H100-80GB-HBM3"], "gpuMemory": "80Gi"},
    "PriorityClass": {"value": 1000, "usableBy": ["all"], "longestQueueTime": "2h", "alertWhenMissed": True},
    "Topology": {"levels": LEVELS},
    "NodePool": {
        "topology": "hall-2",
        "simulated": {**SIMULATED, "taints": [{"key": "dedicated"}], "domains": {"rack": 2}},
    },
    "Reservation": {
        "queue": "all",
        "capacity": {"nodes": 4},
        "start": "2027-03-05T10:00",
        "end": "2027-03-05T18:00",
        "timeZone": "Europe/Berlin",
        "repeat": {"frequency": "monthly", "days": ["1fri", "-1fri"], "until": "2027-12-31T23:59"},
    },
}


def test_every_kind_of_the_scheduler_is_read_in_full_below() -> None:
    assert set(FULL) == {kind for kind, model in KINDS.items() if issubclass(model, ForScheduler)}


def read(text: str) -> list[AnyKind]:
    return parse(text, source="x.yaml", served_only=False)


@pytest.mark.parametrize("kind", FULL)
def test_a_document_survives_being_written(kind: str) -> None:
    (found,) = read(dump(document(kind, FULL[kind])))
    again = dump(found.model_dump(mode="json", by_alias=True, exclude_defaults=True))
    assert read(again) == [found]
    assert "8.0" not in again


def test_documents_of_every_kind_are_taken() -> None:
    for kind in FULL:
        assert [each.kind for each in parse(dump(document(kind, FULL[kind])), source="x.yaml")] == [kind]


def test_a_fault_has_its_place_in_the_text() -> None:
    head = "apiVersion: perdure/v1\nkind: Queue\nmetadata: {name: a}\nspec:\n"
    text = f"{head}  quotas:\n    gpus: {{guarantee: 4, limit: 2}}\n"
    with pytest.raises(SpecError) as refused:
        read(text)
    assert [(issue.where, issue.code) for issue in refused.value.issues] == [
        ("x.yaml:6:12 (spec.quotas.gpus.guarantee)", "PD-1112")
    ]


def test_a_job_beside_a_queue_is_still_read() -> None:
    found = read("---\n".join(dump(each) for each in (document("Queue"), job())))
    assert [each.kind for each in found] == ["Queue", "Job"]
