"""Every field of the scheduler's documents matters to it: a document that differs in that field alone is another rule.

What the rules then do is tested where they are applied; here none is stored and passed over.
"""

from copy import deepcopy
from typing import Any

import pytest

from definitions.documents import KINDS, from_data
from definitions.spec_fields import leaves
from policies.scheduling.documents import Scheduling, scheduling

ONLY_SHOWN = "spec.description"
OF_ALL = {"apiVersion", "kind", "metadata.name", ONLY_SHOWN}
QUOTA = {"guarantee": 8, "limit": 16, "borrowing": 4, "lending": 2}
SPECS: dict[str, dict[str, Any]] = {
    "Queue": {
        "parent": "all",
        "quotas": {
            "cpus": dict(QUOTA), "gpus": dict(QUOTA), "flavors": {"other": dict(QUOTA)},
            "memory": {"guarantee": "8Gi", "limit": "16Gi", "borrowing": "4Gi", "lending": "2Gi"},
        },
    },
    "ResourceFlavor": {"gpuType": "H100", "alsoKnownAs": ["H100-80GB"], "gpuMemory": "80Gi"},
    "PriorityClass": {"value": 10, "longestQueueTime": "2h", "alertWhenMissed": True},
    "Topology": {"levels": [{"name": "rack", "nodeLabel": "a/rack"}]},
    "NodePool": {
        "topology": "near",
        "simulated": {
            "count": 4, "cpus": 8, "memory": "64Gi", "gpus": 8, "flavor": "other", "labels": {"a": "b"},
            "taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}], "domains": {"rack": 2},
        },
    },
}  # fmt: skip
# Kind -> field -> another value than in SPECS.
CHANGES: dict[str, dict[str, Any]] = {
    "Queue": {
        "spec.parent": "top",
        "spec.weight": 2.0,
        **{
            f"spec.quotas.{of}.{word}": value
            for of in ("cpus", "gpus", "flavors.*")
            for word, value in {"guarantee": 7, "limit": 15, "borrowing": 3, "lending": 1}.items()
        },
        **{f"spec.quotas.memory.{word}": "3Gi" for word in ("guarantee", "borrowing", "lending")},
        "spec.quotas.memory.limit": "15Gi",
        "spec.quotas.gpus.guarantee": 9,
        "spec.order": "strict",
        "spec.minRunTime": "30m",
        "spec.preemption.within": "never",
        "spec.preemption.reclaim": "never",
        "spec.usageHalfLife": "7d",
        "spec.stop": "hold",
        "spec.default": True,
    },
    "ResourceFlavor": {"spec.gpuType": "H200", "spec.alsoKnownAs": ["H"], "spec.gpuMemory": "141Gi"},
    "PriorityClass": {
        "spec.value": 20,
        "spec.default": True,
        "spec.usableBy": ["all"],
        "spec.preemptible": False,
        "spec.displacesPromises": True,
        "spec.longestQueueTime": "1h",
        "spec.alertWhenMissed": False,
    },
    "Topology": {"spec.levels[].name": "row", "spec.levels[].nodeLabel": "a/row"},
    "NodePool": {
        "spec.nodeSelector": {"pool": "training"},
        "spec.topology": "far",
        "spec.simulated.count": 5,
        "spec.simulated.cpus": 16,
        "spec.simulated.memory": "128Gi",
        "spec.simulated.gpus": 4,
        "spec.simulated.flavor": "third",
        "spec.simulated.labels": {"a": "c"},
        "spec.simulated.taints[].key": "c",
        "spec.simulated.taints[].value": "c",
        "spec.simulated.taints[].effect": "NoExecute",
        "spec.simulated.domains": {"rack": 4},
    },
}
EVERY = [(kind, path) for kind, changes in CHANGES.items() for path in changes]


def document(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "perdure/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


LEVELS = {near: [{"name": "rack", "nodeLabel": f"{near}/rack"}] for near in ("near", "far")}
AROUND = [
    *(document("Queue", name, {}) for name in ("all", "top")),
    *(document("ResourceFlavor", name, {"gpuType": name.upper()}) for name in ("other", "third")),
    *(document("Topology", name, {"levels": levels}) for name, levels in LEVELS.items()),
]


def read(kind: str, spec: dict[str, Any]) -> Scheduling:
    """The rules with one document of a kind; a topology's are those of a pool that has it."""
    mine = [document(kind, "mine", spec)]
    if kind == "Topology":
        mine.append(document("NodePool", "pool", {"nodeSelector": {"a": "b"}, "topology": "mine"}))
    return scheduling([from_data(each) for each in (*AROUND, *mine)])


def changed(spec: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The spec with another value in one field. A selector takes the place of made-up nodes."""
    found = deepcopy(spec)
    if path == "spec.nodeSelector":
        del found["simulated"]
    *above, last = path.removeprefix("spec.").replace("[]", ".0").replace("*", "other").split(".")
    at: Any = found
    for step in above:
        at = at[int(step)] if isinstance(at, list) else at.setdefault(step, {})
    at[last] = value
    return found


def test_every_field_is_in_the_table() -> None:
    for kind, changes in CHANGES.items():
        assert {field.path for field in leaves(KINDS[kind])} - OF_ALL == set(changes), kind


@pytest.mark.parametrize(("kind", "path"), EVERY)
def test_another_value_is_another_rule(kind: str, path: str) -> None:
    spec = SPECS[kind]
    assert read(kind, changed(spec, path, CHANGES[kind][path])) != read(kind, spec)
