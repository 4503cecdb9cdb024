"""What became of the pods of gangs, counted in a witness's notes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.cluster_witness import Sighting
from bench.harness import spread

OVER = ("Succeeded", "Failed", "Gone")


def wholeness(seen: Mapping[str, Sequence[Sighting]], gangs: Iterable[str], pods: int) -> dict[str, Any]:
    """`half_started`: gangs of which a pod was over before the last had begun, or some never began. `apart_seconds`:
    between the first and the last beginning of a gang's pods."""
    half, apart = [], []
    for gang in gangs:
        begun, over = _first(seen.get(gang, ()), ("Running",)), _first(seen.get(gang, ()), OVER)
        if len(begun) != pods or max(begun.values()) > min(over.values(), default=max(begun.values())):
            half.append(gang)
        if begun:
            apart.append(max(begun.values()) - min(begun.values()))
    return {"half_started": len(half), "apart_seconds": spread(apart) if apart else None}


def all_run_at(seen: Sequence[Sighting], pods: int) -> float | None:
    """When the last of so many pods was seen to run; None while some do not."""
    begun = _first(seen, ("Running",))
    return max(begun.values()) if len(begun) == pods else None


def _first(seen: Sequence[Sighting], phases: Sequence[str]) -> dict[str, float]:
    """By pod, when it was first in one of the phases. One that was never seen to run, but to succeed, has run."""
    found: dict[str, float] = {}
    for each in seen:
        if each.phase in phases or (phases == ("Running",) and each.phase == "Succeeded"):
            found.setdefault(each.pod, each.at)
    return found
