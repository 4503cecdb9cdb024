"""What people read of a decision: why a gang waits, when it starts, why it has to leave; with numbers and units.

Sentences are made when the decision is, and stored with it. `docs/scheduling.md` says what each cause means.
"""

from datetime import UTC, datetime

from definitions.quantities import format_cpus, format_size
from definitions.scheduling_types import spelled_gpus
from policies.scheduling.model import Cause, Promise, Refusal


def reason(refusal: Refusal, promise: Promise | None = None) -> str:
    """Why a gang waits, and when it starts if that is known."""
    said = why(refusal)
    return said if promise is None else f"{said}; {when(promise)}"


def why(refusal: Refusal) -> str:
    """The sentence of a cause."""
    match refusal.cause:
        case Cause.STOPPED:
            return f"queue {refusal.at}, or one above it, is stopped: nothing new starts there"
        case Cause.LIMIT:
            return _limit(refusal)
        case Cause.NEVER:
            return _never(refusal)
        case Cause.CAPACITY:
            return _room(refusal)
        case Cause.TOPOLOGY:
            return _close(refusal)
        case Cause.PROMISED:
            return "there is room now, and it is promised to jobs before it, which it would delay"
        case Cause.ORDER:
            return f"queue {refusal.at} keeps a strict order{_before(refusal)}"
        case Cause.EVICTING:
            return f"its places are being freed: job {refusal.behind} saves and leaves them"
        case Cause.RESERVATION:
            return f"reservation {refusal.at} has not begun, or all that it keeps is used"
        case Cause.OVER:
            return f"reservation {refusal.at} is over for good, and the job may run in nothing else; cancel the job"


def when(promise: Promise) -> str:
    """A start that was promised, or that is expected where running times are not declared."""
    at = f"{datetime.fromtimestamp(promise.start, UTC):%Y-%m-%d %H:%M:%S} UTC"
    return f"it starts at {at} at the latest" if promise.firm else f"it is expected to start about {at}"


def gone(queue: str) -> str:
    """Of a gang whose queue was removed."""
    return f"queue {queue} is not there any more: nothing starts in it; apply it again, or cancel the job"


def starts(pods: int, nodes: int, simulated: bool, asked: int | None = None) -> str:
    """Of a gang that gets its places. `asked`: how many it asked for."""
    on = _count(nodes, "simulated node" if simulated else "node")
    if asked not in (None, pods):
        return f"has {pods} of its {_count(asked or 0, 'place')} on {on}"
    return f"has its places on {on}" if pods == nodes else f"has its {_count(pods, 'place')} on {on}"


def leaves(why_it_goes: str, beneficiary: str) -> str:
    """Of a gang that has to give its places up."""
    return f"job {beneficiary} gets its places: {why_it_goes}" if beneficiary else why_it_goes


def grows(before: int, after: int) -> str:
    """Of an elastic gang that gets further places."""
    return f"grows from {before} to {_count(after, 'node')}"


def shrinks(before: int, after: int, why_it_goes: str) -> str:
    """Of an elastic gang that gives some of its places up."""
    return f"shrinks from {before} to {_count(after, 'node')}: {why_it_goes}"


def amount(resource: str, value: int) -> str:
    """An amount with its unit: `8 GPUs`, `2.5 GPUs of H100`, `4 processors`, `64Gi of memory`, `3 nodes`."""
    kind, _, of = resource.partition("/")
    match kind:
        case "cpu":
            cpus = format_cpus(value)
            return f"{cpus} processor{'' if cpus == '1' else 's'}"
        case "memory":
            return f"{format_size(value)} of memory"
        case "gpu":
            gpus = spelled_gpus(value)
            return f"{gpus} GPU{'' if gpus == 1 else 's'}{f' of {of}' if of else ''}"
        case "slice":
            return _count(value, f"slice {of}", f"slices {of}")
        case _:
            return _count(value, "node")


def _limit(refusal: Refusal) -> str:
    needed, free = amount(refusal.resource, refusal.needed), _bare(refusal.resource, refusal.free)
    bound = "" if refusal.bound is None else f" of {amount(refusal.resource, refusal.bound)}"
    return f"needs {needed}, and queue {refusal.at} has {free} left{bound} that it may use"


def _never(refusal: Refusal) -> str:
    if refusal.resource == "pods":
        if refusal.bound:
            return f"needs {_needed(refusal)}, and were all nodes empty, {refusal.bound} would find room{_at(refusal)}"
        where = f": none is labelled {refusal.at}" if refusal.at else " by labels, taints and model of GPU"
        return f"fits nowhere today: there is no node that it may be on{where}"
    there = _bare(refusal.resource, refusal.free if refusal.bound is None else refusal.bound)
    return f"fits nowhere today: it needs {_needed(refusal)}, and nodes that it may be on have {there}{_at(refusal)}"


def _room(refusal: Refusal) -> str:
    if not refusal.resource:
        return "there is no room for it now"
    free = _bare(refusal.resource, refusal.free)
    of = "" if refusal.bound is None else f" of {_bare(refusal.resource, refusal.bound)}"
    if refusal.resource == "pods":
        return f"needs {_needed(refusal)} with enough free on each, and {free}{of} have it{_at(refusal)}"
    return f"needs {_needed(refusal)}, and {free}{of} are free on nodes that it may be on{_at(refusal)}"


def _close(refusal: Refusal) -> str:
    if not refusal.resource:
        return "there is room, and not close enough together"
    where = f"; {refusal.at} comes closest" if refusal.at else ""
    free = _bare(refusal.resource, refusal.free)
    return f"needs {_needed(refusal)} close together, and {free} are free so{where}"


def _needed(refusal: Refusal) -> str:
    return amount(refusal.resource, refusal.needed)


def _at(refusal: Refusal) -> str:
    return f" in {refusal.at}" if refusal.at else ""


def _before(refusal: Refusal) -> str:
    return f", and job {refusal.behind} before it waits" if refusal.behind else ""


def _bare(resource: str, value: int) -> str:
    """An amount whose unit was said before."""
    kind = resource.partition("/")[0]
    if kind == "cpu":
        return format_cpus(value)
    if kind == "memory":
        return format_size(value)
    return str(spelled_gpus(value)) if kind == "gpu" else str(value)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or f'{one}s'}"
