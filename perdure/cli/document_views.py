"""What checking and comparing a document shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perdure.cli.humane import count
from perdure.cli.output import Column, Shape

if TYPE_CHECKING:
    from perdure.client import Client
    from perdure.client._models import Validation


def validated(client: Client, file: Path) -> Validation:
    """What the API says of a file, whichever kind of document it holds. Raises PerdureError with its faults."""
    from perdure.client._models import CreateSchedule, Validation
    from perdure.client.documents import body_of, kind_of, of_scheduler
    from perdure.client.submitting import request

    if of_scheduler(file):
        found = client.scheduling_documents.diff(file)
        return Validation(name=", ".join(each.name for each in found.items))
    match kind_of(file):
        case "Template":
            return Validation(name=client.templates.create(file, dry_run=True).name)
        case "Schedule":
            return Validation(name=client.schedules.create(CreateSchedule(**body_of(file)), dry_run=True).name)
    return client.jobs.validate(request(file))


def _validation(found: Any) -> list[tuple[str, str]]:
    return [("valid", found.name), ("warnings", "\n".join(found.warnings))]


def _diff(found: Any) -> str:
    if found.job is None:
        return "there is no job of that name; it would be new"
    state = "is live" if found.live else "has ended"
    if not found.changes:
        return f"no difference from job {found.job}, which {state}"
    lines = [f"{count(len(found.changes), 'difference', 'differences')} from job {found.job}, which {state}:"]
    for change in found.changes:
        lines += [f"  {change.path}", f"    - {_value(change.before)}", f"    + {_value(change.after)}"]
    return "\n".join(lines)


def _value(value: Any) -> str:
    return "(not there)" if value is None else json.dumps(value, ensure_ascii=False)


VALIDATION = Shape(
    columns=(Column("NAME", lambda found: found.name),), name=lambda found: found.name, lines=_validation
)
DIFF = Shape(columns=(Column("JOB", lambda found: found.job or ""),), name=lambda found: found.job or "", text=_diff)
