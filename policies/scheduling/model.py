"""What the scheduler sees: nodes, what pods ask of them, jobs that wait or run, and the queues between.

Plain values, so that whoever only passes them on needs no array library. Units: times are whole seconds since 1970 in
UTC (a simulation may begin at 0), lengths are seconds, processors 1/1000, memory bytes, parts of a GPU 1/1000.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

WHOLE = 1000  # parts of one GPU


class Operator(StrEnum):
    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


@dataclass(frozen=True, slots=True)
class Expression:
    """One condition on a node's labels, as Kubernetes means it: NotIn holds for a node without the label too."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Taint:
    """Keeps pods off a node that do not tolerate it; with the effect PreferNoSchedule as long as there are others."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"


@dataclass(frozen=True, slots=True)
class Tolerated:
    """Taints that a pod puts up with. Empty key: all; no value: every value; empty effect: every effect."""

    key: str = ""
    value: str | None = None
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Where:
    """Which nodes a pod may be on: expressions hold, taints are tolerated, and it is one of `nodes`, if named."""

    expressions: tuple[Expression, ...] = ()
    tolerates: tuple[Tolerated, ...] = ()
    nodes: tuple[str, ...] = ()


ANYWHERE = Where()


@dataclass(frozen=True, slots=True)
class Shape:
    """What one pod asks of the node that it runs on. Two pods with equal shapes are the same to the scheduler."""

    cpu: int = 0
    memory: int = 0
    gpus: int = 0  # devices
    share: int = WHOLE  # of each device; less than a whole one only with one device
    gpu_models: tuple[str, ...] = ()  # allowed, sorted; empty: every model
    gpu_memory: int = 0  # that each device must have at least
    slices: tuple[tuple[str, int], ...] = ()  # MIG profile and how many, sorted, beside or instead of whole devices
    where: Where = ANYWHERE


@dataclass(frozen=True, slots=True)
class Node:
    """A machine and what it can give to pods. `model`: of its GPUs, empty without any."""

    name: str
    cpu: int
    memory: int
    gpus: int = 0
    model: str = ""
    gpu_memory: int = 0
    slices: Mapping[str, int] = field(default_factory=dict)  # MIG profile -> how many
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    open: bool = True  # takes new pods; a cordoned or silent node does not, and keeps what runs there
    simulated: bool = False


@dataclass(frozen=True, slots=True)
class Near:
    """How close together pods are, by level of the topology. `required` is kept or nothing starts, `preferred` if it
    can be. With `slice_level` every `slice_size` pods of a role, in order, are within one domain of that level."""

    required: str | None = None
    preferred: str | None = None
    slice_level: str | None = None
    slice_size: int = 0


FAR = Near()


@dataclass(frozen=True, slots=True)
class Role:
    """Pods of one kind within a gang. `least` and `most`: sizes that it can run at, around `count`."""

    name: str
    count: int
    shape: Shape
    least: int | None = None  # None: count
    most: int | None = None  # None: count
    near: Near = FAR
    spread: bool = False  # at most one pod of the role per node

    @property
    def fewest(self) -> int:
        return self.count if self.least is None else self.least


@dataclass(frozen=True, slots=True)
class Request:
    """A gang that wants to run: all of its roles, or none. `id` is the job's.

    `limit`: it is checkpointed and stopped after so long; what is planned on it is a promise. `estimate`: learnt, and
    what is planned on it is an estimate. With neither it counts as endless.
    """

    id: str
    queue: str
    roles: tuple[Role, ...]
    submitted: int = 0
    priority: int = 0
    near: Near = FAR  # of all roles together
    limit: int | None = None
    estimate: int | None = None
    reservation: str | None = None
    preemptible: bool = True
    apart: str = ""  # gangs with the same word here share no node; empty: with anybody
    displaces: bool = False  # its priority class may move promises of lower ones

    @property
    def rigid(self) -> bool:
        """Whether it runs with all of its pods or not at all."""
        return all(role.fewest == role.count for role in self.roles)

    @property
    def seconds(self) -> int | None:
        """How long it runs for planning: its limit, else what was learnt, else for ever."""
        return self.limit if self.limit is not None else self.estimate


@dataclass(frozen=True, slots=True)
class Pod:
    """A place: one pod of a role on a node. `devices`: which of the node's GPUs, by number."""

    role: int
    node: str
    devices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Running:
    """A gang that has its nodes, from the moment that they are held for it until its pods are known to be gone."""

    request: Request
    pods: tuple[Pod, ...]
    since: int
    saved: int | None = None  # when its last verified checkpoint was made
    leaving: bool = False  # it was told to go, and holds its nodes until it has gone


class Within(StrEnum):
    """Whom a gang may displace in its own queue."""

    NEVER = "Never"
    LOWER = "LowerPriority"
    LOWER_OR_NEWER = "LowerOrNewerEqualPriority"


class Reclaim(StrEnum):
    """Whom a queue below its guarantee or share may displace in queues that borrow."""

    NEVER = "Never"
    LOWER = "LowerPriority"
    ANY = "Any"


class Stop(StrEnum):
    NONE = "None"
    HOLD = "Hold"  # nothing new starts
    DRAIN = "HoldAndDrain"  # and what runs is told to go


@dataclass(frozen=True, slots=True)
class Quota:
    """Of one resource: what a queue always gets back, what it never exceeds, what it may take of others' and give them.

    None: no such bound. A guarantee with `lending` 0 is kept free for its owner.
    """

    guarantee: int = 0
    limit: int | None = None
    borrowing: int | None = None
    lending: int | None = None


@dataclass(frozen=True, slots=True)
class QueueRules:
    """A node of the tree of queues. Resources: `cpu`, `memory`, `gpu/<model>` in parts of a GPU, `gpu` for all."""

    name: str
    parent: str | None = None
    weight: float = 1.0
    quotas: Mapping[str, Quota] = field(default_factory=dict)
    strict: bool = False  # the first in order is waited for; else others may pass it where they delay nobody
    min_run: int = 0  # that a gang runs before it is displaced
    within: Within = Within.LOWER
    reclaim: Reclaim = Reclaim.ANY
    half_life: int | None = None  # of past use, which then counts against the queue
    stop: Stop = Stop.NONE


class Cause(StrEnum):
    """Why a gang does not start now."""

    STOPPED = "queue-stopped"
    LIMIT = "limit"  # of the queue or of one above it
    NEVER = "fits-nowhere"  # no node of today could hold it, were they all free
    CAPACITY = "no-room"
    TOPOLOGY = "no-domain"  # there is room, and not close together
    PROMISED = "promised"  # there is room, and it was promised to others
    ORDER = "behind"  # its queue is strict and somebody before it waits
    EVICTING = "evicting"  # its nodes are being freed
    RESERVATION = "reservation"  # its window has not begun, or is full
    OVER = "reservation-over"  # of its reservation nothing is to come any more


@dataclass(frozen=True, slots=True)
class Refusal:
    """A cause with its numbers: what was needed of `resource`, what was free or allowed, and where."""

    request: str
    cause: Cause
    resource: str = ""
    needed: int = 0
    free: int = 0
    bound: int | None = None  # the limit, or all that there is
    at: str = ""  # queue, domain or level
    behind: str = ""  # the gang that it waits for


@dataclass(frozen=True, slots=True)
class Start:
    request: str
    pods: tuple[Pod, ...]


@dataclass(frozen=True, slots=True)
class Eviction:
    """`victim` gives up its nodes, or with `keep` only what it has above that many pods of each role, for another."""

    victim: str
    beneficiary: str
    why: str
    lost: int  # seconds of work times GPUs that no checkpoint holds
    keep: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Promise:
    """A planned placement: a row that is held like a place. `firm`: it leans on declared times alone."""

    request: str
    start: int
    end: int | None
    pods: tuple[Pod, ...]
    firm: bool


@dataclass(frozen=True, slots=True)
class Growth:
    """An elastic gang gets further pods, or gives some up where nobody takes them by force."""

    request: str
    pods: tuple[Pod, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """All that one round says. Every gang that waits is in one of starts, promises or refusals, or in the last two."""

    starts: tuple[Start, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    growths: tuple[Growth, ...] = ()
    promises: tuple[Promise, ...] = ()
    refusals: Collection[Refusal] = ()
