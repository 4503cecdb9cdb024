"""Changes of a document as options: `spec.retry.limit=5` is `{"spec": {"retry": {"limit": 5}}}`."""

from __future__ import annotations

import json
from typing import Any

from perdure.cli.session import pairs
from perdure.codes import USAGE
from perdure.errors import PerdureError


def overrides(given: list[str] | None) -> dict[str, Any]:
    """Nested objects from dotted names. A value is read as JSON where it is JSON, else it is text.

    Raises PerdureError PD-2901 when one change reaches into the value of another.
    """
    found: dict[str, Any] = {}
    for path, text in pairs("--set", given).items():
        at = found
        *folders, last = path.split(".")
        for folder in folders:
            at = at.setdefault(folder, {})
            if not isinstance(at, dict):
                raise PerdureError(USAGE, f"{path} reaches into a value that another --set gives", where="--set")
        if last in at:
            raise PerdureError(USAGE, f"{path} is given by another --set already", where="--set")
        at[last] = _value(text)
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
