"""What one decision of a pool says, as the store is told it, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from definitions.places import PlacedPod
from store.base import Document

Window = tuple[str, datetime, int]  # reservation, when it was made, number


@dataclass(frozen=True, slots=True)
class InWindow:
    """How much of the nodes of a reservation's windows places take. `gpus`: in 1/1000."""

    reservation: str
    made_at: datetime
    nodes: int
    gpus: int


@dataclass(frozen=True, slots=True)
class Given:
    """Places for a gang that waits. `version`: of its row when it was decided; `attempt`: that the places are for.

    `amounts`: resource -> what the places count against quotas. `reason`: the sentence that people read.
    `uses`: what the places take of windows that have begun.
    """

    job: str
    version: int
    attempt: int
    pods: tuple[PlacedPod, ...]
    amounts: Mapping[str, int]
    reason: str
    uses: tuple[InWindow, ...] = ()


@dataclass(frozen=True, slots=True)
class GoesOn:
    """The places of a gang's next size, a part of those that it has or the other way round, and what they count."""

    pods: tuple[PlacedPod, ...]
    amounts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Told:
    """A gang that holds places has to give them up. `leaves_for`: the job that gets them. `for_good`: it is cancelled
    instead of waiting again. `within`: seconds that it has to save and stop, if it has fewer than its own. `goes_on`:
    it only changes its size, and these places are held for it from now on."""

    job: str
    version: int
    attempt: int
    leaves_for: str | None
    reason: str
    for_good: bool = False
    within: int | None = None
    goes_on: GoesOn | None = None


@dataclass(frozen=True, slots=True)
class Waits:
    """Why a gang goes on waiting. `position`: in the pool's order, from 1. `firm`: `start_at` is a promise."""

    job: str
    version: int
    position: int | None
    cause: str | None
    refusal: Document | None
    reason: str
    start_at: datetime | None = None
    end_at: datetime | None = None
    firm: bool | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """The nodes of a window from now on; None: it has none, and `short` says how many it needs and how many are left.

    `version`: of its row when it was decided.
    """

    window: Window
    version: int
    nodes: tuple[str, ...] | None
    short: Document | None = None


@dataclass(frozen=True, slots=True)
class Past:
    """What a queue used in the past in this pool, faded to the time of the decision, in the unit of the resource."""

    queue: str
    resource: str
    amount: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """All that one decision says. `digest`: of what it was made from. `seen`: seq of each change that it knows of.

    `paths`: queue -> that queue and all above it. `limits`: queue -> resource -> most that may be used of it; what is
    not in it is not limited. `document`: what is kept of the decision to be read later.
    """

    digest: str = ""
    given: tuple[Given, ...] = ()
    told: tuple[Told, ...] = ()
    waits: tuple[Waits, ...] = ()
    kept: tuple[Kept, ...] = ()
    past: tuple[Past, ...] = ()
    seen: tuple[int, ...] = ()
    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    limits: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    document: Document = field(default_factory=dict)

    @property
    def decides(self) -> bool:
        """Whether it says anything about a gang or a window."""
        return bool(self.given or self.told or self.waits or self.kept)


@dataclass(frozen=True, slots=True)
class Committed:
    """What became of a verdict. `decision`: number of the pool's last decision now. `given`: jobs that have places.

    `dropped`: jobs of `given` and `told` for which nothing was written, because their row had changed or a limit was
    reached meanwhile. They are as they were. `kept`: windows whose nodes were written.
    """

    decision: int
    given: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()
    kept: frozenset[Window] = frozenset()
