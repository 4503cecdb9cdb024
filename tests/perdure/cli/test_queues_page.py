"""The worked example of docs/queues.md: its file is applied, its commands are carried out, its numbers come true."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from definitions.documents import from_data, parse
from definitions.errors import PerdureError
from definitions.job import Job
from definitions.places import Ticket
from policies.scheduling.admission import ticket_of
from policies.scheduling.documents import scheduling
from policies.scheduling.model import Cause, Request
from policies.scheduling.world import World
from tests.arch.docs_source import blocks
from tests.perdure.live import PERDURE, Live
from tests.policies.scheduling.plan_parts import carried_out, gang, started, victims, why

PAGE = Path("docs/queues.md")
QUEUES, JOB, REAL = (block.body for block in blocks("yaml", PAGE))
COMMANDS = [line[2:] for block in blocks("console", PAGE) for line in block.body.splitlines()]
(APPLIED,) = (block.body for block in blocks("text", PAGE))
MINUTE = 60


def test_the_commands_of_the_page_do_what_it_says(live: Live, tmp_path: Path) -> None:
    (tmp_path / "queues.yaml").write_text(QUEUES)
    environment = {**live.environment, "PATH": f"{Path(PERDURE).parent}:{os.environ['PATH']}"}
    shown: dict[str, str] = {}
    for command in COMMANDS:
        done = subprocess.run(
            shlex.split(command),
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        shown.setdefault(command, done.stdout)
    assert shown["perdure apply -f queues.yaml"] == APPLIED
    assert re.search(r"^parent +all$", shown["perdure queues show research"], re.M)
    assert {line.split()[0] for line in shown["perdure diff -f queues.yaml"].splitlines()} == {"unchanged"}
    with live.client() as client:
        assert client.node_pools.list().items == []
        accepted = client.submit(yaml.safe_load(JOB))
        assert live.world.row(accepted.id).submission["ticket"]["queue"] == "production"
        client.scheduling_documents.apply(REAL)


def requests(name: str, count: int, queue: str, submitted: int, pods: int = 1) -> list[Request]:
    return [gang(f"{name}{number}", pods, queue=queue, submitted=submitted, limit=10_000) for number in range(count)]


def test_what_each_team_can_do_is_what_the_scheduler_decides() -> None:
    found = scheduling(parse(QUEUES, source=str(PAGE)))
    world = World(found.nodes, (), found.queues)
    for request in requests("research-", 4, "research", 0):
        world.submit(request)
    first = carried_out(world, 0)
    assert started(first) == ["research-0", "research-1", "research-2"]
    assert why(first, "research-3") is Cause.LIMIT
    for request in requests("production-", 1, "production", MINUTE, pods=2):
        world.submit(request)
    early = carried_out(world, 29 * MINUTE)
    assert (started(early), victims(early)) == ([], {})
    late = carried_out(world, 31 * MINUTE)
    assert list(victims(late).values()) == ["production-0"]


def ticket(**spec: object) -> Ticket | None:
    """Of the page's job, with another spec laid over its own; None leaves a field out."""
    job = yaml.safe_load(JOB)
    job["spec"] = {name: value for name, value in (job["spec"] | spec).items() if value is not None}
    read = from_data(job)
    assert isinstance(read, Job)
    return ticket_of(parse(QUEUES, source=str(PAGE)), read.spec)


def test_a_job_above_the_limit_is_refused_with_the_limit_and_one_without_a_queue_takes_the_default() -> None:
    assert ticket() == Ticket(queue="production", priority_class="urgent")
    assert ticket(queue="research", priorityClass=None, nodes=3) == Ticket(queue="research")
    assert ticket(queue=None, priorityClass=None, resources=None) == Ticket(queue="research")
    with pytest.raises(PerdureError, match="queue research may use at most 24 GPUs") as refused:
        ticket(queue="research", priorityClass=None, nodes=4)
    assert refused.value.code.code == "PD-2125"
    with pytest.raises(PerdureError, match="only for those of production"):
        ticket(queue="research")
