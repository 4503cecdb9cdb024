"""From the flags of `perdure clusters add` to a Cluster document. The API judges what it is given."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perdure.codes import USAGE
from perdure.errors import PerdureError


def cluster_document(name: str, spec: Mapping[str, Any], file: Path | None) -> dict[str, Any] | Path:
    """The file as it is, or a document that says what the flags say. Raises PerdureError PD-2901 when both do."""
    given = _given(spec)
    if file is None:
        return {"apiVersion": "perdure/v1", "kind": "Cluster", "metadata": {"name": name}, "spec": given}
    if given:
        remedy = "Write it into the file, or leave the file out."
        raise PerdureError(USAGE, "--file says how the cluster is, and other flags do too", where="-f", remedy=remedy)
    return file


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Without what was left out."""
    found = {name: _given(value) if isinstance(value, Mapping) else value for name, value in fields.items()}
    return {name: value for name, value in found.items() if value not in (None, {})}
