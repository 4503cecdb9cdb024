"""Which values a template's parameter takes, and how they are put into a document."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

from pydantic_core import SchemaError, SchemaValidator, ValidationError, core_schema

from definitions.quantities import QuantityError, format_duration, format_size, parse_duration, parse_size
from definitions.spec_types import yaml_text

if TYPE_CHECKING:
    from definitions.template_parameters import Parameter

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


def read_value(parameter: Parameter, value: object) -> Value:
    """The value to put into the document: durations and sizes in canonical spelling. Raises ValueFault.

    Text is read as the parameter's type, so that `--set epochs=3` and the number 3 mean the same.
    """
    if parameter.type is ParameterType.CHOICE:
        return _choice(parameter, value)
    wanted = typed(parameter.type, value)
    if parameter.min is not None and wanted < typed(parameter.type, parameter.min):
        raise ValueFault("PD-1304", f"{yaml_text(value)} is below {parameter.min}", f"give at least {parameter.min}")
    if parameter.max is not None and wanted > typed(parameter.type, parameter.max):
        raise ValueFault("PD-1304", f"{yaml_text(value)} is above {parameter.max}", f"give at most {parameter.max}")
    if parameter.pattern is not None and not _matches(parameter.pattern, wanted):
        raise ValueFault("PD-1304", f"{yaml_text(value)} does not match {parameter.pattern}", "correct it")
    if parameter.type is ParameterType.DURATION:
        return format_duration(wanted)
    if parameter.type is ParameterType.SIZE:
        return format_size(wanted)
    return cast(Value, wanted)


def as_text(value: Value) -> str:
    """A value inside a text: as YAML spells it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def typed(kind: ParameterType, value: object) -> Any:
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


def pattern_fault(pattern: str) -> str | None:
    """Why a pattern cannot be used; None when it can."""
    try:
        _validator(pattern)
    except SchemaError as error:
        return str(error).strip().splitlines()[-1].strip()
    return None


def _choice(parameter: Parameter, value: object) -> Value:
    for choice in parameter.choices:
        same_type = isinstance(value, bool) == isinstance(choice, bool)
        if (same_type and value == choice) or (isinstance(value, str) and value == as_text(choice)):
            return cast(Value, choice)
    known = ", ".join(as_text(choice) for choice in parameter.choices)
    raise ValueFault("PD-1304", f"{yaml_text(value)} is not one of: {known}", "give one of them")


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


def _matches(pattern: str, value: str) -> bool:
    try:
        _validator(pattern).validate_python(value)
    except ValidationError:
        return False
    return True


def _validator(pattern: str) -> SchemaValidator:
    """Patterns run in the engine of pydantic's core, whose time grows with the text only: none can hang a server."""
    return SchemaValidator(core_schema.str_schema(pattern=f"^(?:{pattern})$", regex_engine="rust-regex"))
