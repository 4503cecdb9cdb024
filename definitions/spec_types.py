"""What every kind is built from: the strict base model, and field types that explain themselves when they refuse.

A type here refuses by `refusal(code, what, fix)`: what is wrong, and what to write instead. definitions/spec_errors.py
turns that into an issue with a place. Nothing is converted quietly: `nodes: "2"` and `suspend: 1` are errors.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, Strict
from pydantic import WithJsonSchema as Schema
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from definitions.quantities import (
    QuantityError,
    format_cpus,
    format_duration,
    format_size,
    parse_cpus,
    parse_duration,
    parse_size,
)

T = TypeVar("T")


def _spell_defaults(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Schemas show the default of a duration as it is written (`30s`), not in ISO 8601."""
    for name, field in model.model_fields.items():
        if isinstance(field.default, timedelta):
            schema["properties"][field.alias or name]["default"] = format_duration(field.default)


class SpecModel(BaseModel):
    """Base of what people write: frozen, unknown fields refused, camelCase outside and snake_case inside."""

    model_config = ConfigDict(
        hide_input_in_errors=True,  # an error's text may end in a log
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        json_schema_extra=_spell_defaults,
    )


class Label(NamedTuple):
    """Marks a field type with the word that docs and help use for it."""

    text: str


class Conflict(NamedTuple):
    """A fault between fields. `path` is the field to change, below the model that refuses, in outside spelling."""

    path: str
    what: str
    fix: str


def refusal(code: str, what: str, fix: str) -> PydanticCustomError:
    """An error that a validator raises; it keeps its code and its remedy on the way through pydantic."""
    return PydanticCustomError(code, "{what}", {"what": what, "fix": fix})


def raise_conflicts(found: list[Conflict], code: str = "PD-1112") -> None:
    """Refuse a model for every fault between its fields at once; do nothing when there is none."""
    if found:
        what = "; ".join(conflict.what for conflict in found)
        raise PydanticCustomError(code, "{what}", {"what": what, "conflicts": found})


def kind_of(value: object) -> str:
    """What a value is, in words."""
    if value is None:
        return "nothing"
    names = {bool: "a boolean", dict: "a mapping", list: "a list", str: "text"}
    return names.get(type(value), f"the number {value}")


def yaml_text(value: object) -> str:
    """A value in YAML's spelling, short enough for a message."""
    if value is None:
        return "null"
    text = str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def not_text(value: object, word: str | None = None) -> tuple[str, str]:
    """What is wrong with a value where text is expected, and what to write. `word`: as it stands in the document."""
    if value is None:
        return "nothing stands where text is expected", 'write "" for an empty text, or remove the line'
    shown = yaml_text(value) if word is None else word
    kind = "a number" if shown == str(value) else kind_of(value)
    return f"{shown} is {kind}, and text is expected", f'write "{shown}"'


def _quantity(code: str, parse: Callable[[object], T]) -> BeforeValidator:
    def read(value: object) -> T:
        try:
            return parse(value)
        except QuantityError as error:
            raise refusal(code, error.what, error.fix) from None

    return BeforeValidator(read)


def _spelled(pattern: str, longest: int, kind: str, fix: str, code: str = "PD-1107") -> AfterValidator:
    compiled = re.compile(pattern)

    def check(value: str) -> str:
        if len(value) > longest:
            raise refusal(code, f"{kind} may have {longest} characters, this has {len(value)}", "shorten it")
        if not compiled.fullmatch(value):
            raise refusal(code, f"{value!r} is not {kind}", fix)
        return value

    return AfterValidator(check)


def _without_nul(value: str) -> str:
    if "\0" in value:
        raise refusal("PD-1107", "the text holds a NUL byte, which no program can be given", "remove it")
    return value


def _relative_path(value: str) -> str:
    parts = value.split("/")
    if value.startswith("/") or not value or "\\" in value or any(part in ("", "..") for part in parts):
        fix = "write it like data/train, with no leading / and no .."
        raise refusal("PD-1113", f"{value!r} is not a path inside a folder", fix)
    return _without_nul(value)


def _instant(value: object) -> datetime:
    fix = "write it like 2026-01-31T18:00:00Z"
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise refusal("PD-1114", f"{value!r} is not a point in time", fix) from None
    if not isinstance(value, datetime):
        raise refusal("PD-1114", f"{value!r} is not a point in time", fix)
    if value.tzinfo is None:
        raise refusal("PD-1114", f"{value.isoformat()} does not say in which time zone", fix)
    return value.astimezone(UTC)


def _rfc3339(value: datetime) -> str:
    return value.isoformat().replace("+00:00", "Z")


def _unpadded(pattern: str, longest: int) -> Any:
    return Schema({"type": "string", "pattern": f"^{pattern}$", "maxLength": longest})


_NAME = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_ENV_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_LABEL_VALUE = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"
_LABEL_KEY = r"(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"

Name = Annotated[
    str,
    _spelled(_NAME, 63, "a name", "use lower-case letters, digits and -, beginning and ending with a letter or digit"),
    _unpadded(_NAME, 63),
    Label("name"),
]
EnvName = Annotated[
    str,
    _spelled(_ENV_NAME, 128, "a name of an environment variable", "use letters, digits and _", "PD-1111"),
    _unpadded(_ENV_NAME, 128),
    Label("variable"),
]
LabelKey = Annotated[
    str,
    _spelled(_LABEL_KEY, 127, "a key of a label", "write it like team or example.org/team", "PD-1117"),
    _unpadded(_LABEL_KEY, 127),
    Label("label key"),
]
LabelValue = Annotated[
    str,
    _spelled(_LABEL_VALUE, 63, "a value of a label", "use letters, digits, -, _ and .", "PD-1117"),
    _unpadded(_LABEL_VALUE, 63),
    Label("label value"),
]
Sha256 = Annotated[
    str,
    _spelled(r"[0-9a-f]{64}", 64, "a sha256 digest", "write 64 lower-case hex digits"),
    _unpadded("[0-9a-f]{64}", 64),
    Label("sha256"),
]
Text = Annotated[str, AfterValidator(_without_nul), Field(max_length=32_768), Label("text")]
Line = Annotated[str, AfterValidator(_without_nul), Field(min_length=1, max_length=255), Label("text")]
RelativePath = Annotated[str, AfterValidator(_relative_path), Field(max_length=1024), Label("relative path")]
Whole = Annotated[int, Strict(), Label("whole number")]
Number = Annotated[float, Strict(), Field(allow_inf_nan=False), Label("number")]
Flag = Annotated[bool, Strict(), Label("true or false")]
Duration = Annotated[
    timedelta,
    _quantity("PD-1108", parse_duration),
    PlainSerializer(format_duration, return_type=str, when_used="json"),
    Schema({"type": "string", "pattern": r"^(\d+d)?(\d+h)?(\d+m)?(\d+s)?(\d+ms)?$", "examples": ["30s", "1h30m"]}),
    Label("duration"),
]
Size = Annotated[
    int,
    _quantity("PD-1109", parse_size),
    PlainSerializer(format_size, return_type=str, when_used="json"),
    Schema({"type": ["string", "integer"], "pattern": r"^\d+([KMGTP]i?|k)?$", "examples": ["500M", "10Gi"]}),
    Label("size"),
]
Cpus = Annotated[
    int,
    _quantity("PD-1110", parse_cpus),
    PlainSerializer(format_cpus, return_type=str, when_used="json"),
    Schema({"type": ["string", "number"], "examples": [2, 0.5, "500m"]}),
    Label("processors"),
]
Instant = Annotated[
    datetime,
    BeforeValidator(_instant),
    PlainSerializer(_rfc3339, return_type=str, when_used="json"),
    Schema({"type": "string", "format": "date-time"}),
    Label("time"),
]
