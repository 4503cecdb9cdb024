"""Jobs that wait longer than their class says: told in lists and answers, counted in the numbers, and alerted of."""

from datetime import timedelta
from pathlib import Path

import yaml

from definitions.places import Ticket
from definitions.states import Phase
from store import gangs
from store.engine import session
from store.gangs import Ask
from store.tables import JobRow
from tests.api.world import World, document, queue_document, scheduling_document
from tests.support.waiting_world import shape

ALERTS = Path(__file__).parents[2] / "deploy" / "alerts.yaml"
DOCUMENTS = (
    queue_document("research", default=True),
    scheduling_document("PriorityClass", "urgent", value=9, longestQueueTime="1h", alertWhenMissed=True),
    scheduling_document("PriorityClass", "usual", value=5, longestQueueTime="30m"),
    scheduling_document("PriorityClass", "patient", value=1),
)


async def waiting(world: World, name: str, priority_class: str, minutes: int, key: str | None = None) -> str:
    """A job that has waited so long, as its journal has it."""
    job: str = (await world.submit(name, key=key, priorityClass=priority_class))["id"]
    ticket = Ticket(queue="research", priority_class=priority_class)
    with session(world.engine) as active:
        row = active.get_one(JobRow, job, with_for_update=True)
        assert row.submission["ticket"] == ticket.model_dump()
        ask = Ask("local", "research", 0, priority_class, None, shape(1, 0))
        gangs.follow(active, row, Phase.QUEUED, 0, ask, world.clock.now() - timedelta(minutes=minutes))
        row.phase = Phase.QUEUED
    return job


async def furnished(world: World) -> None:
    await world.post("/v1/scheduling-documents:apply", {"documents": list(DOCUMENTS)}, 200)
    for name, priority_class, minutes in (
        ("late", "urgent", 80), ("later", "urgent", 90), ("in-time", "urgent", 60),
        ("slow", "usual", 45), ("patient", "patient", 999),
    ):  # fmt: skip
        await waiting(world, name, priority_class, minutes)
    await waiting(world, "theirs", "urgent", 70, world.key("rival"))


async def test_a_job_tells_by_how_much_it_waits_too_long(world: World) -> None:
    await furnished(world)
    listed = {each["name"]: each["overdue"] for each in (await world.get("/v1/queue"))["items"] if each["yours"]}
    assert listed == {"late": 1200, "later": 1800, "in-time": 0, "slow": 900, "patient": 0}
    assert (await world.get("/v1/jobs/late/why"))["waiting"]["overdue"] == 1200


async def test_a_look_ahead_at_a_job_is_let_through_while_documents_are_held(world: World) -> None:
    """Looking needs a transaction that only reads, and the documents as they are."""
    await furnished(world)
    plan = await world.post("/v1/jobs?dryRun=true", {"document": document("new", priorityClass="usual")}, 200)
    assert plan["name"] == "new"


async def test_numbers_tell_how_many_of_a_class_wait_too_long_and_whether_to_alert(world: World) -> None:
    await furnished(world)
    text = (await world.ask("GET", "/metrics")).text
    series = [line for line in text.splitlines() if line.startswith("perdure_queue_time_missed{")]
    where = 'pool="local"'
    assert sorted(series) == [
        f'perdure_queue_time_missed{{alert="false",{where},priority_class="usual",queue="research",tenant="acme"}} 1.0',
        f'perdure_queue_time_missed{{alert="true",{where},priority_class="urgent",queue="research",tenant="acme"}} 2.0',
    ]


async def test_the_alert_is_about_numbers_and_labels_that_there_are(sqlite_world: World) -> None:
    await furnished(sqlite_world)
    text = (await sqlite_world.ask("GET", "/metrics")).text
    (group,) = yaml.safe_load(ALERTS.read_text())["groups"]
    (rule,) = group["rules"]
    assert 'perdure_queue_time_missed{alert="true"' in text
    assert rule["expr"] == (
        'sum by (tenant, pool, queue, priority_class) (perdure_queue_time_missed{alert="true"}) > 0'
    )
