"""The kind Job: described on every field, strict about types, and clear about rules between fields."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from definitions.documents import KINDS
from definitions.job import Job
from definitions.spec_errors import SpecIssue
from definitions.spec_fields import SpecField, walk
from definitions.spec_validation import check

FIELDS = {f"{kind} {field.path}": field for kind, model in KINDS.items() for field in walk(model)}


def job(**spec: Any) -> dict[str, Any]:
    runs = {} if {"command", "shell"} & set(spec) else {"command": ["true"]}
    return {"apiVersion": "perdure/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {**runs, **spec}}


def issues(**spec: Any) -> list[SpecIssue]:
    return check(Job, job(**spec))[1]


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS)
def test_every_field_says_what_it_means_and_gives_an_example(field: SpecField) -> None:
    assert field.info.description, "docs, help texts and the API's schema are made from it"
    assert field.info.description.endswith(".")
    assert field.info.examples


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS)
def test_every_example_is_a_value_that_the_field_takes(field: SpecField) -> None:
    for example in field.info.examples or ():
        assert (field.alias,) not in places_at_fault(field.owner, {field.alias: example})


def places_at_fault(model: type[BaseModel], data: dict[str, Any]) -> list[tuple[int | str, ...]]:
    try:
        model.model_validate(data)
    except ValidationError as error:
        return [details["loc"][:1] for details in error.errors() if details["type"] != "missing"]
    return []


@pytest.mark.parametrize("schema", [kind.model_json_schema() for kind in KINDS.values()], ids=KINDS)
def test_schemas_show_defaults_as_they_are_written(schema: dict[str, Any]) -> None:
    assert "PT" not in {str(found)[:2] for found in defaults(schema)}
    assert schema["additionalProperties"] is False


def defaults(node: Any) -> list[Any]:
    if isinstance(node, dict):
        below = [found for value in node.values() for found in defaults(value)]
        return [*([node["default"]] if "default" in node else []), *below]
    return [found for value in node for found in defaults(value)] if isinstance(node, list) else []


@pytest.mark.parametrize(
    ("spec", "path", "code"),
    [
        ({"nodes": "2"}, "spec.nodes", "PD-1103"),
        ({"nodes": True}, "spec.nodes", "PD-1103"),
        ({"nodes": 2.0}, "spec.nodes", "PD-1103"),
        ({"suspend": 1}, "spec.suspend", "PD-1103"),
        ({"suspend": "true"}, "spec.suspend", "PD-1103"),
        ({"command": [1]}, "spec.command[0]", "PD-1104"),
        ({"retry": {"backoff": {"factor": "2"}}}, "spec.retry.backoff.factor", "PD-1103"),
        ({"retry": {"backoff": {"factor": float("inf")}}}, "spec.retry.backoff.factor", "PD-1103"),
        ({"timeout": 90}, "spec.timeout", "PD-1108"),
        ({"artifacts": {"maxBytes": "10GB"}}, "spec.artifacts.maxBytes", "PD-1109"),
        ({"resources": {"cpus": "many"}}, "spec.resources.cpus", "PD-1110"),
        ({"command": ["a\0b"]}, "spec.command[0]", "PD-1107"),
        ({"secretFiles": [{"secret": "a", "path": "/etc/x"}]}, "spec.secretFiles[0].path", "PD-1113"),
        ({"workdir": {"snapshot": "abc"}}, "spec.workdir.snapshot", "PD-1107"),
        ({"priority": 101}, "spec.priority", "PD-1106"),
        ({"priority": -1}, "spec.priority", "PD-1106"),
        ({"shell": ""}, "spec.shell", "PD-1106"),
        ({"checkpoints": {"keepBest": {"mode": "max"}}}, "spec.checkpoints.keepBest.metric", "PD-1102"),
        ({"retry": {"rules": {"timeout": 1}}}, "spec.retry.rules.timeout", "PD-1105"),
        ({"retry": {"rules": {"repeated": 1}}}, "spec.retry.rules.repeated", "PD-1105"),
        ({"service": {"readiness": {"httpPort": 80, "httpPath": "x"}}}, "spec.service.readiness.httpPath", "PD-1107"),
    ],
)
def test_nothing_is_converted_and_each_fault_has_its_code(spec: dict[str, Any], path: str, code: str) -> None:
    assert [(issue.path, issue.code) for issue in issues(**spec)] == [(path, code)]


@pytest.mark.parametrize(
    ("spec", "path", "says"),
    [
        ({"command": ["a"], "shell": "b"}, "spec.shell", "both set"),
        ({"command": []}, "spec.command", "nothing says what to run"),
        ({"command": [""]}, "spec.command", "name is empty"),
        ({"shell": "a", "args": ["b"]}, "spec.args", "there is none"),
        ({"env": {"PERDURE_RANK": "1"}}, "spec.env.PERDURE_RANK", "reserved"),
        ({"env": {"perdure_x": "1"}}, "spec.env.perdure_x", "reserved"),
        ({"env": {"MASTER_ADDR": "x"}}, "spec.env.MASTER_ADDR", "set by the platform"),
        ({"env": {"A": {}}}, "spec.env.A", "one of the two"),
        ({"env": {"A": {"value": "x", "secret": "y"}}}, "spec.env.A", "one of the two"),
        ({"secretFiles": [{"secret": s, "path": "x"} for s in ("a", "b")]}, "spec.secretFiles[1].path", "two secrets"),
        ({"workdir": {"mode": "none", "path": "/x"}}, "spec.workdir.path", "uses no folder"),
        ({"workdir": {"mode": "live", "snapshot": "0f" * 32}}, "spec.workdir.snapshot", "uses no snapshot"),
        ({"workdir": {"mode": "none"}, "workingDir": "a"}, "spec.workingDir", "empty folder"),
        ({"nodes": 1024, "processesPerNode": 2}, "spec.processesPerNode", "2048 processes"),
        ({"elastic": {"minNodes": 3, "maxNodes": 2}}, "spec.elastic.maxNodes", "below minNodes"),
        ({"nodes": 9, "elastic": {"minNodes": 1, "maxNodes": 8}}, "spec.nodes", "between"),
        ({"mode": "service", "elastic": {"minNodes": 1, "maxNodes": 8}}, "spec.elastic", "a service keeps its size"),
        ({"checkpoints": {"resume": "never"}, "elastic": {"minNodes": 1, "maxNodes": 8}}, "spec.elastic", "anew"),
        ({"placement": {"pin": True}, "elastic": {"minNodes": 1, "maxNodes": 8}}, "spec.elastic", "first attempt"),
        ({"processesPerNode": 8, "elastic": {"minNodes": 1, "maxNodes": 900}}, "spec.elastic.maxNodes", "7200"),
        ({"service": {}}, "spec.service", "mode is batch"),
        ({"mode": "service", "array": {"last": 3}}, "spec.array", "service"),
        ({"array": {"first": 4, "last": 3}}, "spec.array.last", "below the first"),
        ({"mode": "service", "service": {"readiness": {}}}, "spec.service.readiness", "nothing says"),
        (
            {"mode": "service", "service": {"readiness": {"file": "a", "tcpPort": 1}}},
            "spec.service.readiness.tcpPort",
            "file and tcpPort are both set",
        ),
        (
            {"mode": "service", "service": {"readiness": {"file": "a", "httpPath": "/x"}}},
            "spec.service.readiness.httpPath",
            "no port",
        ),
        ({"mode": "service", "service": {"restart": {"initial": "2m"}}}, "spec.service.restart.max", "shorter"),
        ({"retry": {"backoff": {"initial": "1h"}}}, "spec.retry.backoff.max", "shorter"),
        ({"checkpoints": {"resume": "never", "from": {"job": "a"}}}, "spec.checkpoints.from", "never resumes"),
        (
            {"placement": {"topology": {"required": "a", "preferred": "b"}}},
            "spec.placement.topology.preferred",
            "exclude",
        ),
    ],
)
def test_fields_that_contradict_each_other_are_refused_at_the_one_to_change(
    spec: dict[str, Any], path: str, says: str
) -> None:
    (found,) = issues(**spec)
    assert (found.path, found.code) == (path, "PD-1112")
    assert says in found.what
    assert found.fix


def test_every_contradiction_is_reported_at_once() -> None:
    found = issues(args=["a"], shell="b", env={"RANK": "0"}, nodes=1024, processesPerNode=9, service={})
    assert [issue.path for issue in found] == ["spec.args", "spec.env.RANK", "spec.processesPerNode", "spec.service"]


@pytest.mark.parametrize("name", ["a", "a-b", "0", "x" * 63])
def test_a_name_is_a_label_of_the_domain_name_system(name: str) -> None:
    assert check(Job, {**job(), "metadata": {"name": name}})[1] == []


@pytest.mark.parametrize("name", ["", "-a", "a-", "A", "a.b", "a_b", "a/b", "é", "x" * 64, "a\n"])
def test_other_names_are_refused(name: str) -> None:
    assert [issue.code for issue in check(Job, {**job(), "metadata": {"name": name}})[1]] == ["PD-1107"]


@pytest.mark.parametrize(
    ("labels", "fine"),
    [
        ({"team": "vision", "example.org/cost-centre": "42"}, True),
        ({"a": ""}, True),
        ({"a b": "x"}, False),
        ({"a": "x y"}, False),
        ({"a": "x" * 64}, False),
        ({"/a": "x"}, False),
    ],
)
def test_labels_are_short_and_plain(labels: dict[str, str], fine: bool) -> None:
    found = check(Job, {**job(), "metadata": {"name": "a", "labels": labels}})[1]
    assert [issue.code for issue in found] == ([] if fine else ["PD-1117"])


def test_a_job_cannot_be_changed_in_place() -> None:
    made = Job.model_validate(job())
    with pytest.raises(ValidationError, match="frozen"):
        made.spec.nodes = 2  # type: ignore[misc]


def test_the_smallest_job_has_the_documented_defaults() -> None:
    spec = Job.model_validate(job()).spec
    assert (spec.nodes, spec.processes_per_node, spec.retry.limit, spec.checkpoints.keep_last) == (1, 1, 3, 3)
    assert (spec.grace_period.total_seconds(), spec.timeout, spec.workdir.mode) == (30, None, "snapshot")
