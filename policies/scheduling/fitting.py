"""Whether the nodes of today could hold a gang, were they empty: what a plan warns of, counted without a round.

By processors, memory, number and model of GPUs. Labels, taints and closeness are left to the scheduler, which says so
in the reason of a job that waits.
"""

from collections.abc import Iterable

from policies.capacity import Site
from policies.scheduling.model import Request, Role, Shape
from policies.scheduling.sentences import amount

ENOUGH = 1_000_000  # pods on a node that nothing is asked of


def cannot_hold(pool: str, sites: Iterable[Site], request: Request) -> str | None:
    """Why the nodes of a pool could not hold a gang today, in a sentence; None when by these counts they could."""
    there = [site for site in sites if site.pool == pool]
    for role in request.roles:
        rooms = [_room(site, role) for site in there]
        if not any(rooms):
            return f"no node of {pool} as it is today could hold it: it needs {_asked(role.shape)} on one node"
        if sum(rooms) < role.fewest:
            held = f"{sum(rooms)} of its {role.count} nodes at once"
            return f"nodes of {pool} as they are today could hold {held}, each with {_asked(role.shape)}"
    return None


def _room(site: Site, role: Role) -> int:
    shape = role.shape
    if shape.gpu_models and site.model not in shape.gpu_models:
        return 0
    asked = ((shape.cpu, site.cpu), (shape.memory, site.memory), (shape.gpus, site.gpus))
    most = min((have // needed for needed, have in asked if needed), default=ENOUGH)
    return min(most, 1) if role.spread else most


def _asked(shape: Shape) -> str:
    model = f"/{shape.gpu_models[0]}" if len(shape.gpu_models) == 1 else ""
    amounts = {"cpu": shape.cpu, "memory": shape.memory, f"gpu{model}": shape.gpus * shape.share}
    return ", ".join(amount(resource, value) for resource, value in amounts.items() if value) or "a place"
