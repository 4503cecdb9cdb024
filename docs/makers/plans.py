"""Pictures of what the scheduler decides: small pools, planned by the function that plans real ones, drawn as SVG."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from activities.scheduling import choose_loops
from docs.makers.svg import FAINT, GRID, INK, bar, line, picture, text

if TYPE_CHECKING:
    from policies.scheduling.model import Promise, Request
    from policies.scheduling.world import World

HOUR, MINUTE = 3600, 60
WIDTH, LEFT, RIGHT, TOP, ROW, HEIGHT = 760, 70, 20, 44, 30, 160
RUNS, PROMISED = "#4a7fd0", "#f0c36d"
BEGIN = 8  # hours of the clock at which the first picture begins
TEAMS = {"a": (4, 1.0, 60, "#4a7fd0"), "b": (2, 3.0, 24, "#e08a3c")}  # see `_fair_share`


def pages() -> dict[str, str]:
    choose_loops(1, 2)  # to compile them takes longer than all that is drawn
    return {"backfill.svg": _backfill(), "fair-share.svg": _fair_share()}


def _backfill() -> str:
    """Four nodes of which three are busy until 10:00, and three gangs that come together at 8:10."""
    world = _world(4, 8, {"team": (0, 1.0)})
    _arrive(world, 0, _gang("train", "team", 3, 8, 2 * HOUR))
    wanted = {"wide": (4, 2 * HOUR), "long": (1, 3 * HOUR), "short": (1, HOUR)}
    gangs = [_gang(name, "team", pods, 8, seconds) for name, (pods, seconds) in wanted.items()]
    promises = _arrive(world, 10 * MINUTE, *gangs)
    running = [
        (name, gang.pods, gang.since, gang.since + wanted.get(name, (3, 2 * HOUR))[1], RUNS)
        for name, gang in world.running.items()
    ]
    planned = [(each.request, each.pods, each.start, each.end or 0, PROMISED) for each in promises]
    last = max(end for _, _, _, end, _ in planned)
    parts = [text(16, 26, "wide, long and short come at 8:10 in this order; short ends in time, long would delay wide")]
    for number in range(4):
        parts.append(text(16, TOP + ROW * number + 15, f"node {number}", FAINT))
    for name, pods, since, until, colour in [*running, *planned]:
        for pod in pods:
            begin, y = _x(since, last), TOP + ROW * int(pod.node[1:])
            style = " stroke='#b98a2c' stroke-dasharray='4 3'" if colour == PROMISED else ""
            parts.append(bar(begin, _x(until, last), y, colour, name, style))
            parts.append(text(begin + 5, y + 15, name, INK if colour == PROMISED else "#fff"))
    parts += [*_hours(last, TOP + ROW * 4, BEGIN)]
    parts += [bar(LEFT, LEFT + 14, TOP + ROW * 4 + 34, RUNS, ""), text(LEFT + 20, TOP + ROW * 4 + 49, "runs")]
    parts += [bar(LEFT + 70, LEFT + 84, TOP + ROW * 4 + 34, PROMISED, "")]
    parts += [text(LEFT + 90, TOP + ROW * 4 + 49, "promised")]
    return picture(WIDTH, TOP + ROW * 4 + 66, parts)


def _fair_share() -> str:
    """Ten GPUs. Of each queue: guarantee, weight, how many tasks wait at first, colour."""
    world = _world(1, 10, {name: (guarantee, weight) for name, (guarantee, weight, *_) in TEAMS.items()})
    lengths, last = (30, 40, 50), 6 * HOUR
    steps: dict[str, list[tuple[int, int]]] = {name: [] for name in TEAMS}
    numbers = [(n, name) for name, (_, _, tasks, _) in TEAMS.items() for n in range(tasks)]
    tasks = [_gang(f"{name}-{n}", name, 1, 1, lengths[n % 3] * MINUTE) for n, name in sorted(numbers)]
    for now in range(0, last + 1, 10 * MINUTE):
        for name in [name for name, gang in world.running.items() if gang.since + (gang.request.limit or 0) <= now]:
            world.ended(name, now)
        _arrive(world, now, *(tasks if now == 0 else ()))
        holds = Counter(gang.request.queue for gang in world.running.values())
        for name, found in steps.items():
            found.append((now, holds[name]))
    parts = []
    for gpus in range(0, 11, 2):
        y = TOP + HEIGHT - HEIGHT * gpus / 10
        parts += [line((LEFT, y), (WIDTH - RIGHT, y), GRID), text(LEFT - 8, y + 4, f"{gpus}", FAINT, anchor="end")]
    for number, (name, (guarantee, weight, _, colour)) in enumerate(TEAMS.items()):
        corners = _corners(steps[name], last)
        parts.append(f"<polyline points='{corners}' fill='none' stroke='{colour}' stroke-width='2'/>")
        parts.append(text(LEFT + 230 * number, 26, f"queue {name}: guarantee {guarantee}, weight {weight:g}", colour))
    parts += [text(16, 26, "GPUs", FAINT), *_hours(last, TOP + HEIGHT, 0)]
    return picture(WIDTH, TOP + HEIGHT + 34, parts)


def _corners(steps: list[tuple[int, int]], last: int) -> str:
    """A line of steps that holds each amount until the next."""
    found, before = [], steps[0][1]
    for at, amount in steps:
        if amount != before or at in (0, last):
            found += [(at, before), (at, amount)]
        before = amount
    return " ".join(f"{_x(at, last):.1f},{TOP + HEIGHT - HEIGHT * amount / 10:g}" for at, amount in found)


def _hours(last: int, y: float, begin: int) -> Iterator[str]:
    yield line((LEFT, y), (WIDTH - RIGHT, y))
    for hour in range(last // HOUR + 1):
        x = _x(hour * HOUR, last)
        yield line((x, y), (x, y + 4))
        yield text(x, y + 17, f"{begin + hour}:00" if begin else f"{hour} h", FAINT, anchor="middle", size=11)


def _x(seconds: int, last: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * seconds / last


def _arrive(world: "World", now: int, *gangs: "Request") -> tuple["Promise", ...]:
    """One round after these have come, carried out. Returns who is promised a start, and where."""
    from policies.scheduling.plan import plan

    for number, gang in enumerate(gangs):
        world.submit(replace(gang, submitted=now + number))
    decision = plan(world, now)
    world.apply(decision, now)
    return decision.promises


def _gang(name: str, queue: str, pods: int, gpus: int, seconds: int) -> "Request":
    from policies.scheduling.model import Request, Role, Shape

    return Request(name, queue, (Role("worker", pods, Shape(cpu=1000, gpus=gpus)),), limit=seconds, preemptible=False)


def _world(nodes: int, gpus: int, queues: dict[str, tuple[int, float]]) -> "World":
    from policies.scheduling.model import Node, QueueRules, Quota
    from policies.scheduling.world import World

    rules = [
        QueueRules(name, weight=weight, quotas={"gpu": Quota(guarantee=guarantee * 1000)})
        for name, (guarantee, weight) in queues.items()
    ]
    machines = [Node(f"n{number}", cpu=64_000, memory=1 << 39, gpus=gpus, model="gpu") for number in range(nodes)]
    return World(machines, (), rules)
