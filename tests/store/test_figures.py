"""Numbers about a tenant's jobs: each job that runs counts once, and an array is none beside its jobs."""

from datetime import timedelta
from typing import Any

from sqlalchemy import Engine, text
from sqlalchemy.event import listen

from definitions.states import Phase
from store import figures
from store.engine import reading, session
from store.tables_jobs import JobRow
from tests.store.builders import HERE, NOW, OTHERS, add_job

CHILDREN = 3


def swept(engine: Engine, where: tuple[str, str] = HERE, children: int = CHILDREN) -> JobRow:
    """An array with its jobs, all of them over after a minute."""
    array = add_job(engine, "sweep", where)
    made = [add_job(engine, f"sweep-{index}", where) for index in range(children)]
    with session(engine) as active:
        for row in (array, *made):
            kept = active.get_one(JobRow, row.id)
            kept.parent = None if row is array else array.id
            kept.phase, kept.started_at, kept.ended_at = Phase.SUCCEEDED, NOW, NOW + timedelta(minutes=1)
    return array


def counted(engine: Engine, tenant: str) -> dict[tuple[str, str], int]:
    with reading(engine) as active:
        return {(row.project, row.phase): row.count for row in figures.jobs_by_phase(active, tenant)}


def test_an_array_of_many_jobs_counts_as_these_and_for_its_tenant_only(engine: Engine) -> None:
    for where, children in ((HERE, CHILDREN), (OTHERS[0], 2), (OTHERS[1], 1)):
        swept(engine, where, children)
    add_job(engine, "alone")
    vision, speech = ("vision", Phase.SUCCEEDED), ("speech", Phase.SUCCEEDED)
    assert counted(engine, "acme") == {vision: 3, speech: 1, ("vision", Phase.PENDING): 1}
    assert counted(engine, "rival") == {vision: 2}
    with reading(engine) as active:
        for work in (figures.run_times, figures.queue_times):
            assert {row.project: row.count for row in work(active, "acme", (60,))} == {"speech": 1, "vision": 3}


def test_a_job_of_another_tenant_that_names_an_array_hides_nothing(engine: Engine) -> None:
    job, other = add_job(engine), add_job(engine, "sweep-0", OTHERS[0])
    with session(engine) as active:
        active.get_one(JobRow, other.id).parent = job.id
    assert counted(engine, "acme") == {("vision", Phase.PENDING): 1}


def test_postgresql_does_not_compare_every_job_with_every_job_of_an_array(postgres_engine: Engine) -> None:
    """With the least memory for a statement: a list of all that have an array would not fit."""
    array = swept(postgres_engine)
    columns = [column.name for column in JobRow.__table__.columns]
    other = {name: f"{name} || '-' || n" for name in ("id", "name")} | {"live_name": "NULL", "parent": f"'{array.id}'"}
    chosen = ", ".join(other.get(name, name) for name in columns)
    many = f"SELECT {chosen} FROM jobs, generate_series(1, 5000) AS n WHERE id = '{array.id}'"
    with postgres_engine.begin() as connection:
        connection.execute(text(f"INSERT INTO jobs ({', '.join(columns)}) {many}"))
    with postgres_engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE jobs"))
    assert counted(postgres_engine, "acme") == {("vision", Phase.SUCCEEDED): CHILDREN + 5000}
    assert "Anti Join" in plan_of_the_count(postgres_engine)


def plan_of_the_count(engine: Engine) -> str:
    """How the database would count now."""
    asked: list[tuple[str, Any]] = []
    with reading(engine) as active:
        active.execute(text("SET LOCAL work_mem = '64kB'"))
        connection = active.connection()
        listen(connection, "before_cursor_execute", lambda *call: asked.append((call[2], call[3])))
        figures.jobs_by_phase(active, "acme")
        statement, values = asked[0]
        return "\n".join(connection.exec_driver_sql(f"EXPLAIN {statement}", values).scalars())
