"""How a verdict is written, in few statements whatever its size. Called by `pools.commit`, which holds the pool.

Locks are taken in one order: the pool, gangs, counters of queues. The journal takes a gang and then counters too, so
neither waits for the other in a circle.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from sqlalchemy import Row, Table, bindparam, delete, select, update
from sqlalchemy.orm import Session

from definitions.ids import job_workflow_id, pool_workflow_id
from definitions.places import Displaced, Placed, Placement
from store import outbox, queue_use, reserved, resizes
from store.queue_use import Claim
from store.tables_scheduling import DecisionRow, GangRow, PoolChangeRow, PoolRow, QueuePastRow
from store.upsert import changed, chunks, insert_or_replace, run_each
from store.verdicts import Committed, Given, Told, Verdict, Waits

ANOTHER = "another job"
GANGS = cast(Table, GangRow.__table__)
Gang = Row[Any]  # what `_locked` selects


def see(session: Session, pool: str, verdict: Verdict, now: datetime) -> None:
    """Remove the changes that the verdict knows of, and no others; keep what queues used in the past."""
    for seen in chunks(sorted(verdict.seen)):
        changed(session, delete(PoolChangeRow).where(PoolChangeRow.pool == pool, PoolChangeRow.seq.in_(seen)))
    past = [
        {"pool": pool, "queue": was.queue, "resource": was.resource, "amount": was.amount, "at": now}
        for was in verdict.past
    ]
    insert_or_replace(session, QueuePastRow, past, ("pool", "queue", "resource"), ("amount", "at"))


def settle(session: Session, pool: PoolRow, verdict: Verdict, now: datetime) -> Committed:
    """Write what the verdict says of gangs as the decision that `pool` has come to."""
    said_of: tuple[Given | Told, ...] = (*verdict.given, *verdict.told)
    gangs = _locked(session, pool.name, [said.job for said in said_of])
    _write_waits(session, pool, verdict.waits)
    given, told = _taken(session, verdict, gangs)
    _write_given(session, pool, given, verdict, gangs, now)
    _write_told(session, pool, told)
    resizes.write(session, told, gangs)
    _tell(session, pool, given, told, gangs, now)
    reserved.begin_uses(session, [(said.job, gangs[said.job].tenant, use) for said in given for use in said.uses], now)
    windows = reserved.keep(session, verdict.kept, now)
    kept = frozenset(said.job for said in given)
    dropped = frozenset(said.job for said in said_of) - kept - {said.job for said in told}
    _keep(session, pool, verdict, dropped, now)
    return Committed(pool.decision, kept, dropped, windows)


def _locked(session: Session, pool: str, jobs: Sequence[str]) -> dict[str, Gang]:
    seen = (
        GangRow.job, GangRow.tenant, GangRow.queue, GangRow.attempt, GangRow.version, GangRow.state, GangRow.asked_at,
        GangRow.amounts,
    )  # fmt: skip
    found: dict[str, Gang] = {}
    for some in chunks(sorted(jobs)):
        query = select(*seen).where(GangRow.pool == pool, GangRow.job.in_(some)).order_by(GangRow.job)
        found |= {gang.job: gang for gang in session.execute(query.with_for_update())}
    return found


def _is(gang: Gang | None, said: Given | Told, state: str) -> bool:
    """Whether the gang is as the verdict saw it."""
    return gang is not None and (gang.version, gang.attempt, gang.state) == (said.version, said.attempt, state)


def _taken(session: Session, verdict: Verdict, gangs: dict[str, Gang]) -> tuple[list[Given], list[Told]]:
    """Those starts and larger sizes whose amounts fit below every limit, and are taken now. Earlier ones go first, and
    starts before sizes: nobody grows into what somebody waits for."""
    given = [said for said in verdict.given if _is(gangs.get(said.job), said, "waiting")]
    told = [said for said in verdict.told if _is(gangs.get(said.job), said, "placed")]
    held = {said.job: gangs[said.job].amounts for said in told}
    told = [each for each in told if resizes.is_bounded(each, held[each.job], verdict.paths, gangs[each.job].queue)]
    claims = [Claim(tuple(verdict.paths[gangs[said.job].queue]), said.amounts) for said in given]
    claims += [resizes.claim(said, held[said.job]) for said in told]
    fits = queue_use.take_each(session, claims, verdict.limits)
    return (
        [said for said, taken in zip(given, fits, strict=False) if taken],
        [said for said, taken in zip(told, fits[len(given) :], strict=True) if taken],
    )


def _write_waits(session: Session, pool: PoolRow, waits: Iterable[Waits]) -> None:
    """Only of gangs that still wait as they were seen: for another one there is a change, and the next decision."""
    columns = ("position", "cause", "refusal", "reason", "start_at", "end_at", "firm")
    as_seen = (
        GANGS.c.job == bindparam("of_job"),
        GANGS.c.version == bindparam("of_version"),
        GANGS.c.pool == pool.name,
        GANGS.c.state == "waiting",
    )
    values = {name: bindparam(f"new_{name}", type_=GANGS.c[name].type) for name in columns}
    statement = update(GANGS).where(*as_seen).values(decision=pool.decision, **values)
    rows = [
        {"of_job": said.job, "of_version": said.version} | {f"new_{name}": getattr(said, name) for name in columns}
        for said in sorted(waits, key=lambda said: said.job)
    ]
    run_each(session, statement, rows)


def _write_given(
    session: Session, pool: PoolRow, given: list[Given], verdict: Verdict, gangs: dict[str, Gang], now: datetime
) -> None:
    fixed = dict(state="placed", placed_at=now, decision=pool.decision)
    fixed |= dict.fromkeys(("position", "cause", "refusal", "start_at", "end_at", "firm", "leaves_for"))
    values = {name: bindparam(f"new_{name}", type_=GANGS.c[name].type) for name in ("pods", "amounts", "reason")}
    statement = update(GANGS).where(GANGS.c.job == bindparam("of_job")).values(**fixed, **values)
    rows = [
        {
            "of_job": said.job,
            "new_pods": [pod.model_dump(mode="json") for pod in said.pods],
            "new_amounts": {"path": list(verdict.paths[gangs[said.job].queue]), "of": dict(said.amounts)},
            "new_reason": said.reason,
        }
        for said in given
    ]
    run_each(session, statement, rows)


def _write_told(session: Session, pool: PoolRow, told: list[Told]) -> None:
    values = {name: bindparam(f"new_{name}", type_=GANGS.c[name].type) for name in ("leaves_for", "reason")}
    mine = GANGS.c.job == bindparam("of_job")
    statement = update(GANGS).where(mine).values(state="leaving", decision=pool.decision, **values)
    rows = [{"of_job": said.job, "new_leaves_for": said.leaves_for, "new_reason": said.reason} for said in told]
    run_each(session, statement, rows)


def _tell(
    session: Session, pool: PoolRow, given: list[Given], told: list[Told], gangs: dict[str, Gang], now: datetime
) -> None:
    """The messages to the jobs. Their keys name attempt and decision, so each is one message."""
    facts: list[tuple[str, Placed | Displaced]] = []
    for start in given:
        placement = Placement(pool=pool.name, decision=pool.decision, pods=start.pods)
        asked = gangs[start.job].asked_at
        facts.append((start.job, Placed(attempt=start.attempt, at=now, asked_at=asked, placement=placement)))
    tenants = _tenants(session, [stop.leaves_for for stop in told if stop.leaves_for is not None])
    for stop in told:
        reason = _heard(stop, gangs[stop.job].tenant, tenants)
        within = None if stop.within is None else timedelta(seconds=stop.within)
        fact = Displaced(attempt=stop.attempt, at=now, reason=reason, for_good=stop.for_good, within=within)
        fact = fact.model_copy(update={"resizes": stop.goes_on is not None})
        facts.append((stop.job, fact))
    messages = [
        outbox.message(
            f"{fact.kind}/{job}/{fact.attempt}/{pool.decision}",
            pool_workflow_id(pool.name),
            job_workflow_id(gangs[job].tenant, job),
            fact.model_dump(mode="json"),
            now,
        )
        for job, fact in facts
    ]
    outbox.add_all(session, messages)


def _tenants(session: Session, jobs: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for some in chunks(sorted(set(jobs))):
        rows = session.execute(select(GangRow.job, GangRow.tenant).where(GangRow.job.in_(some)))
        found |= {job: tenant for job, tenant in rows}
    return found


def _heard(stop: Told, tenant: str, tenants: dict[str, str]) -> str:
    """The reason in the words that the job keeps among its events. One of another tenant is not named to it."""
    other = stop.leaves_for
    if other is None or tenants.get(other) == tenant:
        return stop.reason
    return stop.reason.replace(f"job {other}", ANOTHER).replace(other, ANOTHER)


def _keep(session: Session, pool: PoolRow, verdict: Verdict, dropped: frozenset[str], now: datetime) -> None:
    document = verdict.document | ({"dropped": sorted(dropped)} if dropped else {})
    made = dict(pool=pool.name, number=pool.decision, token=pool.token, at=now, digest=verdict.digest)
    session.add(DecisionRow(**made, document=document))
    session.flush()
