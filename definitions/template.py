"""The kind Template: a job with placeholders, and the parameters that fill them.

A placeholder is `${{ name }}` and stands inside a text value; there are no expressions. A text that is nothing but one
placeholder takes the value with its type, unless the field takes text. Keys have no placeholders.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, Self

from pydantic import Field, JsonValue, model_validator

from definitions.cluster import LOCAL_CLUSTER
from definitions.job import Job, Metadata
from definitions.job_workload import EnvValue
from definitions.refusals import refused_fields
from definitions.spec_errors import SpecIssue, did_you_mean, raise_issues
from definitions.spec_fields import Loc, type_at
from definitions.spec_types import Conflict, SpecModel, Text, raise_conflicts
from definitions.spec_validation import check
from definitions.template_parameters import Parameter
from definitions.template_values import ParameterType, Value, ValueFault, as_text, read_value

_PLACEHOLDER = re.compile(r"\$\{\{\s*([A-Za-z][A-Za-z0-9_-]*)\s*\}\}")
_OPENING = "${{"
_JOB: Loc = ("spec", "job")
_SAMPLES: dict[ParameterType, Value] = {
    ParameterType.STRING: "x",
    ParameterType.INT: 1,
    ParameterType.FLOAT: 1.0,
    ParameterType.BOOL: True,
    ParameterType.DURATION: "1m",
    ParameterType.SIZE: "1Gi",
}


class TemplateSpec(SpecModel):
    """The job, and what may be set in it."""

    description: Text = Field("", description="What the template is for.", examples=["Fine-tune a small model."])
    parameters: tuple[Parameter, ...] = Field(
        (), max_length=128, description="What may be set.", examples=[[{"name": "epochs", "type": "int", "default": 3}]]
    )
    job: dict[str, JsonValue] = Field(
        description="A Job document in which `${{ name }}` stands for the value of a parameter.",
        examples=[{"kind": "Job", "spec": {"command": ["python", "train.py", "--epochs", "${{ epochs }}"]}}],
    )

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        seen: set[str] = set()
        found = []
        for index, parameter in enumerate(self.parameters):
            if parameter.name in seen:
                found.append(Conflict(f"parameters.{index}.name", f"{parameter.name} is declared twice", "rename one"))
            seen.add(parameter.name)
        raise_conflicts(found)
        return self


class Template(SpecModel):
    """A template, as a document."""

    api_version: Literal["perdure/v1"] = Field(description="Version of this format.", examples=["perdure/v1"])
    kind: Literal["Template"] = Field(description="The kind of document.", examples=["Template"])
    metadata: Metadata = Field(description="Name, project, labels.", examples=[{"name": "finetune"}])
    spec: TemplateSpec = Field(description="The job, and what may be set in it.", examples=[{"job": {"kind": "Job"}}])


def render(template: Template, values: Mapping[str, object], cluster: str = LOCAL_CLUSTER) -> Job:
    """Fill the placeholders. Raises SpecError with every parameter and field at fault; `parameters.NAME` is its place.

    `cluster`: where the job runs when it names none.

    The job is valid by itself; whether each of its fields is served here is asked at submit (definitions/refusals.py).
    """
    filled, issues = _values(template, values)
    raise_issues(issues)
    job, issues = check(Job, on_cluster(_filled(template.spec.job, filled, ()), cluster))
    if job is None:
        raise_issues(issues)
    assert job is not None
    return job


def template_issues(template: Template, *, served_only: bool = True, cluster: str = LOCAL_CLUSTER) -> list[SpecIssue]:
    """What is wrong with a template beyond its own fields: placeholders, and the job as far as it can be known.

    `cluster`: where jobs run that name none; what may be set depends on that.
    Parameters without a default are tried with a sample; faults that the sample may cause are not reported.
    """
    issues = list(_placeholder_issues(template))
    if issues:
        return issues
    sampled = {p.name for p in template.spec.parameters if p.default is None}
    tried = {p.name: _sample(p) for p in template.spec.parameters}
    job, faults = check(Job, on_cluster(_filled(template.spec.job, tried, ()), cluster))
    if job is not None:
        faults = refused_fields(job.spec) if served_only else []
    certain = [fault for fault in faults if not _depends(template.spec.job, fault, sampled)]
    return [fault.model_copy(update={"loc": (*_JOB, *fault.loc)}) for fault in certain]


def on_cluster(job: Any, cluster: str) -> Any:
    """A job's data with this cluster, unless it names one itself or the cluster is this machine."""
    spec = job.get("spec") if isinstance(job, dict) else None
    if cluster == LOCAL_CLUSTER or not isinstance(spec, dict) or spec.get("cluster") is not None:
        return job
    return {**job, "spec": {**spec, "cluster": cluster}}


def _values(template: Template, given: Mapping[str, object]) -> tuple[dict[str, Value], list[SpecIssue]]:
    declared = {parameter.name: parameter for parameter in template.spec.parameters}
    issues = [_unknown(name, declared, template.metadata.name) for name in given if name not in declared]
    filled: dict[str, Value] = {}
    for name, parameter in declared.items():
        value = given.get(name, parameter.default)
        if value is None:
            what = f"the parameter {name} is missing"
            fix = f"give it: --set {name}=VALUE" + (f" ({parameter.description})" if parameter.description else "")
            issues.append(SpecIssue(code="PD-1302", loc=("parameters", name), what=what, fix=fix))
            continue
        try:
            filled[name] = read_value(parameter, value)
        except ValueFault as fault:
            issues.append(SpecIssue(code=fault.code, loc=("parameters", name), what=fault.what, fix=fault.fix))
    return filled, issues


def _unknown(name: str, declared: Mapping[str, Parameter], template: str) -> SpecIssue:
    close = did_you_mean(name, declared)
    fix = f"did you mean {close}?" if close else f"use one of: {', '.join(declared) or 'none, it has no parameters'}"
    return SpecIssue(code="PD-1301", loc=("parameters", name), what=f"{template} has no parameter {name}", fix=fix)


def _filled(node: Any, values: Mapping[str, Value], loc: Loc) -> Any:
    """The document with every placeholder replaced. Safe to recurse: the loader has bounded the depth."""
    if isinstance(node, dict):
        return {key: _filled(value, values, (*loc, key)) for key, value in node.items()}
    if isinstance(node, list):
        return [_filled(value, values, (*loc, index)) for index, value in enumerate(node)]
    if not isinstance(node, str):
        return node
    if (whole := _PLACEHOLDER.fullmatch(node)) and type_at(Job, loc) not in (str, EnvValue):
        return values[whole[1]]
    return _PLACEHOLDER.sub(lambda match: as_text(values[match[1]]), node)


def _placeholder_issues(template: Template) -> Iterator[SpecIssue]:
    declared = {parameter.name for parameter in template.spec.parameters}
    used: set[str] = set()
    for loc, text, is_key in _texts(template.spec.job, _JOB):
        names = set(_PLACEHOLDER.findall(text))
        used |= set() if is_key else names
        if _OPENING in (text if is_key else _PLACEHOLDER.sub("", text)):
            what = "a key holds a placeholder" if is_key else "a placeholder cannot be read"
            fix = "use placeholders in values only" if is_key else "write it like ${{ name }}"
            yield SpecIssue(code="PD-1307", loc=loc, what=what, fix=fix)
            continue
        for name in sorted(names - declared):
            close = did_you_mean(name, declared)
            fix = f"did you mean {close}?" if close else "declare it under parameters"
            yield SpecIssue(code="PD-1305", loc=loc, what=f"no parameter {name} is declared", fix=fix)
    for index, parameter in enumerate(template.spec.parameters):
        if parameter.name not in used:
            loc = ("spec", "parameters", index, "name")
            what = f"the parameter {parameter.name} fills no placeholder"
            yield SpecIssue(code="PD-1306", loc=loc, what=what, fix=f"use ${{{{ {parameter.name} }}}}, or remove it")


def _texts(node: Any, loc: Loc) -> Iterator[tuple[Loc, str, bool]]:
    """Every text of a document with its place, and whether it is a key."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield (*loc, key), key, True
            yield from _texts(value, (*loc, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _texts(value, (*loc, index))
    elif isinstance(node, str):
        yield loc, node, False


def _sample(parameter: Parameter) -> Value:
    if parameter.default is not None:
        return read_value(parameter, parameter.default)
    first = parameter.choices[0] if parameter.choices else parameter.min if parameter.min is not None else parameter.max
    return read_value(parameter, first) if first is not None else _SAMPLES[parameter.type]


def _depends(document: Any, fault: SpecIssue, sampled: set[str]) -> bool:
    """Whether a fault may come from a sample: its value has one, or it is about several fields."""
    if not sampled:
        return False
    if fault.code in ("PD-1101", "PD-1102"):  # a field is there or not, whatever the values are
        return False
    here: Any = document
    for step in fault.loc:
        try:
            here = here[step]
        except (KeyError, IndexError, TypeError):  # the field is not there: its parent decides
            break
    names = {name for _, text, _ in _texts(here, ()) for name in _PLACEHOLDER.findall(text)}
    return bool(names & sampled) if fault.code != "PD-1112" else True
