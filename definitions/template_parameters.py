"""The parameters of a template, as they are declared."""

import math
from typing import Annotated, Any, Self

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator

from definitions.spec_types import Conflict, Flag, Label, Line, SpecModel, Text, raise_conflicts, refusal
from definitions.template_values import ORDERED, ParameterType, Value, ValueFault, pattern_fault, read_value, typed


def _scalar(value: object) -> Value:
    if isinstance(value, float) and not math.isfinite(value):
        raise refusal("PD-1103", f"{value} is not a finite number", "write a number")
    if isinstance(value, str | int | float | bool):
        return value
    raise refusal("PD-1103", "text, a number, or true or false is expected", "write a single value")


ParameterValue = Annotated[
    Any,
    PlainValidator(_scalar),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
    Label("value"),
]
ParameterName = Annotated[
    str, Field(max_length=63, pattern=r"^[A-Za-z][A-Za-z0-9_-]*$"), Label("name")
]  # what may stand in ${{ name }}


class Parameter(SpecModel):
    """Something that users of a template set. It has a default, or it is required."""

    name: ParameterName = Field(description="Name, as in `${{ name }}` and `--set name=value`.", examples=["epochs"])
    type: ParameterType = Field(ParameterType.STRING, description="What values look like.", examples=["int"])
    required: Flag = Field(False, description="Whether a value must be given.", examples=[True])
    default: ParameterValue | None = Field(None, description="Value when none is given.", examples=[3])
    min: ParameterValue | None = Field(None, description="Least value; numbers, durations, sizes.", examples=[1])
    max: ParameterValue | None = Field(None, description="Greatest value; numbers, durations, sizes.", examples=[100])
    choices: tuple[ParameterValue, ...] = Field(
        (), max_length=256, description="The values of a `choice`.", examples=[["small", "large"]]
    )
    pattern: Line | None = Field(
        None, description="Regular expression that a `string` matches as a whole.", examples=["[a-z]+"]
    )
    description: Text = Field("", description="What it does.", examples=["How often the data is seen."])

    @model_validator(mode="after")
    def _well_declared(self) -> Self:
        raise_conflicts(self._misplaced() or self._unusable() or self._default_fault(), "PD-1300")
        return self

    def _misplaced(self) -> list[Conflict]:
        found = []
        if self.required == (self.default is not None):
            what = "a required parameter has a default" if self.required else "it has no default and is not required"
            found.append(Conflict("default", what, "give a default, or required: true, one of the two"))
        if (self.min is not None or self.max is not None) and self.type not in ORDERED:
            first = "min" if self.min is not None else "max"
            found.append(Conflict(first, f"a {self.type} has no min and max", "remove min and max"))
        if self.pattern is not None and self.type is not ParameterType.STRING:
            found.append(Conflict("pattern", f"a {self.type} has no pattern", "remove pattern"))
        if bool(self.choices) != (self.type is ParameterType.CHOICE):
            found.append(Conflict("choices", "choices and type: choice go together", "give both or neither"))
        return found

    def _unusable(self) -> list[Conflict]:
        """Bounds and a pattern that nothing could meet."""
        found = []
        for name, bound in (("min", self.min), ("max", self.max)):
            if bound is not None and (fault := _fault(self.type, bound)):
                found.append(Conflict(name, fault.what, fault.fix))
        if not found and None not in (self.min, self.max) and typed(self.type, self.max) < typed(self.type, self.min):
            found.append(Conflict("max", "max is below min", "make max at least min"))
        if self.pattern is not None and (why := pattern_fault(self.pattern)):
            found.append(Conflict("pattern", f"{self.pattern!r} is no pattern: {why}", "correct it"))
        return found

    def _default_fault(self) -> list[Conflict]:
        if self.default is None:
            return []
        try:
            read_value(self, self.default)
        except ValueFault as fault:
            return [Conflict("default", f"the default is not allowed: {fault.what}", fault.fix)]
        return []


def _fault(kind: ParameterType, value: object) -> ValueFault | None:
    try:
        typed(kind, value)
    except ValueFault as fault:
        return fault
    return None
