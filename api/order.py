"""What a job waits for, as people see it."""

from sqlalchemy.orm import Session

from definitions.api_order import AwaitedNow, AwaitedView
from definitions.submission import JobSubmission
from policies.job_order import meets
from store import job_order
from store.tables import JobRow


def awaited(submission: JobSubmission) -> list[AwaitedView]:
    """The jobs that were found when the job was accepted, or would be now."""
    return [AwaitedView(job=one.job, name=one.name, outcome=one.outcome) for one in submission.after]


def awaited_now(session: Session, row: JobRow) -> list[AwaitedNow]:
    """The same with where they are. Nothing for a job that has begun: it waits for nobody any more."""
    if not row.submission.get("after") or row.attempt or row.started_at is not None:
        return []
    after = JobSubmission.model_validate(row.submission).after
    there = job_order.phases(session, row.tenant, row.project, [one.job for one in after])
    return [
        AwaitedNow(
            job=one.job,
            name=one.name,
            outcome=one.outcome,
            phase=there[one.job],
            met=meets(one.outcome, there[one.job]) if there[one.job].is_final else None,
        )
        for one in after
        if one.job in there
    ]
