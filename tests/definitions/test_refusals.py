"""No field is stored and ignored: each is refused with a code, or has a behaviour that a test proves."""

import ast
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from definitions.errors import lookup
from definitions.job import Job
from definitions.refusals import CLUSTER_REFUSALS, LOCAL_REFUSALS, REFUSALS, Refusal, refusal_of, refused_fields
from definitions.spec_fields import leaves
from tests.definitions.field_behaviour import FIELD_BEHAVIOUR
from tests.definitions.test_job_model import job

ROOT = Path(__file__).resolve().parents[2]
LEAVES = [field.path for field in leaves(Job)]
# One value other than the default for each field that is refused somewhere.
SET: dict[str, Any] = {
    "model": "m",
    "placement.topology": {"required": "rack"},
    "placement.fabricAware": True,
    "team": "t",
    "federation": "f",
    "hooks": ["h"],
    "notifications": [{"channel": "c"}],
    "experiment": "e",
    "profiling": {},
}
LOCAL_SET: dict[str, Any] = {
    "resources.gpus": 1,
    "resources.gpuType": "H100",
    "resources.gpuMemory": "80Gi",
    "resources.cpus": 2,
    "resources.memory": "1Gi",
    "resources.ephemeralStorage": "1Gi",
    "resources.sharedMemory": "1Gi",
    "image": "a:1",
    "imagePullPolicy": "Always",
    "storage": {},
    "volumes": [{"name": "a", "source": {"emptyDir": {}}}],
    "volumeMounts": [{"name": "a", "mountPath": "/a"}],
    "network": "rdma",
    "placement.nodeSelector": {"a": "b"},
    "placement.tolerations": [{"operator": "Exists"}],
    "placement.affinity": {"nodeAffinity": {}},
    "placement.pin": True,
    "placement.spread": True,
    "workloadKind": "job",
    "checkpoints.command": ["./save"],
    "checkpoints.directory": "saves",
    "checkpoints.grace": "1m",
}
CLUSTER_SET: dict[str, Any] = {
    "workdir.mode": "live",
    "workloadKind": "statefulset",
}
# What a field needs beside it to be valid.
BESIDE: dict[str, dict[str, Any]] = {
    "volumeMounts": {"volumes": [{"name": "a", "source": {"emptyDir": {}}}]},
    "checkpoints.directory": {"checkpoints": {"command": ["./save"], "directory": "saves"}},
}
TARGETS: dict[str, tuple[dict[str, Refusal], dict[str, Any], dict[str, Any]]] = {
    "anywhere, here local": (REFUSALS, SET, {}),
    "anywhere, here a cluster": (REFUSALS, SET, {"cluster": "north"}),
    "local": (LOCAL_REFUSALS, LOCAL_SET, {"cluster": "local"}),
    "cluster": (CLUSTER_REFUSALS, CLUSTER_SET, {"cluster": "north"}),
}
EVERY = [(target, path) for target, (table, _, _) in TARGETS.items() for path in table]


def spec_with(path: str, value: Any) -> dict[str, Any]:
    for step in reversed(path.split(".")):
        value = {step: value}
    assert isinstance(value, dict)
    return value


def is_refused(path: str) -> bool:
    return path.startswith("spec.") and refusal_of(path.removeprefix("spec.")) is not None


@pytest.mark.parametrize("path", LEAVES)
def test_every_field_is_either_served_or_refused(path: str) -> None:
    assert is_refused(path) != (path in FIELD_BEHAVIOUR), "name the test that proves it, or refuse it"


def test_the_tables_name_no_field_that_is_not_there() -> None:
    assert set(FIELD_BEHAVIOUR) <= set(LEAVES)
    for table, values, _ in TARGETS.values():
        assert all(any(leaf == f"spec.{path}" or is_below(leaf, path) for leaf in LEAVES) for path in table)
        assert set(values) == set(table)


def is_below(leaf: str, path: str) -> bool:
    return leaf.startswith((f"spec.{path}.", f"spec.{path}[]"))


@pytest.mark.parametrize(("target", "path"), EVERY)
def test_a_refused_field_is_named_with_its_code_and_what_to_do_instead(target: str, path: str) -> None:
    table, values, beside = TARGETS[target]
    made = Job.model_validate(job(**(beside | spec_with(path, values[path]) | BESIDE.get(path, {}))))
    (found,) = [issue for issue in refused_fields(made.spec) if issue.path == f"spec.{path}"]
    assert found.code == table[path].code
    assert table[path].subsystem in found.what
    assert found.fix == table[path].instead


@pytest.mark.parametrize("path", LOCAL_REFUSALS)
def test_what_a_local_job_cannot_have_a_cluster_gives(path: str) -> None:
    beside = {"cluster": "north"} | BESIDE.get(path, {})
    made = Job.model_validate(job(**(spec_with(path, LOCAL_SET[path]) | beside)))
    assert refused_fields(made.spec) == []


QUEUED = [path for path, refusal in (REFUSALS | LOCAL_REFUSALS).items() if refusal.queued]


@pytest.mark.parametrize("path", QUEUED)
def test_what_only_the_scheduler_acts_on_is_served_with_a_queue(path: str) -> None:
    made = Job.model_validate(job(**(spec_with(path, (SET | LOCAL_SET)[path]) | {"queue": "research"})))
    assert refused_fields(made.spec) == []


def test_one_code_stands_for_one_missing_subsystem() -> None:
    subsystems: dict[str, set[str]] = {}
    for refusal in [refusal for table, _, _ in TARGETS.values() for refusal in table.values()]:
        subsystems.setdefault(refusal.code, set()).add(refusal.subsystem)
        assert refusal.subsystem in lookup(refusal.code).title
    assert all(len(names) == 1 for names in subsystems.values())
    assert all(code.startswith("PD-15") for code in subsystems)


def test_a_field_that_says_its_default_is_not_refused() -> None:
    made = Job.model_validate(
        job(cluster="local", resources={"gpus": 0}, network="standard", priority=0, placement={"pin": False}, after=[])
    )
    assert refused_fields(made.spec) == []


def test_everything_refused_in_one_job_is_reported_at_once() -> None:
    made = Job.model_validate(job(hooks=["h"], team="t", resources={"gpus": 1, "memory": "1Gi"}))
    found = {issue.path for issue in refused_fields(made.spec)}
    assert found == {"spec.hooks", "spec.team", "spec.resources.gpus", "spec.resources.memory"}


@pytest.mark.parametrize("path", FIELD_BEHAVIOUR)
def test_the_test_that_proves_a_field_is_there(path: str) -> None:
    file, _, name = FIELD_BEHAVIOUR[path].partition("::")
    assert name in names_in(file), f"{file} has no {name}"


@cache
def names_in(file: str) -> frozenset[str]:
    path = ROOT / file
    nodes = ast.walk(ast.parse(path.read_text())) if path.is_file() else ()
    return frozenset(n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
