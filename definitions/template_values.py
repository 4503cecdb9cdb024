"""The parameters of a template: how they are declared, and which values they take."""

import math
from enum import StrEnum
from typing import Annotated, Any, Self, cast

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator
from pydantic_core import SchemaError, SchemaValidator, ValidationError, core_schema

from definitions.quantities import (
    QuantityError,
    format_duration,
    format_size,
    parse_duration,
    parse_size,
)
from definitions.spec_types import Conflict, Flag, Label, Line, SpecModel, Text, raise_conflicts, refusal, yaml_text

Value = str | int | float | bool
LONGEST_VALUE = 32_768


class ParameterType(StrEnum):
    STRING = "string"
    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    DURATION = "duration"
    SIZE = "size"
    CHOICE = "choice"


ORDERED = frozenset({ParameterType.INT, ParameterType.FLOAT, ParameterType.DURATION, ParameterType.SIZE})
FORMS = {
    ParameterType.STRING: "text",
    ParameterType.INT: "a whole number",
    ParameterType.FLOAT: "a number",
    ParameterType.BOOL: "true or false",
    ParameterType.DURATION: "a duration such as 90m",
    ParameterType.SIZE: "a size such as 10Gi",
    ParameterType.CHOICE: "one of the choices",
}


class ValueFault(ValueError):
    """A value that a parameter does not take."""

    def __init__(self, code: str, what: str, fix: str) -> None:
        super().__init__(f"{what}: {fix}")
        self.code = code
        self.what = what
        self.fix = fix


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
        raise_conflicts([*self._misplaced(), *self._unusable()])
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
        """Bounds, pattern and default that are themselves no values of the type."""
        found = []
        for name, bound in (("min", self.min), ("max", self.max)):
            if bound is not None and self.type in ORDERED:
                try:
                    _typed(self.type, bound)
                except ValueFault as fault:
                    found.append(Conflict(name, fault.what, fault.fix))
        if self.pattern is not None and _pattern_fault(self.pattern):
            found.append(
                Conflict("pattern", f"{self.pattern!r} is no pattern: {_pattern_fault(self.pattern)}", "correct it")
            )
        if not found and self.default is not None:
            try:
                read_value(self, self.default)
            except ValueFault as fault:
                found.append(Conflict("default", f"the default is not allowed: {fault.what}", fault.fix))
        return found


def read_value(parameter: Parameter, value: object) -> Value:
    """The value to put into the document: durations and sizes in canonical spelling. Raises ValueFault.

    Text is read as the parameter's type, so that `--set epochs=3` and the number 3 mean the same.
    """
    if parameter.type is ParameterType.CHOICE:
        return _choice(parameter, value)
    typed = _typed(parameter.type, value)
    if parameter.min is not None and typed < _typed(parameter.type, parameter.min):
        raise ValueFault("PD-1304", f"{yaml_text(value)} is below {parameter.min}", f"give at least {parameter.min}")
    if parameter.max is not None and typed > _typed(parameter.type, parameter.max):
        raise ValueFault("PD-1304", f"{yaml_text(value)} is above {parameter.max}", f"give at most {parameter.max}")
    if parameter.pattern is not None and not _matches(parameter.pattern, typed):
        raise ValueFault("PD-1304", f"{yaml_text(value)} does not match {parameter.pattern}", "correct it")
    if parameter.type is ParameterType.DURATION:
        return format_duration(typed)
    if parameter.type is ParameterType.SIZE:
        return format_size(typed)
    return cast(Value, typed)


def as_text(value: Value) -> str:
    """A value inside a text: as YAML spells it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _choice(parameter: Parameter, value: object) -> Value:
    for choice in parameter.choices:
        same_type = isinstance(value, bool) == isinstance(choice, bool)
        if (same_type and value == choice) or (isinstance(value, str) and value == as_text(choice)):
            return cast(Value, choice)
    known = ", ".join(as_text(choice) for choice in parameter.choices)
    raise ValueFault("PD-1304", f"{yaml_text(value)} is not one of: {known}", "give one of them")


def _typed(kind: ParameterType, value: object) -> Any:
    """The value as something that compares: a number, a timedelta, a text. Raises ValueFault (PD-1303)."""
    try:
        if kind is ParameterType.DURATION:
            return parse_duration(value)
        if kind is ParameterType.SIZE:
            return parse_size(value)
    except QuantityError as error:
        raise ValueFault("PD-1303", error.what, error.fix) from None
    found = _plain(kind, value)
    if found is None:
        raise ValueFault("PD-1303", f"{yaml_text(value)} is not {FORMS[kind]}", f"give {FORMS[kind]}")
    return found


def _plain(kind: ParameterType, value: object) -> Value | None:
    if kind is ParameterType.STRING:
        return value if isinstance(value, str) and len(value) <= LONGEST_VALUE and "\0" not in value else None
    if kind is ParameterType.BOOL:
        return value if isinstance(value, bool) else {"true": True, "false": False}.get(str(value))
    if isinstance(value, bool) or not isinstance(value, str | int | float) or len(str(value)) > 64:
        return None
    try:
        number = int(str(value)) if kind is ParameterType.INT else float(str(value))
    except ValueError:
        return None
    return number if math.isfinite(number) and str(value).isascii() and "_" not in str(value) else None


def _pattern_fault(pattern: str) -> str | None:
    try:
        _validator(pattern)
    except SchemaError as error:
        return str(error).strip().splitlines()[-1].strip()
    return None


def _matches(pattern: str, value: str) -> bool:
    try:
        _validator(pattern).validate_python(value)
    except ValidationError:
        return False
    return True


def _validator(pattern: str) -> SchemaValidator:
    """Patterns run in the engine of pydantic's core, whose time grows with the text only: none can hang a server."""
    return SchemaValidator(core_schema.str_schema(pattern=f"^(?:{pattern})$", regex_engine="rust-regex"))
