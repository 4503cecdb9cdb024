"""What is known of a gang that waits, from the refusal that is stored with it: what would help, and if it ever can.

The sentence of the cause itself is made and stored with the decision (`policies.scheduling.sentences`).
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from policies.scheduling.model import WHOLE, Cause, Refusal
from policies.scheduling.sentences import amount

GIB = 2**30
UNITS = {"cpu": ("processors", 1000), "memory": ("bytes", 1), "gpu": ("GPUs", WHOLE), "slice": ("slices", 1)}
NAMES = frozenset(field.name for field in fields(Refusal))


def refusal_of(stored: Mapping[str, Any] | None) -> Refusal | None:
    """A refusal as it was stored; None for none, and for a cause that only a newer version knows."""
    if stored is None or stored.get("cause") not in list(Cause):
        return None
    known = {name: value for name, value in stored.items() if name in NAMES}
    return Refusal(**{"request": "", **known, "cause": Cause(stored["cause"])})


def unit_of(resource: str) -> tuple[str, int]:
    """The unit in which people read amounts of a resource, and how much of the stored amount makes one."""
    return UNITS.get(resource.partition("/")[0], ("nodes", 1))


def shortage_words(refusal: Refusal) -> str:
    """The numbers of a refusal in a few words."""
    needed, free = amount(refusal.resource, refusal.needed), _bare(refusal.resource, refusal.free)
    of = "" if refusal.bound is None else f" of {_bare(refusal.resource, refusal.bound)}"
    return f"needs {needed}, {free}{of} free{f' in {refusal.at}' if refusal.at else ''}"


def can_ever(refusal: Refusal) -> bool | None:
    """Whether it could start if all others ended, with the queues and nodes of that decision.

    None: not known, since something came before its nodes were looked at.
    """
    match refusal.cause:
        case Cause.NEVER | Cause.OVER:
            return False
        case Cause.LIMIT if refusal.bound is not None and refusal.needed > refusal.bound:
            return False
        case Cause.LIMIT | Cause.STOPPED | Cause.ORDER | Cause.RESERVATION:
            return None
        case _:
            return True


def would_help(refusal: Refusal) -> list[str]:
    """What would let it start now, each by itself. Numbers are those of the decision."""
    match refusal.cause:
        case Cause.STOPPED:
            return [f"Start queue {refusal.at}, or the one above it, again: `stop: no` in its document."]
        case Cause.LIMIT:
            return _below_limit(refusal)
        case Cause.NEVER:
            return _other_nodes(refusal)
        case Cause.CAPACITY:
            return _room(refusal, "on nodes that it may be on")
        case Cause.TOPOLOGY:
            near = f"close together{f', as in {refusal.at}' if refusal.at else ''}"
            return [*_room(refusal, near), "Or write placement.topology.preferred instead of required."]
        case Cause.PROMISED:
            return ["A shorter spec.timeout, so that it ends before the starts that were promised to others."]
        case Cause.ORDER:
            return [f"The start of the job before it, or `order: bestEffort` in the document of queue {refusal.at}."]
        case Cause.EVICTING:
            return ["Nothing more: its places are being freed."]
        case Cause.RESERVATION:
            return [f"The beginning of reservation {refusal.at}, or the end of a job that uses it."]
        case Cause.OVER:
            return [f"Windows of reservation {refusal.at} that are still to come: apply it with a later end."]


def _bare(resource: str, value: int) -> str:
    """An amount whose unit was said before."""
    return f"{value / GIB:.4g}Gi" if resource == "memory" else f"{value / unit_of(resource)[1]:g}"


def _below_limit(refusal: Refusal) -> list[str]:
    if not refusal.resource:
        return [f"More room below the limits of queue {refusal.at}."]
    lacking = amount(refusal.resource, max(0, refusal.needed - refusal.free))
    help_ = [] if can_ever(refusal) is False else [f"Jobs of queue {refusal.at} and below that give {lacking} back."]
    if refusal.bound is not None:
        raised = amount(refusal.resource, refusal.bound + max(0, refusal.needed - refusal.free))
        help_.append(
            f"For queue {refusal.at} to be allowed {raised} instead of {amount(refusal.resource, refusal.bound)}."
        )
    return [*help_, *_less(refusal)]


def _other_nodes(refusal: Refusal) -> list[str]:
    if refusal.resource in ("", "pods"):
        return ["Nodes that it may be on: look at its labels, tolerations and gpuType, and at `perdure nodes list`."]
    there = refusal.free if refusal.bound is None else refusal.bound
    lacking = amount(refusal.resource, max(0, refusal.needed - there))
    return [f"Nodes with {lacking} more that it may be on.", *_at_most(refusal, there)]


def _room(refusal: Refusal, where: str) -> list[str]:
    if not refusal.resource:
        return [f"More room {where}."]
    if refusal.resource == "pods":
        lacking = max(1, refusal.needed - refusal.free)
        return [f"Room for {lacking} more of its nodes {where}.", *_less(refusal)]
    more = amount(refusal.resource, max(0, refusal.needed - refusal.free))
    return [f"{more} more, free {where}.", *_less(refusal)]


def _less(refusal: Refusal) -> list[str]:
    return _at_most(refusal, refusal.free)


def _at_most(refusal: Refusal, most: int) -> list[str]:
    return [f"Or ask for at most {amount(refusal.resource, most)} in all."] if most > 0 else []
