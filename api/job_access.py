"""Finding the job that a request is about, in the caller's tenant and project and nowhere else."""

from sqlalchemy.orm import Session

from api.access import Caller
from api.views import etag
from definitions.errors import PerdureError
from store import jobs
from store.tables import JobRow


def job_row(caller: Caller, session: Session, reference: str) -> JobRow:
    """The job by id, or the newest by name. Raises PD-2004, the same for what does not exist and what is not yours."""
    row = jobs.get(session, caller.tenant, caller.project, reference)
    if row is None:
        raise caller.missing("job", reference)
    caller.log["job"] = row.id
    return row


def check_etag(row: JobRow, if_match: str | None) -> None:
    """Raise PD-2007 when the request is meant for another state of the job than the present one."""
    if if_match is None or matches(etag(row), if_match):
        return
    raise PerdureError(
        "PD-2007", f"job {row.name!r} is at {etag(row)}, not at {if_match}", where="If-Match", data={"etag": etag(row)}
    )


def matches(present: str, wanted: str) -> bool:
    """Whether a list of ETags, or `*`, names the present one. Weak marks are ignored: there is one representation."""
    names = {name.strip().removeprefix("W/") for name in wanted.split(",")}
    return "*" in names or present in names
