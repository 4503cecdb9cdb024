"""Names of an array's jobs: each is called NAME-INDEX, and no other live job of the project may be."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from definitions.array_state import Indexes
from definitions.errors import PerdureError
from definitions.job import Job
from store import jobs
from store.tables_jobs import JobRow

LONGEST_NAME = 63


def check_names(session: Session, tenant: str, project: str, job: Job) -> None:
    """Refuse a job whose name, or one of its jobs' names, is another's: PD-2201, PD-2202; or too long: PD-2200."""
    name = job.metadata.name
    if job.spec.array is not None:
        array = job.spec.array
        _check_jobs(session, tenant, project, name, Indexes(first=array.first, last=array.last, step=array.step))
    stem, _, digits = name.rpartition("-")
    if stem and _is_index(digits) and (row := jobs.get_live(session, tenant, project, stem)) is not None:
        _check_array(session, row, name, int(digits))


def _check_jobs(session: Session, tenant: str, project: str, name: str, indexes: Indexes) -> None:
    last = f"{name}-{indexes.at(indexes.count - 1)}"
    if len(last) > LONGEST_NAME:
        raise PerdureError("PD-2200", f"{last!r} has {len(last)} characters", where="metadata.name")
    prefix = f"{name}-"
    mine = (JobRow.tenant == tenant, JobRow.project == project)
    between = (JobRow.live_name >= f"{prefix}0", JobRow.live_name <= f"{prefix}9\uffff")
    for held in session.scalars(select(JobRow.live_name).where(*mine, *between)):
        digits = held.removeprefix(prefix) if held is not None else ""
        if _is_index(digits) and indexes.position(int(digits)) is not None:
            detail = f"job {held!r} of project {project!r} has not ended, and the array would have a job of that name"
            raise PerdureError("PD-2201", detail, where="metadata.name")


def _check_array(session: Session, row: JobRow, name: str, index: int) -> None:
    """`row`: the live job whose name the new one's begins with."""
    array = Job.model_validate(row.spec).spec.array
    if array is None:
        return
    indexes = Indexes(first=array.first, last=array.last, step=array.step)
    made = (JobRow.tenant == row.tenant, JobRow.project == row.project)
    mine = (JobRow.parent == row.id, JobRow.array_index == index)
    if indexes.position(index) is None or session.scalar(select(JobRow.id).where(*made, *mine)) is not None:
        return
    raise PerdureError("PD-2202", f"array {row.name!r} ({indexes}) is to make job {name!r}", where="metadata.name")


def _is_index(digits: str) -> bool:
    """Whether text is a number as an index is spelled: `7`, and not `07`."""
    return digits.isdecimal() and digits.isascii() and str(int(digits[:8])) == digits
