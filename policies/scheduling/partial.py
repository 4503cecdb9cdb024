"""At which size a gang that can run at several may start."""

from collections.abc import Callable

from policies.scheduling.model import Request

Sizes = tuple[int, ...]


def largest_sizes(request: Request, fits: Callable[[Sizes], bool]) -> Sizes | None:
    """The largest size, from the smallest to what was asked, that fits; None if not even the smallest does.

    Roles grow together, each by the same part of its range. `fits` has to be true of every size below one that fits,
    and is asked about log2 of the longest range times.
    """
    steps = max((role.count - role.fewest for role in request.roles), default=0)
    if not fits(_sizes(request, 0, steps)):
        return None
    low, high = 0, steps
    while low < high:
        middle = (low + high + 1) // 2
        if fits(_sizes(request, middle, steps)):
            low = middle
        else:
            high = middle - 1
    return _sizes(request, low, steps)


def _sizes(request: Request, step: int, steps: int) -> Sizes:
    return tuple(
        role.fewest + (max(0, role.count - role.fewest) * step // steps if steps > 0 else 0) for role in request.roles
    )
