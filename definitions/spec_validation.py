"""Check data against a kind's model: every fault at once, in our words, with what to write instead.

Pydantic finds the faults, definitions/spec_explain.py words them. Neither knows of texts and positions:
definitions/documents.py adds those.
"""

from collections.abc import Iterator
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from definitions.spec_errors import MOST_ISSUES, SpecIssue
from definitions.spec_explain import explain
from definitions.spec_fields import Loc
from definitions.spec_types import yaml_text

M = TypeVar("M", bound=BaseModel)
_KEY = "[key]"  # pydantic's last step of a place when the key of a map is at fault


def check(model: type[M], data: object, *, hide: bool = False) -> tuple[M | None, list[SpecIssue]]:
    """Return the model, or None and every fault (of a hopeless document the first 100).

    With `hide` no value is repeated in a message (secrets).
    """
    try:
        return model.model_validate(data, by_alias=True, by_name=False), []
    except ValidationError as error:
        found = error.errors(include_url=False)[:MOST_ISSUES]
        return None, [issue for details in found for issue in _issues(model, details, hide)]


def _issues(model: type[BaseModel], details: ErrorDetails, hide: bool) -> Iterator[SpecIssue]:
    loc: Loc = details["loc"]
    at_key = loc[-1:] == (_KEY,)
    loc = loc[:-1] if at_key else loc
    context = details.get("ctx", {})
    code = details["type"]
    if "conflicts" in context:
        for below, what, fix in context["conflicts"]:
            shown = "the fields contradict each other" if hide else what
            yield SpecIssue(code=code, loc=(*loc, *_steps(below)), at_key=True, what=shown, fix=fix)
    elif code.startswith("PD-"):
        shown = "the value cannot be read" if hide else context["what"]
        yield SpecIssue(code=code, loc=loc, at_key=at_key, what=shown, fix=context["fix"])
    else:
        shown = "the value" if hide else yaml_text(details["input"])
        issue = explain(model, loc, details, shown)
        yield issue.model_copy(update={"at_key": True}) if at_key else issue


def _steps(path: str) -> Loc:
    return tuple(int(step) if step.isdigit() else step for step in path.split(".") if step)
