"""Why a job is where it is, from what was stored with the decision."""

from sqlalchemy.orm import Session

from api.access import Caller
from api.arrays import is_array
from api.clusters import warnings_of
from api.order import awaited_now
from api.queue_times import with_overdue
from api.queueing import held_places, why_queued
from api.scheduling_documents import stored
from definitions.api_jobs import RankPlace, Why
from definitions.api_queueing import HeldPlaces, WhyQueued
from definitions.attempt import RankEvidence, RankState
from definitions.cluster import LOCAL_CLUSTER
from policies.advice import advice
from policies.array_moves import help_with
from policies.scheduling.documents import scheduling
from store import attempts, clusters, events, gangs
from store.tables import AttemptRow, JobRow

LOOKED_AT = 50  # events; the last change of phase is among them
RANKS_SHOWN = 32


def explain(caller: Caller, session: Session, job: JobRow) -> Why:
    """The stored reason with its evidence. Nothing is worked out here but which advice belongs to the class."""
    now = caller.deps.now()
    cluster = None if job.cluster == LOCAL_CLUSTER else clusters.get(session, job.cluster)
    newest = attempts.newest(session, job.tenant, job.project, job.id)
    told = job.failure is not None
    waiting, places = _queued(caller, session, job)
    after = awaited_now(session, job)
    changed = [
        event
        for event in events.tail(session, job.tenant, job.project, job.id, LOOKED_AT)
        if event.reason == job.reason or event.kind == "phase"
    ]
    return Why(
        job=job.id,
        name=job.name,
        phase=job.phase,
        reason=waiting.reason if waiting is not None and waiting.reason else job.reason,
        since=changed[-1].at if changed else job.created_at,
        failure=job.failure,
        attempt=job.attempt,
        first_rank=newest.first_rank if newest and told else None,
        exit_code=newest.exit_code if newest and told else job.exit_code,
        signal=newest.signal if newest and told else None,
        last_lines=newest.last_lines if newest and told else [],
        help=_help(job, ordered=bool(after)),
        next_at=job.wake_at,
        cluster=job.cluster,
        ranks=_places(newest) if newest is not None and job.cluster != LOCAL_CLUSTER else [],
        warnings=[] if job.phase.is_final else list(warnings_of(cluster, now)),
        waiting=waiting,
        places=places,
        after=after,
    )


def _help(job: JobRow, *, ordered: bool) -> list[str]:
    if is_array(job) and not ordered:
        return help_with(job.phase, job.name)
    return [line.replace("JOB", job.name) for line in advice(job.phase, job.failure, ordered=ordered)]


def _queued(caller: Caller, session: Session, job: JobRow) -> tuple[WhyQueued | None, HeldPlaces | None]:
    """Why it waits for places, or those that it holds; neither of a job that the scheduler has nothing to do with."""
    gang = gangs.get(session, job.tenant, job.project, job.id)
    if gang is None:
        return None, None
    if gang.state != gangs.WAITING:
        return None, held_places(caller, session, gang)
    rules = scheduling(stored(session))
    why = why_queued(caller, session, gang, rules.models)
    return with_overdue(why, rules.priorities, caller.deps.now()), None


def _places(attempt: AttemptRow) -> list[RankPlace]:
    """Ranks of an attempt that has not ended, those that wait first."""
    if attempt.ended_at is not None:
        return []
    seen = [RankEvidence.model_validate(rank) for rank in attempt.ranks]
    seen.sort(key=lambda rank: (rank.state is not RankState.WAITING, rank.rank))
    return [
        RankPlace(rank=rank.rank, node=rank.node, state=rank.state, note=rank.detail) for rank in seen[:RANKS_SHOWN]
    ]
