"""What nodes have, what of it is taken, and what those who wait would need of it. Arithmetic over what is stored.

Units as in `policies.scheduling.model`: processors and parts of a GPU 1/1000, memory bytes.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from policies.scheduling.model import WHOLE

Models = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """A node of a pool. `model`: of its GPUs, empty where nobody told."""

    pool: str
    name: str
    cpu: int = 0
    memory: int = 0
    gpus: int = 0
    model: str = ""
    simulated: bool = False
    ready: bool = True
    schedulable: bool = True

    @property
    def open(self) -> bool:
        """Whether new pods may start there."""
        return self.ready and self.schedulable


@dataclass(frozen=True, slots=True)
class Held:
    """What one pod takes of its node. `devices`: by number; `loose`: parts of GPUs of which nobody knows which."""

    pool: str
    node: str
    cpu: int = 0
    memory: int = 0
    devices: tuple[int, ...] = ()
    share: int = WHOLE  # of each device
    loose: int = 0


@dataclass(frozen=True, slots=True)
class Wanted:
    """GPUs that gangs wait for. `models`: that would do; none: any. `parts`: of all of them together."""

    pool: str
    models: Models
    parts: int
    gangs: int = 1


@dataclass(frozen=True, slots=True)
class SiteUse:
    """A node with what is taken of it. What was taken stays taken when the node shrinks."""

    site: Site
    cpu: int = 0
    memory: int = 0
    devices: Mapping[int, int] = field(default_factory=dict)  # number -> parts taken
    loose: int = 0

    @property
    def used(self) -> int:
        """Parts of GPUs."""
        return sum(self.devices.values()) + self.loose

    @property
    def whole(self) -> int:
        """GPUs of which nothing is taken, whether or not new pods may start there."""
        touched = sum(number < self.site.gpus for number in self.devices)
        return max(0, self.site.gpus - touched - -(-self.loose // WHOLE))

    @property
    def free(self) -> int:
        """GPUs that a new pod could get whole."""
        return self.whole if self.site.open else 0


@dataclass(frozen=True, slots=True)
class TypeUse:
    """GPUs of some models in a pool: there, taken, wanted by those whom nothing else would do.

    `total`, `free`, `closed`: whole GPUs; `closed`: on nodes where nothing new may start. `scraps`: parts left of GPUs
    that are shared. `frees`: free ones by node, of nodes that have any. `gangs`: how many wait for them.
    """

    pool: str
    models: Models
    total: int
    used: int
    closed: int
    scraps: int
    frees: tuple[int, ...]
    largest: int  # GPUs of the largest node
    gangs: int
    demand: int

    @property
    def free(self) -> int:
        return sum(self.frees)

    @property
    def shortfall(self) -> int:
        """Parts that are wanted beyond the GPUs that are free."""
        return max(0, self.demand - self.free * WHOLE)


def sites_in_use(sites: Sequence[Site], held: Iterable[Held]) -> list[SiteUse]:
    """Every node with what pods take of it, in the order given. Pods on nodes that are not there count nowhere."""
    there: dict[tuple[str, str], list[Held]] = defaultdict(list)
    for each in held:
        there[each.pool, each.node].append(each)
    return [_use(site, there[site.pool, site.name]) for site in sites]


def types_in_use(uses: Sequence[SiteUse], wanted: Sequence[Wanted]) -> list[TypeUse]:
    """GPUs by pool and model, then by each choice of models that somebody leaves; the last is all models of a pool."""
    pools = sorted({use.site.pool for use in uses if use.site.gpus} | {each.pool for each in wanted})
    return [row for pool in pools for row in _types(pool, uses, wanted)]


def spread(use: TypeUse) -> str:
    """How the free ones lie, since a pod needs its GPUs on one node."""
    rest = f", and {_gpus(use.scraps)} in parts of shared ones" if use.scraps else ""
    if not use.frees:
        return f"none free whole{rest}" if rest else "none free"
    nodes, most, free = len(use.frees), max(use.frees), use.free
    if nodes == 1:
        return f"{free} free, on one node{rest}"
    but = " but" if most < min(free, use.largest) else ","
    each = f"{most} on each" if most * nodes == free else f"at most {most} on one"
    return f"{free} free{but} on {nodes} nodes, {each}{rest}"


def _use(site: Site, pods: Sequence[Held]) -> SiteUse:
    devices: dict[int, int] = defaultdict(int)
    for pod in pods:
        for number in pod.devices:
            devices[number] += pod.share
    cpu, memory, loose = (sum(getattr(pod, what) for pod in pods) for what in ("cpu", "memory", "loose"))
    return SiteUse(site, cpu, memory, dict(sorted(devices.items())), loose)


def _types(pool: str, uses: Sequence[SiteUse], wanted: Sequence[Wanted]) -> list[TypeUse]:
    mine = [use for use in uses if use.site.pool == pool and use.site.gpus]
    known = tuple(sorted({use.site.model for use in mine}))
    asked = [replace(each, models=each.models or known) for each in wanted if each.pool == pool and each.parts]
    choices = {each.models for each in asked}
    single = {(model,) for model in known} | {models for models in choices if len(models) == 1}
    several = {models for models in choices if len(models) != 1} | ({known} if len(known) > 1 else set())
    order = [*sorted(single), *sorted(several, key=lambda models: (len(models), models))]
    return [_type(pool, models, mine, asked) for models in order]


def _type(pool: str, models: Models, uses: Sequence[SiteUse], asked: Sequence[Wanted]) -> TypeUse:
    mine = [use for use in uses if use.site.model in models]
    only = [each for each in asked if set(each.models) <= set(models)]
    return TypeUse(
        pool=pool,
        models=models,
        total=sum(use.site.gpus for use in mine),
        used=sum(use.used for use in mine),
        closed=sum(use.whole for use in mine if not use.site.open),
        scraps=sum(_scraps(use) for use in mine),
        frees=tuple(use.free for use in mine if use.free),
        largest=max((use.site.gpus for use in mine), default=0),
        gangs=sum(each.gangs for each in only),
        demand=sum(each.parts for each in only),
    )


def _scraps(use: SiteUse) -> int:
    """Parts left of GPUs of a node that are shared."""
    left = sum(max(0, WHOLE - taken) for number, taken in use.devices.items() if number < use.site.gpus)
    return left + -use.loose % WHOLE


def _gpus(parts: int) -> str:
    return f"{parts / WHOLE:g}"
