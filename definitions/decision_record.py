"""What is kept of a decision of the scheduler, to be read later by people: the document of its row."""

from definitions.places import PlacedPod
from definitions.wire import Wire


class GangPlaced(Wire):
    """A gang that got its places. `amounts`: resource -> what they count against quotas."""

    job: str
    queue: str
    attempt: int
    pods: tuple[PlacedPod, ...]
    amounts: dict[str, int] = {}


class GangTold(Wire):
    """A gang that was told to give its places up. `beneficiary`: the job that gets them; empty: nobody in particular.

    `lost`: seconds of work times GPUs that no checkpoint holds. `keeps`: places that it goes on with, if any.
    """

    victim: str
    beneficiary: str = ""
    reason: str
    lost: int = 0
    keeps: int | None = None


class GangGrown(Wire):
    """A gang that gets further places, and goes on with them when it has saved. `before`, `after`: places in all."""

    job: str
    before: int
    after: int


class GangRefused(Wire):
    """A gang that goes on waiting, and of which something new is said."""

    job: str
    position: int | None = None
    cause: str | None = None
    reason: str = ""


class DecisionRecord(Wire):
    """One decision. `refused`: those at the head of the order; `causes`: how many wait for which cause, of all.

    `dropped`: jobs of `placed`, `told` and `grown` for which nothing was written, since they had changed meanwhile.
    `counts`: how many nodes it saw, and gangs that run, wait, and have a planned start.
    """

    placed: tuple[GangPlaced, ...] = ()
    told: tuple[GangTold, ...] = ()
    grown: tuple[GangGrown, ...] = ()
    refused: tuple[GangRefused, ...] = ()
    dropped: tuple[str, ...] = ()
    causes: dict[str, int] = {}
    counts: dict[str, int] = {}
