"""MIG slices by the words of jobs and of nodes: `mig-3g.20gb`, `nvidia.com/mig-3g.20gb`."""

import re
from collections.abc import Mapping

MIG = re.compile(r"(?:[a-z0-9.-]+/)?mig-(\d+g\.\d+gb(?:[.+][a-z0-9.]+)?)", re.IGNORECASE)


def mig_slice(word: str | None) -> str | None:
    """The slice (`3g.20gb`) that a type of GPU or a resource names; None when it names none."""
    match = MIG.fullmatch(word or "")
    return match[1].lower().replace("+", ".") if match else None


def slices_of(allocatable: Mapping[str, str]) -> dict[str, int]:
    """Slices among what a node gives to pods, and how many."""
    found = {mig_slice(name): int(count) for name, count in allocatable.items() if count.isdecimal()}
    return {profile: count for profile, count in found.items() if profile is not None and count}
