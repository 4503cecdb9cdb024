"""Reading label selectors, and applying them to labels. The store does the same in SQL; a test holds both together."""

import re
from collections.abc import Mapping

from definitions.errors import PerdureError
from definitions.selectors import Operator, Requirement, Selector

LONGEST = 2000
MOST = 32

_KEY = r"(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"
_COMPARED = re.compile(rf"(?P<key>{_KEY})\s*(?P<sign>==?|!=)\s*(?P<value>{_VALUE})")
_PRESENCE = re.compile(rf"(?P<sign>!?)\s*(?P<key>{_KEY})")


def parse_selector(text: str) -> Selector:
    """Read `team=vision,stage!=test,gpu,!draft`. Blank text selects everything; spaces around parts do not matter.

    Raises PerdureError PD-3704 that names the part which cannot be read.
    """
    if not text.strip():
        return ()
    if len(text) > LONGEST:
        raise PerdureError("PD-3704", f"a selector has at most {LONGEST} characters, this has {len(text)}")
    parts = text.split(",")
    if len(parts) > MOST:
        raise PerdureError("PD-3704", f"a selector has at most {MOST} conditions, this has {len(parts)}")
    return tuple(_requirement(part.strip(), number) for number, part in enumerate(parts, 1))


def matches(selector: Selector, labels: Mapping[str, str]) -> bool:
    """Whether labels fulfil every condition."""
    return all(_holds(requirement, labels) for requirement in selector)


def format_selector(selector: Selector) -> str:
    """Text that `parse_selector` reads back as the same selector."""
    spelled = {
        Operator.EQUALS: "{0.key}={0.value}",
        Operator.DIFFERS: "{0.key}!={0.value}",
        Operator.EXISTS: "{0.key}",
        Operator.ABSENT: "!{0.key}",
    }
    return ",".join(spelled[requirement.operator].format(requirement) for requirement in selector)


def _requirement(part: str, number: int) -> Requirement:
    if found := _COMPARED.fullmatch(part):
        operator = Operator.DIFFERS if found["sign"] == "!=" else Operator.EQUALS
        return Requirement(key=found["key"], operator=operator, value=found["value"])
    if found := _PRESENCE.fullmatch(part):
        return Requirement(key=found["key"], operator=Operator.ABSENT if found["sign"] else Operator.EXISTS)
    what = "is empty" if not part else f"({part!r}) cannot be read"
    raise PerdureError("PD-3704", f"condition {number} of the selector {what}", where="selector")


def _holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case Operator.EQUALS:
            return value == requirement.value
        case Operator.DIFFERS:
            return value != requirement.value
        case Operator.EXISTS:
            return value is not None
        case Operator.ABSENT:
            return value is None
