"""Why a job is where it is, from what was stored with the decision."""

from sqlalchemy.orm import Session

from definitions.api_jobs import Why
from policies.advice import advice
from store import attempts, events
from store.tables import JobRow

LOOKED_AT = 50  # events; the last change of phase is among them


def explain(session: Session, job: JobRow) -> Why:
    """The stored reason with its evidence. Nothing is worked out here but which advice belongs to the class."""
    newest = attempts.newest(session, job.tenant, job.project, job.id)
    told = job.failure is not None
    changed = [
        event
        for event in events.tail(session, job.tenant, job.project, job.id, LOOKED_AT)
        if event.reason == job.reason or event.kind == "phase"
    ]
    return Why(
        job=job.id,
        name=job.name,
        phase=job.phase,
        reason=job.reason,
        since=changed[-1].at if changed else job.created_at,
        failure=job.failure,
        attempt=job.attempt,
        first_rank=newest.first_rank if newest and told else None,
        exit_code=newest.exit_code if newest and told else job.exit_code,
        signal=newest.signal if newest and told else None,
        last_lines=newest.last_lines if newest and told else [],
        help=[line.replace("JOB", job.name) for line in advice(job.phase, job.failure)],
        next_at=job.wake_at,
    )
