"""In what an object of a cluster differs from what was made: only fields that were made are compared.

A cluster fills in defaults, and writes quantities in its own way; neither is a difference.
"""

from collections.abc import Iterator
from typing import Any

from definitions.kube_quantity import parse_kube_quantity
from definitions.quantities import QuantityError

Difference = tuple[str, Any, Any]  # path, as made, as found


def object_differences(made: Any, found: Any, path: str = "") -> Iterator[Difference]:
    """Fields of `made` that `found` has otherwise, in the order of `made`."""
    if isinstance(made, dict) and isinstance(found, dict):
        for key, value in made.items():
            yield from object_differences(value, found.get(key), f"{path}.{key}" if path else str(key))
    elif isinstance(made, list) and isinstance(found, list) and len(made) == len(found):
        for number, (value, other) in enumerate(zip(made, found, strict=True)):
            yield from object_differences(value, other, f"{path}[{number}]")
    elif not _same(made, found):
        yield path, made, found


def _same(made: Any, found: Any) -> bool:
    if made == found:
        return True
    if found is None:
        return made in ({}, [], "", False)  # what is empty is left out by the cluster
    if isinstance(made, str) and isinstance(found, str):
        try:
            return parse_kube_quantity(made) == parse_kube_quantity(found)
        except QuantityError:
            return False
    return False
