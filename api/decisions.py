"""Decisions of pools: from rows to what is shown, and what of them is for whom."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy.orm import Session

from api.access import Caller
from api.queueing import JOB, Seen, held_nodes
from definitions.api_queueing import (
    DecidedDisplaced,
    DecidedGrown,
    DecidedPlaced,
    DecidedRefused,
    DecisionView,
    WholeDecision,
)
from definitions.decision_record import DecisionRecord, GangGrown, GangPlaced, GangRefused, GangTold
from policies.scheduling.model import WHOLE
from store.tables import DecisionRow


def decision_view(row: DecisionRow) -> DecisionView:
    """A decision, without what it says of each job."""
    return DecisionView(**_common(row, DecisionRecord.model_validate(row.document)))


def whole_decision(caller: Caller, session: Session, row: DecisionRow) -> WholeDecision:
    """A decision with what it says of each job."""
    record = DecisionRecord.model_validate(row.document)
    seen = Seen(caller, session, _jobs_in(record))
    dropped = frozenset(record.dropped)
    return WholeDecision(
        **_common(row, record),
        gangs_placed=[_placed(each, seen, each.job in dropped) for each in record.placed],
        gangs_displaced=[_displaced(each, seen, each.victim in dropped) for each in record.told],
        gangs_grown=[_grown(each, seen, each.job in dropped) for each in record.grown],
        gangs_refused=[_refused(each, seen) for each in record.refused],
        nodes=record.counts.get("nodes", 0),
        running=record.counts.get("running", 0),
    )


def _jobs_in(record: DecisionRecord) -> Iterator[str]:
    """All jobs that a decision is about, or names."""
    for placed in record.placed:
        yield placed.job
    for told in record.told:
        yield from (told.victim, told.beneficiary, *JOB.findall(told.reason))
    for grown in record.grown:
        yield grown.job
    for refused in record.refused:
        yield from (refused.job, *JOB.findall(refused.reason))


def _common(row: DecisionRow, record: DecisionRecord) -> dict[str, Any]:
    return dict(
        pool=row.pool,
        number=row.number,
        at=row.at,
        token=row.token,
        digest=row.digest,
        placed=len(record.placed) - sum(each.job in record.dropped for each in record.placed),
        displaced=len(record.told) - sum(each.victim in record.dropped for each in record.told),
        waiting=record.counts.get("waiting", 0),
        causes=record.causes,
    )


def _placed(gang: GangPlaced, seen: Seen, dropped: bool) -> DecidedPlaced:
    return DecidedPlaced(
        **seen.fields(gang.job),
        queue=gang.queue,
        attempt=gang.attempt,
        count=len(gang.pods),
        gpus=gang.amounts.get("gpu", 0) / WHOLE,
        places=held_nodes([pod.model_dump() for pod in gang.pods]) if gang.job in seen else [],
        dropped=dropped,
    )


def _displaced(gang: GangTold, seen: Seen, dropped: bool) -> DecidedDisplaced:
    return DecidedDisplaced(
        **seen.fields(gang.victim),
        leaves_for=seen.name(gang.beneficiary),
        reason=seen.sentence(gang.reason) if gang.victim in seen else "",
        lost=gang.lost,
        keeps=gang.keeps,
        dropped=dropped,
    )


def _grown(gang: GangGrown, seen: Seen, dropped: bool) -> DecidedGrown:
    return DecidedGrown(**seen.fields(gang.job), before=gang.before, after=gang.after, dropped=dropped)


def _refused(gang: GangRefused, seen: Seen) -> DecidedRefused:
    return DecidedRefused(
        **seen.fields(gang.job),
        position=gang.position,
        cause=gang.cause,
        reason=seen.sentence(gang.reason) if gang.job in seen else "",
    )
