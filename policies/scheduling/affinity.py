"""Required node affinity of a job, as its cluster means it: alternatives of conditions on a node's labels and name.
Rules about other pods are the cluster's own to keep: the scheduler knows no labels of pods.

A field of a node is a condition on the label of the field's name, which the nodes of a pool are given (`NODE_NAME`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policies.scheduling.model import Expression, Operator

NODE_NAME = "metadata.name"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PLAIN = frozenset(Operator)


@dataclass(frozen=True, slots=True)
class Condition:
    """`how`: an Operator, or Gt or Lt, which compare whole numbers."""

    key: str
    how: str
    values: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        return self.how in PLAIN

    @property
    def expression(self) -> Expression:
        return Expression(self.key, Operator(self.how), self.values)


def node_terms(affinity: Mapping[str, Any]) -> list[list[list[Any]]]:
    """The alternatives, each a list of [key, operator, values]. What is no condition is left out: the cluster, which
    knows all forms of them, refuses the job's pods for it."""
    terms = _get(_get(affinity.get("nodeAffinity"), REQUIRED), "nodeSelectorTerms")
    return [list(_conditions(term)) for term in terms if isinstance(term, dict)] if isinstance(terms, list) else []


def about_pods(affinity: Mapping[str, Any]) -> list[str]:
    """The kinds of affinity by which a job's pods must, or must not, be near pods with certain labels."""
    return [kind for kind in ("podAffinity", "podAntiAffinity") if _get(affinity.get(kind), REQUIRED)]


def holds(term: Sequence[Condition], labels: Mapping[str, str]) -> bool:
    """Whether a node with these labels is one of the term's. A term without conditions has none."""
    return bool(term) and all(_holds(condition, labels.get(condition.key)) for condition in term)


def _conditions(term: Mapping[str, Any]) -> Iterator[list[Any]]:
    for part in ("matchExpressions", "matchFields"):
        found = term.get(part)
        for one in found if isinstance(found, list) else ():
            key, how, values = _get(one, "key"), _get(one, "operator"), _get(one, "values")
            if isinstance(key, str) and isinstance(how, str):
                yield [key, how, [str(value) for value in values] if isinstance(values, list) else []]


def _get(found: Any, key: str) -> Any:
    return found.get(key) if isinstance(found, dict) else None


def _holds(condition: Condition, value: str | None) -> bool:
    match condition.how:
        case "In":
            return value in condition.values
        case "NotIn":
            return value not in condition.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(condition, value)
        case _:
            return False


def _compares(condition: Condition, value: str | None) -> bool:
    try:
        own, other = int(value or ""), int(condition.values[0])
    except (ValueError, IndexError):
        return False
    return own > other if condition.how == "Gt" else own < other
