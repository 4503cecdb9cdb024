"""Gangs, verdicts and decisions for tests of the store. Every gang waits in queue `vision` of pool `local` at first."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from definitions.places import PlacedPod
from definitions.states import Phase
from store import gangs, pools
from store.base import Base
from store.engine import reading, transaction
from store.gangs import Ask
from store.tables_jobs import JobRow
from store.tables_scheduling import GangRow
from store.verdicts import Committed, Given, Past, Told, Verdict, Waits
from tests.store.builders import HERE, NOW, add_job

POOL = "local"
TREE = {"vision": ("vision", "research", "all"), "speech": ("speech", "research", "all"), "all": ("all",)}
PODS = (PlacedPod(node="n1", devices=(0, 1)), PlacedPod(node="n2", devices=(6, 7), simulated=True))


def ask(**changes: Any) -> Ask:
    values: dict[str, Any] = dict(pool=POOL, queue="vision", priority=50, priority_class=None, limit_seconds=3600)
    return Ask(**{**values, "shape": '{"roles":[]}', **changes})


def follow(
    engine: Engine,
    job: JobRow,
    phase: Phase,
    attempt: int = 0,
    *,
    since: datetime | None = NOW,
    now: datetime = NOW,
    **asked: Any,
) -> None:
    """Let a job's gang follow a state, as the journal does: the job's row is locked and already there."""

    def work(session: Session) -> None:
        row = session.get_one(JobRow, job.id, with_for_update=True)
        row.phase, row.attempt = phase, attempt
        gangs.follow(session, row, phase, attempt, ask(**asked), since, now)

    transaction(engine, work)


def waiting_job(engine: Engine, name: str = "digits", where: tuple[str, str] = HERE, **asked: Any) -> JobRow:
    job = add_job(engine, name, where)
    follow(engine, job, Phase.QUEUED, **asked)
    return job


def gang_of(engine: Engine, job: JobRow) -> GangRow | None:
    with reading(engine) as active:
        return gangs.get(active, job.tenant, job.project, job.id)


def seen(engine: Engine, job: JobRow) -> GangRow:
    row = gang_of(engine, job)
    assert row is not None
    return row


def given(row: GangRow, **changes: Any) -> Given:
    values: dict[str, Any] = dict(job=row.job, version=row.version, attempt=row.attempt, pods=PODS, amounts={"gpu": 4})
    return Given(**{**values, "reason": "it fits", **changes})


def told(row: GangRow, **changes: Any) -> Told:
    values: dict[str, Any] = dict(job=row.job, version=row.version, attempt=row.attempt, leaves_for="another")
    return Told(**{**values, "reason": "another needs it", **changes})


def waits(row: GangRow, **changes: Any) -> Waits:
    values: dict[str, Any] = dict(job=row.job, version=row.version, position=3, cause="quota", refusal={"needed": 4})
    return Waits(**{**values, "reason": "2 of 4 GPUs are free", **changes})


def verdict(**changes: Any) -> Verdict:
    return Verdict(**{"digest": "d1", "paths": TREE, "document": {"round": 1}, **changes})


def everything(row: GangRow, seqs: Iterable[int] = ()) -> Verdict:
    """A verdict that would write into every table."""
    return verdict(given=(given(row),), past=(Past("vision", "gpu", 1.5),), seen=tuple(seqs))


def decide(engine: Engine, what: Verdict | Callable[[Session], Verdict], pool: str = POOL) -> Committed:
    """Take a pool and commit a verdict for it."""

    def work(session: Session) -> Committed:
        token = pools.take(session, pool)
        row = pools.get(session, pool)
        assert row is not None
        said = what if isinstance(what, Verdict) else what(session)
        return pools.commit(session, pool, token, row.decision, said, NOW)

    return transaction(engine, work)


def place(engine: Engine, job: JobRow, **changes: Any) -> None:
    """Give a gang that waits its places."""
    assert decide(engine, verdict(given=(given(seen(engine, job), **changes),))).given == {job.id}


def count(engine: Engine, *tables: type[Base]) -> list[int]:
    with reading(engine) as active:
        return [active.scalar(select(func.count()).select_from(table)) or 0 for table in tables]
