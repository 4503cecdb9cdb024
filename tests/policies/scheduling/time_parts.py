"""Small clusters and gangs for tests of planning by time."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from policies.scheduling.model import FAR, WHOLE, Near, Node, Pod, Promise, Request, Role, Running, Shape
from policies.scheduling.nodes import Nodes
from policies.scheduling.profile import Profile
from tests.policies.scheduling.recount import Placed

LEVELS = ("zone", "rack")
STEP, HORIZON = 10, 400


def machines(count: int, gpus: int = 2, racks: int = 2) -> list[Node]:
    """Nodes of 8 cpu and 8 memory in racks of `racks`, two racks to a zone."""
    return [
        Node(
            f"n{number}",
            8,
            8,
            gpus,
            "h",
            80,
            slices={"1g": 2},
            labels={"zone": f"z{number // (2 * racks)}", "rack": f"r{number // racks}"},
        )
        for number in range(count)
    ]


def gang(name: str, pods: int = 1, gpus: int = 2, limit: int | None = 50, **more: Any) -> Request:
    """A gang of one role; `role` and `shape`: further fields of these."""
    shape = Shape(cpu=1, gpus=gpus, **more.pop("shape", {}))
    return Request(name, "q", (Role("w", pods, shape, **more.pop("role", {})),), limit=limit, **more)


def runs(request: Request, *nodes: str, since: int = 0, devices: Sequence[int] = (0, 1)) -> Running:
    """It runs with a pod on each of the nodes, all with the same devices."""
    return Running(request, tuple(Pod(0, node, tuple(devices)) for node in nodes), since)


def profile(nodes: Sequence[Node], running: Iterable[Running] = (), **more: Any) -> Profile:
    return Profile(Nodes(nodes, LEVELS), more.pop("now", 0), running, step=STEP, horizon=HORIZON, **more)


def placed(request: Request, promise: Promise) -> Placed:
    return Placed(request, promise.pods, promise.start, promise.end)


def seconds(request: Request) -> int | None:
    return request.limit if request.limit is not None else request.estimate


@st.composite
def requests(draw: st.DrawFn, name: str, racks: bool = True) -> Request:
    """A gang of one role: whole GPUs, a part of one, slices, or none; alone or many; near, sliced, spread or free."""
    share = draw(st.sampled_from([WHOLE, WHOLE, WHOLE, 300, 500]))
    gpus = 1 if share < WHOLE else draw(st.integers(0, 2))
    slices = draw(st.sampled_from([(), (), (("1g", 1),)]))
    shape = Shape(cpu=draw(st.integers(1, 5)), memory=draw(st.integers(0, 3)), gpus=gpus, share=share, slices=slices)
    near = draw(st.sampled_from([FAR, Near(required="rack"), Near(required="zone"), Near(preferred="rack")]))
    inner = draw(st.sampled_from([FAR, FAR, Near(slice_level="rack", slice_size=2)]))
    role = Role("w", draw(st.integers(1, 4)), shape, near=inner if racks else FAR, spread=draw(st.booleans()))
    limit = draw(st.none() | st.integers(1, 120))
    estimate = draw(st.none() | st.integers(1, 120))
    apart = draw(st.sampled_from(["", "", "x"]))
    priority = draw(st.integers(0, 2))
    return Request(
        name, "q", (role,), near=near if racks else FAR, limit=limit, estimate=estimate, apart=apart, priority=priority
    )


@st.composite
def queues(draw: st.DrawFn, most: int = 7) -> list[Request]:
    """Gangs in the order in which they wait."""
    return [draw(requests(f"j{number}")) for number in range(draw(st.integers(1, most)))]


@st.composite
def mixed(draw: st.DrawFn, name: str) -> Request:
    """A gang of two roles, perhaps of a class that displaces promises."""
    first, second = draw(requests(name)), draw(requests(name))
    roles = (*first.roles, replace(second.roles[0], name="v"))
    return replace(first, roles=roles, displaces=draw(st.booleans()))
