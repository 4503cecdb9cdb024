"""Sizes of a gang that can run at several: what it holds, what it can give up, what it may still get."""

from collections.abc import Sequence

from policies.scheduling.model import Pod, Request, Role, Running


def fewest(request: Request) -> tuple[int, ...]:
    """The smallest size, in pods of each role."""
    return tuple(role.fewest for role in request.roles)


def wanted(request: Request) -> tuple[int, ...]:
    """The size that was asked for."""
    return tuple(role.count for role in request.roles)


def largest(role: Role) -> int:
    return role.count if role.most is None else role.most


def held(running: Running) -> tuple[int, ...]:
    """The size at which it runs."""
    roles = [pod.role for pod in running.pods]
    return tuple(roles.count(number) for number in range(len(running.request.roles)))


def surplus(running: Running) -> tuple[int, ...] | None:
    """The size that it keeps if it gives up all that it can; None if it can give up nothing."""
    now = held(running)
    keep = tuple(min(have, least) for have, least in zip(now, fewest(running.request), strict=True))
    return None if keep == now else keep


def given_up(running: Running, keep: Sequence[int]) -> tuple[Pod, ...]:
    """The pods that go when the gang keeps so many of each role: those that came last.

    Pods of a role stand in the order in which they came. What stays is the beginning of it, so it keeps within the
    domains, and every slice within its own.
    """
    seen = [0] * len(keep)
    gone = []
    for pod in running.pods:
        seen[pod.role] += 1
        if seen[pod.role] > keep[pod.role]:
            gone.append(pod)
    return tuple(gone)


def kept(running: Running, keep: Sequence[int]) -> tuple[Pod, ...]:
    """The pods that stay, in their order."""
    seen = [0] * len(keep)
    stay = []
    for pod in running.pods:
        seen[pod.role] += 1
        if seen[pod.role] <= keep[pod.role]:
            stay.append(pod)
    return tuple(stay)
