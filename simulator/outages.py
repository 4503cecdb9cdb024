"""Losses of nodes, drawn from a seed."""

from collections.abc import Sequence
from random import Random

from policies.scheduling.model import Node
from simulator.loop import Outage

HOUR = 3600


def outages(
    nodes: Sequence[Node], begin: int, end: int, *, failure_hours: float, repair_hours: float, seed: int
) -> tuple[Outage, ...]:
    """Each node is up for times that are drawn, on average `failure_hours`, and then away for `repair_hours`.

    Losses are between `begin` and `end`; each node has a stream of its own, so that one more node changes nothing for
    the others.
    """
    found = []
    for node in nodes:
        draw = Random(f"{seed}/{node.name}")
        at = begin + draw.expovariate(1 / (failure_hours * HOUR))
        while at < end:
            back = at + max(1.0, repair_hours * HOUR)
            found.append(Outage(node.name, int(at), int(back)))
            at = back + draw.expovariate(1 / (failure_hours * HOUR))
    return tuple(found)
