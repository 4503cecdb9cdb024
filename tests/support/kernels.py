"""Compiles the scheduler's loops for the tests that follow, which find them in numba's cache: about a minute or two of
one processor on a machine that never did it."""

import time

from policies.scheduling.model import QueueRules
from tests.policies.scheduling.plan_parts import carried_out, gang, pool, submitted


def compile_all() -> None:
    """A few rounds in which gangs start, wait, are promised a start, and are displaced."""
    world = submitted(pool(4, QueueRules("q")), *(gang(f"g{n}", n, 4, queue="q", limit=60) for n in range(1, 6)))
    carried_out(world, 0)
    submitted(world, gang("high", 3, queue="q", priority=9), gang("part", 1, 1, queue="q"))
    carried_out(world, 5)
    carried_out(world, 30)


if __name__ == "__main__":
    begun = time.monotonic()
    compile_all()
    print(f"compiled in {time.monotonic() - begun:.0f} s", flush=True)
