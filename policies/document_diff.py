"""What differs between two documents, field by field."""

from collections.abc import Iterator
from typing import Any

from definitions.api_submit import Change


def changes(before: Any, after: Any) -> list[Change]:
    """Every difference, in the order of `after`; fields that only `before` has come last within their object."""
    return list(_walk(before, after, ""))


def merged(document: Any, overrides: Any) -> Any:
    """`document` with `overrides` laid over it: objects key by key, everything else replaced; null removes a key."""
    if not isinstance(document, dict) or not isinstance(overrides, dict):
        return overrides
    result = dict(document)
    for key, value in overrides.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def _walk(before: Any, after: Any, path: str) -> Iterator[Change]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*after, *(key for key in before if key not in after)]:
            yield from _walk(before.get(key), after.get(key), f"{path}.{key}" if path else key)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _walk(old, new, f"{path}[{index}]")
    elif before != after or type(before) is not type(after):
        yield Change(path=path, before=before, after=after)
