"""Words for what pydantic finds: what is wrong with a value, and what to write instead."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from functools import cache

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from definitions.quantities import format_duration
from definitions.spec_errors import SpecIssue, did_you_mean, dotted
from definitions.spec_fields import Loc, bounds_of, field_at, fields_of, type_at, walk
from definitions.spec_types import kind_of, not_text

Explain = Callable[[type[BaseModel], Loc, ErrorDetails, str], SpecIssue]
TRUE_WORDS = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}


def explain(model: type[BaseModel], loc: Loc, details: ErrorDetails, shown: str) -> SpecIssue:
    """Word one of pydantic's own errors. `shown` stands for the value in the message."""
    return _EXPLAIN.get(details["type"], _other)(model, loc, details, shown)


def _unknown_field(model: type[BaseModel], loc: Loc, details: ErrorDetails, shown: str) -> SpecIssue:
    name = str(loc[-1])
    owner = type_at(model, loc[:-1])
    known = tuple(fields_of(owner)) if isinstance(owner, type) and issubclass(owner, BaseModel) else ()
    place = dotted(loc[:-1]) or "the document"
    close = did_you_mean(name, known) or _elsewhere(model, name)
    fix = f"did you mean {close}?" if close else f"use one of: {', '.join(known)}"
    return SpecIssue(code="PD-1101", loc=loc, at_key=True, what=f"{place} has no field {name}", fix=fix)


def _elsewhere(model: type[BaseModel], name: str) -> str | None:
    """The path of a field that is called so, or nearly so, in another place."""
    paths = _paths(model)
    close = name if name in paths else did_you_mean(name, paths)
    return paths[close] if close else None


@cache
def _paths(model: type[BaseModel]) -> dict[str, str]:
    """Fields by name, the outermost of each name."""
    return {field.alias: field.path for field in sorted(walk(model), key=lambda f: -f.path.count("."))}


def _missing(model: type[BaseModel], loc: Loc, details: ErrorDetails, shown: str) -> SpecIssue:
    owner = type_at(model, loc[:-1])
    field = fields_of(owner)[str(loc[-1])]
    example = field.info.examples[0] if field.info.examples else "..."
    shown = json.dumps(example) if isinstance(example, dict | list) else str(example)
    fix = f"add {loc[-1]}, for example {loc[-1]}: {shown}"
    return SpecIssue(code="PD-1102", loc=loc, what=f"{dotted(loc)} is missing", fix=fix)


def _not_text(model: type[BaseModel], loc: Loc, details: ErrorDetails, shown: str) -> SpecIssue:
    value = details["input"]
    if isinstance(value, dict | list):
        return SpecIssue(code="PD-1103", loc=loc, what=f"text is expected, not {kind_of(value)}", fix="write text")
    what, fix = not_text(value) if shown != "the value" else ("text is expected", "put the value in double quotes")
    return SpecIssue(code="PD-1104", loc=loc, what=what, fix=fix)


def _not_whole(model: type[BaseModel], loc: Loc, details: ErrorDetails, shown: str) -> SpecIssue:
    value = details["input"]
    fix = "write a whole number"
    if isinstance(value, str) and re.fullmatch(r"[-+]?[0-9]{1,18}", value):
        fix = f"write {int(value)}, without quotes"
    if isinstance(value, float) and value.is_integer():
        fix = f"write {int(value)}"
    what = f"{shown} is {kind_of(value)}, and a whole number is expected"
    return SpecIssue(code="PD-1103", loc=loc, what=what, fix=fix)


def _not_number(model: type[BaseModel], loc: Loc, details: ErrorDetails, shown: str) -> SpecIssue:
    value = details["input"]
    bare = isinstance(value, str) and re.fullmatch(r"[-+]?[0-9]{1,18}(\.[0-9]{1,18})?", value)
    what = f"{shown} is {kind_of(value)}, and a number is expected"
    return SpecIssue(
        code="PD-1103", loc=loc, what=what, fix=f"write {value}, without quotes" if bare else "write a number"
    )


def _not_bool(model: type[BaseModel], loc: Loc, details: ErrorDetails, shown: str) -> SpecIssue:
    word = TRUE_WORDS.get(str(details["input"]).lower(), "true or false")
    what = f"{shown} is {kind_of(details['input'])}, and true or false is expected"
    return SpecIssue(code="PD-1103", loc=loc, what=what, fix=f"write {word}")


def _not_list(model: type[BaseModel], loc: Loc, details: ErrorDetails, shown: str) -> SpecIssue:
    fix = "write a list: [a, b]"
    if isinstance(details["input"], str):
        fix = (
            "write a list with one entry per word, or use shell: TEXT"
            if loc[-1:] == ("command",)
            else f"write [{shown}]"
        )
    what = f"a list is expected, not {kind_of(details['input'])}"
    return SpecIssue(code="PD-1103", loc=loc, what=what, fix=fix)


def _not_mapping(model: type[BaseModel], loc: Loc, details: ErrorDetails, shown: str) -> SpecIssue:
    owner = type_at(model, loc)
    known = ", ".join(fields_of(owner)) if isinstance(owner, type) and issubclass(owner, BaseModel) else "name: value"
    empty = details["input"] is None
    what = "nothing stands below it" if empty else f"fields are expected below it, not {kind_of(details['input'])}"
    fix = f"remove the line, or give: {known}" if empty else f"give: {known}"
    return SpecIssue(code="PD-1103", loc=loc, what=what, fix=fix)


def _not_a_choice(model: type[BaseModel], loc: Loc, details: ErrorDetails, shown: str) -> SpecIssue:
    known = re.findall(r"'([^']*)'", str(details.get("ctx", {}).get("expected", "")))
    code = "PD-1100" if loc in (("apiVersion",), ("kind",)) else "PD-1105"
    close = did_you_mean(str(details["input"]), known)
    fix = f"did you mean {close}?" if close else f"use one of: {', '.join(known)}"
    return SpecIssue(code=code, loc=loc, what=f"{shown} is not one of: {', '.join(known)}", fix=fix)


def _bound(word: str, key: str) -> Explain:
    def explain(model: type[BaseModel], loc: Loc, details: ErrorDetails, shown: str) -> SpecIssue:
        field = field_at(model, loc)
        bound = bounds_of(field.info).get(key) if field else None
        if bound is None:
            bound = details["ctx"][key]
        spelled = format_duration(bound) if isinstance(bound, timedelta) else str(bound)
        what = f"{shown} is not {word} {spelled}"
        return SpecIssue(code="PD-1106", loc=loc, what=what, fix=f"write a value {word} {spelled}")

    return explain


def _wrong_length(model: type[BaseModel], loc: Loc, details: ErrorDetails, shown: str) -> SpecIssue:
    context = details["ctx"]
    least, most = context.get("min_length"), context.get("max_length")
    unit = "characters" if isinstance(details["input"], str) else "entries"
    what = f"fewer than {least} {unit}" if least is not None else f"more than {most} {unit}"
    fix = f"give at least {least}" if least is not None else f"give at most {most}"
    return SpecIssue(code="PD-1106", loc=loc, what=what, fix=fix)


def _wrong_spelling(model: type[BaseModel], loc: Loc, details: ErrorDetails, shown: str) -> SpecIssue:
    field = field_at(model, loc)
    example = field.info.examples[0] if field and field.info.examples else details["ctx"]["pattern"]
    what = f"{shown} does not match {details['ctx']['pattern']}"
    return SpecIssue(code="PD-1107", loc=loc, what=what, fix=f"write it like {example}")


def _other(model: type[BaseModel], loc: Loc, details: ErrorDetails, shown: str) -> SpecIssue:
    message = details["msg"]
    return SpecIssue(
        code="PD-1199", loc=loc, what=f"{shown}: {message[:1].lower()}{message[1:]}", fix="correct the value"
    )


_EXPLAIN: dict[str, Explain] = {
    "extra_forbidden": _unknown_field,
    "missing": _missing,
    **dict.fromkeys(("string_type", "string_sub_type"), _not_text),
    **dict.fromkeys(("int_type", "int_from_float", "int_parsing"), _not_whole),
    **dict.fromkeys(("float_type", "finite_number"), _not_number),
    **dict.fromkeys(("bool_type", "bool_parsing"), _not_bool),
    **dict.fromkeys(("tuple_type", "list_type"), _not_list),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), _not_mapping),
    **dict.fromkeys(("enum", "literal_error"), _not_a_choice),
    "greater_than": _bound("above", "gt"),
    "greater_than_equal": _bound("at least", "ge"),
    "less_than": _bound("below", "lt"),
    "less_than_equal": _bound("at most", "le"),
    "string_pattern_mismatch": _wrong_spelling,
    **dict.fromkeys(("string_too_short", "string_too_long", "too_short", "too_long"), _wrong_length),
}
