"""Who is told of a job's end: jobs that wait for it, and the array that it is one of.

Following and ending both hold the job's row, so whoever follows is either told by a message that is written with the
end, or finds that the job has ended already.
"""

from collections.abc import Sequence

from sqlalchemy import delete, or_, select
from sqlalchemy.orm import Session

from definitions.facts import JobEnded
from definitions.ids import job_workflow_id
from store import outbox
from store.tables_jobs import JobFollowerRow, JobRow
from store.upsert import changed, chunks, insert_missing

TOPIC = "jobs"  # of these messages in the outbox


def follow(session: Session, tenant: str, project: str, job: str, follower: str) -> JobEnded | None:
    """Let job `follower` be told when `job`, of the same project, ends. How it ended, when it has: nobody is told then.

    Both are ids; the follower need not be there yet. Holds the job's row until the transaction is over. Safe to repeat.
    Raises NoResultFound when there is no such job.
    """
    mine = (JobRow.tenant == tenant, JobRow.project == project, JobRow.id == job)
    held = select(JobRow).where(*mine).with_for_update().execution_options(populate_existing=True)
    row = session.scalars(held).one()
    if row.phase.is_final:
        return end_of(row)
    key = {"tenant": tenant, "project": project, "job": job, "follower": follower}
    insert_missing(session, JobFollowerRow, [key], ("job", "follower"))
    return None


def tell(session: Session, row: JobRow) -> int:
    """Leave a message to everybody who follows a job, in the transaction that ends it, which holds its row. Returns to
    how many. Safe to repeat: of one end each hears once."""
    mine = (JobFollowerRow.tenant == row.tenant, JobFollowerRow.project == row.project, JobFollowerRow.job == row.id)
    found = session.scalars(select(JobFollowerRow.follower).where(*mine).order_by(JobFollowerRow.follower)).all()
    end = end_of(row)
    body, at = end.model_dump(mode="json"), end.at
    messages = [
        outbox.message(f"ended/{row.id}/{follower}", TOPIC, job_workflow_id(row.tenant, follower), body, at)
        for follower in found
    ]
    outbox.add_all(session, messages)
    return len(found)


def of(session: Session, tenant: str, project: str, job: str) -> list[str]:
    """Ids of those who follow a job, or followed it when it ended."""
    mine = (JobFollowerRow.tenant == tenant, JobFollowerRow.project == project, JobFollowerRow.job == job)
    return list(session.scalars(select(JobFollowerRow.follower).where(*mine).order_by(JobFollowerRow.follower)))


def ends(session: Session, tenant: str, project: str, jobs: Sequence[str]) -> list[JobEnded]:
    """How those of these jobs have ended that have, by id; the deleted ones too."""
    found: list[JobEnded] = []
    for some in chunks(sorted(set(jobs))):
        mine = (JobRow.tenant == tenant, JobRow.project == project, JobRow.id.in_(some), JobRow.ended_at.is_not(None))
        found += (end_of(row) for row in session.scalars(select(JobRow).where(*mine).order_by(JobRow.id)))
    return found


def forget(session: Session, tenant: str, job: str) -> int:
    """Remove what says that a job follows others, and others follow it. Safe to repeat."""
    either = or_(JobFollowerRow.job == job, JobFollowerRow.follower == job)
    return changed(session, delete(JobFollowerRow).where(JobFollowerRow.tenant == tenant, either))


def end_of(row: JobRow) -> JobEnded:
    """What is said of a job that has ended."""
    assert row.ended_at is not None
    return JobEnded(job=row.id, name=row.name, phase=row.phase, failure=row.failure, at=row.ended_at)
