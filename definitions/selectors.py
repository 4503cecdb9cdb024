"""Label selectors, read: which labels a job must and must not have."""

from enum import StrEnum

from definitions.wire import Wire


class Operator(StrEnum):
    EQUALS = "equals"
    DIFFERS = "differs"  # has another value, or no such label at all
    EXISTS = "exists"
    ABSENT = "absent"


class Requirement(Wire):
    """One condition of a selector. `value` is set for EQUALS and DIFFERS only."""

    key: str
    operator: Operator
    value: str = ""


Selector = tuple[Requirement, ...]  # all must hold; empty selects everything
