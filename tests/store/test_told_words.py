"""In which words a job hears that it has to go: it keeps them among its events, where its tenant reads them."""

import pytest
from sqlalchemy import Engine, select

from store.engine import reading
from store.tables_scheduling import OutboxRow
from tests.store.builders import HERE
from tests.store.scheduling import decide, place, seen, told, verdict, waiting_job


@pytest.mark.parametrize(
    ("where", "says"),
    [
        (HERE, "job {other} gets its places: {other} has priority 9, above 0"),
        (("rival", "vision"), "another job gets its places: another job has priority 9, above 0"),
    ],
)
def test_a_job_hears_for_whom_it_goes_unless_that_is_another_tenants(
    engine: Engine, where: tuple[str, str], says: str
) -> None:
    job, other = waiting_job(engine), waiting_job(engine, "other", where)
    place(engine, job)
    reason = f"job {other.id} gets its places: {other.id} has priority 9, above 0"
    decide(engine, verdict(told=(told(seen(engine, job), leaves_for=other.id, reason=reason),)))
    with reading(engine) as active:
        [body] = active.scalars(select(OutboxRow.body).where(OutboxRow.key.like("displaced/%")))
    assert body["reason"] == says.format(other=other.id)
    assert seen(engine, job).reason == reason  # for those who see all tenants
