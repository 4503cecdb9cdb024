"""Templates: typed parameters, placeholders without expressions, and faults found when the template is made."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from definitions.documents import parse_one
from definitions.job import Job
from definitions.spec_errors import SpecError, SpecIssue
from definitions.template import Template, render
from definitions.template_parameters import Parameter
from definitions.template_values import ParameterType, ValueFault, read_value
from definitions.yaml_writer import dump
from tests.definitions.strategies import texts

JOB = {
    "apiVersion": "perdure/v1",
    "kind": "Job",
    "metadata": {"name": "tune-${{ size }}", "labels": {"size": "${{ size }}"}},
    "spec": {
        "command": ["python", "train.py", "--epochs", "${{ epochs }}", "--tag=${{tag}}:${{ size }}"],
        "env": {"LR": "${{ lr }}", "HALF": "${{half}}"},
        "timeout": "${{ limit }}",
        "artifacts": {"maxBytes": "${{ room }}"},
        "retry": {"limit": "${{ epochs }}"},
        "suspend": "${{ held }}",
    },
}
PARAMETERS: list[dict[str, Any]] = [
    {"name": "epochs", "type": "int", "default": 3, "min": 1, "max": 10},
    {"name": "lr", "type": "float", "required": True, "max": 1},
    {"name": "half", "type": "bool", "default": False},
    {"name": "limit", "type": "duration", "default": "2h", "max": "1d"},
    {"name": "room", "type": "size", "default": "1Gi", "min": "1M"},
    {"name": "size", "type": "choice", "choices": ["small", "large"], "default": "small"},
    {"name": "tag", "pattern": "[a-z]+", "required": True},
    {"name": "held", "type": "bool", "default": False},
]


def document(job: Any = JOB, parameters: Any = PARAMETERS) -> dict[str, Any]:
    return {
        "apiVersion": "perdure/v1",
        "kind": "Template",
        "metadata": {"name": "tune"},
        "spec": {"parameters": parameters, "job": job},
    }


def made(job: Any = JOB, parameters: Any = PARAMETERS) -> Template:
    return parse_one(dump(document(job, parameters)), "t.yaml", Template)


def faults(job: Any = JOB, parameters: Any = PARAMETERS) -> list[tuple[str, str]]:
    with pytest.raises(SpecError) as refused:
        made(job, parameters)
    return [(issue.code, issue.path) for issue in refused.value.issues]


def changed(**spec: Any) -> dict[str, Any]:
    return {**JOB, "spec": {**JOB["spec"], **spec}}  # type: ignore[dict-item]


def refused_values(**values: Any) -> dict[str, SpecIssue]:
    with pytest.raises(SpecError) as refused:
        render(made(), values)
    return {issue.path: issue for issue in refused.value.issues}


def test_placeholders_are_filled_with_their_type_where_the_field_has_one_and_as_text_where_it_takes_text() -> None:
    job = render(made(), {"lr": 0.25, "tag": "x", "epochs": 7, "half": True, "limit": "90m", "room": 5_000_000})
    assert job.metadata.name == "tune-small"
    assert job.spec.command == ("python", "train.py", "--epochs", "7", "--tag=x:small")
    assert {name: entry.value for name, entry in job.spec.env.items()} == {"LR": "0.25", "HALF": "true"}
    assert (job.spec.timeout, job.spec.artifacts.max_bytes) == (timedelta(minutes=90), 5_000_000)
    assert (job.spec.retry.limit, job.spec.suspend) == (7, False)


def test_values_given_as_text_mean_what_values_given_by_type_mean() -> None:
    typed = render(made(), {"lr": 0.5, "tag": "x", "epochs": 7, "half": True, "room": 2**21, "size": "large"})
    text = render(made(), {"lr": "0.5", "tag": "x", "epochs": "7", "half": "true", "room": "2Mi", "size": "large"})
    assert text == typed


def test_every_parameter_at_fault_is_named_at_once() -> None:
    found = refused_values(epochs=11, limit="3:00", sise="large", tag="X1")
    assert {path: issue.code for path, issue in found.items()} == {
        "parameters.sise": "PD-1301",
        "parameters.epochs": "PD-1304",
        "parameters.lr": "PD-1302",
        "parameters.limit": "PD-1303",
        "parameters.tag": "PD-1304",
    }
    assert "did you mean size?" in found["parameters.sise"].fix
    assert "--set lr=VALUE" in found["parameters.lr"].fix
    assert "3m or 3h" in found["parameters.limit"].fix


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("epochs", "3.5", "PD-1303"),
        ("epochs", True, "PD-1303"),
        ("epochs", "1_0", "PD-1303"),
        ("epochs", 0, "PD-1304"),
        ("lr", "nan", "PD-1303"),
        ("lr", "1e999", "PD-1303"),
        ("lr", 1.5, "PD-1304"),
        ("half", "yes", "PD-1303"),
        ("half", 1, "PD-1303"),
        ("limit", "2d", "PD-1304"),
        ("room", "10GB", "PD-1303"),
        ("room", "1k", "PD-1304"),
        ("size", "medium", "PD-1304"),
        ("tag", "abc1", "PD-1304"),
        ("tag", "abc\n", "PD-1304"),
        ("tag", 5, "PD-1303"),
        ("tag", "a\0", "PD-1303"),
    ],
)
def test_a_value_is_of_the_declared_type_and_within_its_bounds(name: str, value: object, code: str) -> None:
    assert refused_values(**{"lr": 0.1, "tag": "x", name: value})[f"parameters.{name}"].code == code


def test_what_is_rendered_is_checked_like_any_job() -> None:
    parameters = [{"name": "name", "required": True}]
    template = made({**JOB, "metadata": {"name": "${{ name }}"}, "spec": {"shell": "x"}}, parameters)
    with pytest.raises(SpecError, match=r"metadata\.name.*PD-1107"):
        render(template, {"name": "Not A Name"})


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (changed(env={"A": "${{ epoch }}", "LR": "${{ lr }}${{ half }}"}), [("PD-1305", "spec.job.spec.env.A")]),
        (changed(env={"A": "${{ lr + 1 }}", "LR": "${{ lr }}${{ half }}"}), [("PD-1307", "spec.job.spec.env.A")]),
        (changed(env={"${{ lr }}": "x", "A": "${{ lr }}${{ half }}"}), [("PD-1307", "spec.job.spec.env.${{ lr }}")]),
        (changed(timeout="2h"), [("PD-1306", "spec.parameters[3].name")]),
        (changed(timout="${{ limit }}"), [("PD-1101", "spec.job.spec.timout")]),
        (changed(nodes="two"), [("PD-1103", "spec.job.spec.nodes")]),
        (changed(queue="q", command=["a"]), [("PD-1306", "spec.parameters[6].name")]),
    ],
)
def test_faults_of_the_job_inside_are_found_when_the_template_is_made(
    job: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert faults(job) == expected


def test_fields_that_nothing_here_serves_are_refused_inside_a_template_too() -> None:
    assert faults(changed(team="q")) == [("PD-1502", "spec.job.spec.team")]


def test_a_fault_that_only_a_sample_value_causes_is_left_for_rendering() -> None:
    parameters = [{"name": "name", "required": True}, {"name": "image", "required": True}]
    job = {**JOB, "metadata": {"name": "a-${{ name }}-"}, "spec": {"shell": "run ${{ image }}"}}
    assert made(job, parameters).metadata.name == "tune"


@pytest.mark.parametrize(
    ("parameter", "field"),
    [
        ({"name": "a"}, "default"),
        ({"name": "a", "required": True, "default": "x"}, "default"),
        ({"name": "a", "type": "int", "default": "x"}, "default"),
        ({"name": "a", "type": "int", "default": 3, "min": 5}, "default"),
        ({"name": "a", "type": "bool", "default": True, "min": 1}, "min"),
        ({"name": "a", "type": "bool", "default": True, "max": 1}, "max"),
        ({"name": "a", "type": "size", "default": "1k", "min": "1M", "max": "1k"}, "max"),
        ({"name": "a", "type": "duration", "default": "1h", "min": "90"}, "min"),
        ({"name": "a", "type": "int", "default": 1, "pattern": "x"}, "pattern"),
        ({"name": "a", "default": "x", "pattern": "[x"}, "pattern"),
        ({"name": "a", "default": "x", "pattern": "(?=x)x"}, "pattern"),
        ({"name": "a", "default": "x", "choices": ["x"]}, "choices"),
        ({"name": "a", "type": "choice", "required": True}, "choices"),
        ({"name": "a", "type": "choice", "choices": ["x"], "default": "y"}, "default"),
    ],
)
def test_a_parameter_is_declared_whole_and_without_contradiction(parameter: dict[str, Any], field: str) -> None:
    job = {**JOB, "metadata": {"name": "a"}, "spec": {"shell": "${{ a }}"}}
    assert faults(job, [parameter]) == [("PD-1300", f"spec.parameters[0].{field}")]


def test_two_parameters_of_one_name_are_refused() -> None:
    job = {**JOB, "metadata": {"name": "a"}, "spec": {"shell": "${{ a }}"}}
    assert faults(job, [{"name": "a", "default": "x"}] * 2) == [("PD-1112", "spec.parameters[1].name")]


def test_a_pattern_cannot_hang_whoever_checks_it() -> None:
    parameter = Parameter(name="a", required=True, pattern="(a+)+b")
    with pytest.raises(ValueFault, match="does not match"):
        read_value(parameter, "a" * 30_000)


@given(texts, texts)
def test_values_never_become_placeholders_fields_or_yaml_of_their_own(first: str, second: str) -> None:
    parameters = [{"name": "a", "required": True}, {"name": "b", "required": True}]
    job = {**JOB, "metadata": {"name": "a"}, "spec": {"command": ["x", "${{ a }}", "<${{ b }}>"]}}
    template = Template.model_validate(document(job, parameters))
    values = {"a": first + "${{ b }}", "b": second + "}}\nspec: {nodes: 2}"}
    rendered = render(template, values)
    assert rendered.spec.command == ("x", values["a"], f"<{values['b']}>")


@given(st.sampled_from(ParameterType), st.text() | st.integers() | st.floats() | st.booleans() | st.none())
def test_no_value_breaks_a_parameter(kind: ParameterType, value: object) -> None:
    choices = ("a", 1) if kind is ParameterType.CHOICE else ()
    parameter = Parameter(name="a", type=kind, required=True, choices=choices)
    try:
        found = read_value(parameter, value)
    except ValueFault as fault:
        found = fault.fix
    assert isinstance(found, str | int | float)


def test_a_template_survives_being_written() -> None:
    template = made()
    assert parse_one(dump(template.model_dump(mode="json", exclude_defaults=True)), "x", Template) == template
    assert isinstance(render(template, {"lr": 1, "tag": "x"}), Job)
