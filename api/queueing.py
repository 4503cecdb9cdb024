"""Jobs that wait for places or hold them: from rows to what is shown, and what a tenant sees of another one's.

Nothing is worked out again: reasons, the order and starts are those that were stored with the decision.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from api.access import Caller
from definitions.api_queueing import Confidence, HeldNode, HeldPlaces, PodAsk, Shortage, WaitingJob, WhyQueued
from definitions.ids import ALPHABET
from policies.scheduling.asking import Asked, Shapes, Words
from policies.scheduling.model import WHOLE, Cause, Refusal, Request, Shape
from policies.waiting_words import can_ever, refusal_of, shortage_words, unit_of, would_help
from store import decisions, gang_places, jobs
from store.tables import GangRow

JOB = re.compile(rf"(?:\bjob )?\b(0[{ALPHABET}]{{25}})\b")
ANOTHER = "another job"
LEAVING = "leaving"
MILLIS = 1000


class Seen:
    """Which of some jobs the caller may see, and how they are called: its tenant's, in the projects of its key."""

    def __init__(self, caller: Caller, session: Session, ids: Iterable[str | None]) -> None:
        wanted = sorted({each for each in ids if each})
        self._names = jobs.names(session, caller.tenant, caller.principal.projects, wanted)

    def __contains__(self, job: str) -> bool:
        return job in self._names

    def name(self, job: str | None) -> str | None:
        return self._names[job][1] if job in self._names else None

    def fields(self, job: str) -> dict[str, Any]:
        """What a view says of whose it is."""
        if job not in self._names:
            return {}
        project, name = self._names[job]
        return {"job": job, "name": name, "project": project, "yours": True}

    def sentence(self, text: str) -> str:
        """A stored sentence with jobs by name, and those that are not to be seen without one."""
        return JOB.sub(lambda found: f"job {name}" if (name := self.name(found[1])) else ANOTHER, text)


def waiting_jobs(
    caller: Caller, session: Session, rows: Sequence[GangRow], models: Mapping[str, str]
) -> list[WaitingJob]:
    """Jobs that wait, in the order given. `models`: words for models of GPU."""
    shapes, seen, place = (
        Shapes(Words(models=models)),
        seen_of(caller, session, rows),
        gang_places.places(session, rows),
    )
    return [WaitingJob(**_waiting(row, shapes, seen, place.get(row.job))) for row in rows]


def why_queued(caller: Caller, session: Session, row: GangRow, models: Mapping[str, str]) -> WhyQueued:
    """Why a job of the caller's waits."""
    refusal = refusal_of(row.refusal)
    seen = seen_of(caller, session, [row])
    decided = None if row.decision is None else decisions.get(session, row.pool, row.decision)
    return WhyQueued(
        **_waiting(row, Shapes(Words(models=models)), seen, gang_places.places(session, [row]).get(row.job)),
        domain=refusal.at if refusal is not None and refusal.cause is Cause.TOPOLOGY else "",
        can_ever=None if refusal is None else can_ever(refusal),
        would_help=[] if refusal is None else would_help(refusal),
        decided_at=None if decided is None else decided.at,
    )


def held_places(caller: Caller, session: Session, row: GangRow) -> HeldPlaces:
    """The places that a job of the caller's holds."""
    return HeldPlaces(
        pool=row.pool,
        queue=row.queue,
        since=row.placed_at,
        decision=row.decision,
        leaving=row.state == LEAVING,
        leaves_for=seen_of(caller, session, [row]).name(row.leaves_for),
        nodes=held_nodes(row.pods or []),
    )


def held_nodes(pods: Sequence[Mapping[str, Any]]) -> list[HeldNode]:
    """Stored places, in order of rank."""
    return [HeldNode.model_validate({"rank": rank, **pod}) for rank, pod in enumerate(pods)]


def seen_of(caller: Caller, session: Session, rows: Sequence[GangRow]) -> Seen:
    """Who of the jobs that rows are about, or name, may be seen."""
    named = [job for row in rows for job in JOB.findall(row.reason or "")]
    return Seen(caller, session, [*named, *(row.job for row in rows), *(row.leaves_for for row in rows)])


def shortage_of(refusal: Refusal | None) -> Shortage | None:
    """The numbers of a refusal; None where it is not about an amount."""
    if refusal is None or not refusal.resource:
        return None
    unit, size = unit_of(refusal.resource)
    return Shortage(
        resource=refusal.resource,
        unit=unit,
        needed=refusal.needed / size,
        free=refusal.free / size,
        limit=None if refusal.bound is None else refusal.bound / size,
        at=refusal.at,
        words=shortage_words(refusal),
    )


def confidence(start: datetime | None, firm: bool | None) -> Confidence:
    if start is None:
        return Confidence.NONE
    return Confidence.PROMISE if firm else Confidence.ESTIMATE


def request_of(shapes: Shapes, row: GangRow) -> Request:
    """What a gang asks for, as far as it can be told without its pool."""
    return shapes.request(Asked(row.job, row.queue, row.shape))


def _waiting(row: GangRow, shapes: Shapes, seen: Seen, place: int | None) -> dict[str, Any]:
    roles = request_of(shapes, row).roles
    asks = [_ask(role.count, role.shape) for role in roles]
    return dict(
        **seen.fields(row.job),
        position=place,
        pool=row.pool,
        queue=row.queue,
        priority_class=row.priority_class,
        priority=row.priority,
        asks=asks,
        nodes=sum(role.count for role in roles),
        gpus=sum(role.count * role.shape.gpus * role.shape.share for role in roles) / WHOLE,
        since=row.asked_at,
        cause=row.cause,
        reason=seen.sentence(row.reason or "") if row.job in seen else "",
        shortage=shortage_of(refusal_of(row.refusal)),
        start_at=row.start_at,
        end_at=row.end_at,
        confidence=confidence(row.start_at, row.firm),
        decision=row.decision,
    )


def _ask(count: int, shape: Shape) -> PodAsk:
    profile, slices = shape.slices[0] if shape.slices else ("", 0)
    return PodAsk(
        count=count,
        gpus=shape.gpus or slices,
        gpu_type=profile or (shape.gpu_models[0] if len(shape.gpu_models) == 1 else None),
        cpus=shape.cpu / MILLIS,
        memory=shape.memory,
    )
