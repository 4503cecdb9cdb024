"""What deciding for a pool reads and says, between the database and the arrays. No array library is needed for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol

from definitions.facts import JobEnded
from definitions.places import Displaced, Placed
from store.base import Document
from store.pool_reads import Gang, Mark, Stray, Windows
from store.verdicts import Committed, Verdict

NO_WINDOWS = Windows([], frozenset())


class Turn(NamedTuple):
    """The right to decide for a pool: a token, and the number of the last decision when it was taken."""

    pool: str
    token: int
    decision: int


class Change(NamedTuple):
    seq: int
    kind: str  # "gang", "nodes", "documents", "use", "windows"
    job: str | None


class Used(NamedTuple):
    """What a queue used in the past, faded to `at`."""

    queue: str
    resource: str
    amount: float
    at: datetime


class Left(NamedTuple):
    """A gang that was told to go, and for whom."""

    victim: str
    beneficiary: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Watched:
    """What is looked at only now and then, since nobody writes a change of it: jobs without a gang, and checkpoints."""

    strays: tuple[Stray, ...] = ()
    saves: Mapping[str, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class News:
    """What happened since the last decision. `gangs`: rows of those that changed; one that is not in it is gone.

    `used`: of queues, by all pools. `marks`: of every cluster's nodes; `nodes`: of all clusters, as NodeView has them,
    if the marks are not those that were known. `windows`: of reservations, if any has changed. `more`: there are
    further changes behind these.
    """

    changes: tuple[Change, ...]
    gangs: Mapping[str, Gang]
    used: Mapping[str, Mapping[str, int]]
    marks: Mapping[str, Mark]
    nodes: Mapping[str, Sequence[Document]] | None = None
    watched: Watched | None = None
    windows: Windows | None = None
    more: bool = False


@dataclass(frozen=True, slots=True)
class Whole:
    """Everything that a pool is built from. `nodes`: of all clusters, since all share the queues, as NodeView has them.

    `cluster`: the pool's own document, None for this machine.
    """

    documents: Sequence[Document]
    nodes: Mapping[str, Sequence[Document]]
    gangs: Sequence[Gang]
    past: Sequence[Used]
    left: Sequence[Left]
    cluster: Document | None = None
    windows: Windows = NO_WINDOWS


@dataclass(frozen=True, slots=True)
class Message:
    """Word to a job's workflow, `target`."""

    key: str
    target: str
    fact: Placed | Displaced | JobEnded


class Pools(Protocol):
    """The store as deciding sees it. Raises PortError."""

    def take(self, pool: str) -> Turn:
        """Take the right to decide, from whoever had it. Safe to repeat: the last one counts."""

    def news(self, pool: str, known: Mapping[str, Mark] | None, *, watched: bool) -> News:
        """Changes and what they are about. `known`: marks of nodes that are known; None: none are wanted. `watched`:
        look at what nobody tells of, too. Only reads."""

    def whole(self, pool: str) -> Whole:
        """Read after the changes. Only reads."""

    def commit(self, turn: Turn, verdict: Verdict, now: datetime) -> Committed:
        """Write a verdict with its messages in one transaction. Raises PortError PD-3740, with nothing written, when
        somebody else has taken the right or has decided: so a repeat does no harm."""

    def messages(self, pool: str, limit: int) -> list[Message]:
        """Those that are not known to have arrived, oldest first. Only reads."""

    def delivered(self, keys: frozenset[str]) -> None:
        """Note that messages arrived. Safe to repeat."""


class JobSignals(Protocol):
    """Workflows of jobs."""

    def tell(self, messages: Sequence[Message]) -> frozenset[str]:
        """Deliver; returns the keys of those that arrived, or that nobody is left to hear. Safe to repeat: a job that
        has heard one before takes no notice. Raises PortError when the engine is away and none arrived."""
