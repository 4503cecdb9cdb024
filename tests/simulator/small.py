"""Small clusters and jobs for the tests of the simulator, and what became of them."""

from collections.abc import Callable, Sequence

from policies.scheduling.model import Node, Request, Role, Shape
from simulator.loop import USUAL, Loop, Outage, Ran, Rules
from simulator.planner import Planner
from simulator.trace import Job, Trace, in_order


def cluster(*gpus: int) -> tuple[Node, ...]:
    """Nodes n0, n1, … with so many GPUs each, and processors and memory that nobody exhausts."""
    return tuple(Node(f"n{number}", 10**6, 2**40, count, "m") for number, count in enumerate(gpus))


def job(
    name: str,
    at: int,
    gpus: float,
    seconds: int,
    *,
    pods: int = 1,
    queue: str = "q",
    priority: int = 0,
    limit: int | None = -1,
) -> Job:
    """A gang that declares exactly what it needs, unless a limit (None: no limit) is given."""
    share = 1000 if gpus >= 1 or not gpus else round(gpus * 1000)
    shape = Shape(gpus=1 if 0 < gpus < 1 else int(gpus), share=share)
    declared = seconds if limit == -1 else limit
    role = Role("worker", pods, shape)
    return Job(Request(name, queue, (role,), submitted=at, priority=priority, limit=declared), seconds)


def trace(*jobs: Job) -> Trace:
    return Trace("small", in_order(jobs))


def ran(
    nodes: Sequence[Node],
    jobs: Sequence[Job],
    planner: Callable[[Sequence[Node]], Planner],
    *,
    outages: Sequence[Outage] = (),
    rules: Rules = USUAL,
) -> Ran:
    return Loop(nodes, trace(*jobs), planner(nodes), outages=outages, rules=rules).run()


def starts(found: Ran) -> dict[str, int | None]:
    return {name: gang.first_start for name, gang in found.ledger.gangs.items()}


def ends(found: Ran) -> dict[str, int | None]:
    return {name: gang.end for name, gang in found.ledger.gangs.items()}
