"""Jobs as people see them, arrays with where their jobs are: one count for a whole page."""

from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from api.access import Caller
from api.job_access import job_row
from api.settings import ApiSettings
from api.views import job_view
from definitions.api_jobs import JobView
from definitions.errors import PerdureError
from definitions.job import Job
from definitions.states import Phase
from policies.array_figures import array_view
from store import arrays
from store.tables import JobRow

FAILED_SHOWN = 20


def is_array(row: JobRow) -> bool:
    return row.spec.get("spec", {}).get("array") is not None


def job_views(session: Session, rows: Sequence[JobRow], settings: ApiSettings) -> list[JobView]:
    """Jobs of one project as in a list, in the same order."""
    mine = [row for row in rows if is_array(row)]
    counted = arrays.counts(session, mine[0].tenant, mine[0].project, [row.id for row in mine]) if mine else {}
    return [_listed(row, settings, counted.get(row.id, {})) for row in rows]


def whole_view(session: Session, row: JobRow, settings: ApiSettings) -> JobView:
    """One job with its document; of an array the indexes that failed too."""
    if not is_array(row):
        return job_view(row, settings)
    counted = arrays.counts(session, row.tenant, row.project, [row.id]).get(row.id, {})
    failed = arrays.failed(session, row.tenant, row.project, row.id, FAILED_SHOWN) if Phase.FAILED in counted else []
    return job_view(row, settings, array=array_view(Job.model_validate(row.spec), counted, failed))


def array_row(caller: Caller, session: Session, reference: str) -> JobRow:
    """The array by id, or the newest job by name. Raises PD-2004, PD-2204 when it is no array."""
    row = job_row(caller, session, reference)
    if not is_array(row):
        raise PerdureError("PD-2204", f"job {row.name!r} is no array")
    return row


def plain_row(caller: Caller, session: Session, reference: str) -> JobRow:
    """A job that runs something itself. Raises PD-2004, PD-2203 for an array."""
    row = job_row(caller, session, reference)
    if is_array(row):
        first = row.spec["spec"]["array"].get("first", 0)
        remedy = f"Name one of its jobs, such as {row.name}-{first}; perdure jobs children {row.name} lists them."
        raise PerdureError("PD-2203", f"job {row.name!r} is an array", remedy=remedy)
    return row


def _listed(row: JobRow, settings: ApiSettings, counted: Mapping[Phase, int]) -> JobView:
    array = array_view(Job.model_validate(row.spec), counted) if is_array(row) else None
    return job_view(row, settings, whole=False, array=array)
