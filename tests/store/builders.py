"""Small things to put into the store. Times are fixed; ids are fresh."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Engine

from definitions.attempt import AttemptLaunch, AttemptRef
from definitions.facts import Event
from definitions.ids import new_id
from definitions.job_state import JobState
from definitions.states import Phase
from store import jobs
from store.engine import session
from store.jobs import NewJob
from store.tables_jobs import JobRow

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
TENANT, PROJECT = "acme", "vision"
HERE = (TENANT, PROJECT)
# The same names under another tenant, and under another project of the same one.
OTHERS = (("rival", PROJECT), (TENANT, "speech"))


def document(name: str = "digits", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "perdure/v1",
        "kind": "Job",
        "metadata": {"name": name, "project": PROJECT},
        "spec": {"command": ["python", "train.py"], **spec},
    }


def new_job(name: str = "digits", where: tuple[str, str] = HERE, **changes: Any) -> NewJob:
    values: dict[str, Any] = dict(
        id=new_id(), tenant=where[0], project=where[1], name=name, owner="ada", labels={}, type="training",
        spec=document(name), spec_sha256="0" * 64, submission={}, seed="5" * 32, created_at=NOW,
    )  # fmt: skip
    return NewJob(**values | changes)


def add_job(engine: Engine, name: str = "digits", where: tuple[str, str] = HERE, **changes: Any) -> JobRow:
    with session(engine) as active:
        return jobs.insert(active, new_job(name, where, **changes))


def event(number: int = 1, kind: str = "phase", reason: str = "it went on") -> Event:
    return Event(key=f"{number:06d}", at=NOW + timedelta(seconds=number), actor="perdure", kind=kind, reason=reason)


def state_of(row: JobRow, phase: Phase = Phase.RUNNING, count: int = 1, **changes: Any) -> JobState:
    ref = AttemptRef(tenant=row.tenant, project=row.project, job=row.id, number=1, token="a" * 32)
    launch = AttemptLaunch(ref=ref, name=row.name, owner=row.owner, argv=("true",))
    values: dict[str, Any] = dict(
        tenant=row.tenant, project=row.project, job=row.id, launch=launch, seed=row.seed, phase=phase,
        reason=f"now {phase}", attempt=1, ref=ref, started_at=NOW, event_count=count,
        ended_at=NOW + timedelta(minutes=count) if phase.is_final else None,
    )  # fmt: skip
    return JobState(**values | changes)
