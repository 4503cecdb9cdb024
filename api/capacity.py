"""What nodes and queues have, and what of it is held and waited for: from rows and documents to what is shown."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from api.access import Caller
from api.queueing import MILLIS
from api.scheduling_documents import stored
from definitions.api_queueing import CapacityPage, GpuCapacity, NodeCapacity, QueueShare, QueueUse, QueueUsePage
from definitions.cluster import LOCAL_CLUSTER, NodeView
from definitions.job import Job
from policies.capacity import Held, Site, SiteUse, TypeUse, Wanted, sites_in_use, spread, types_in_use
from policies.queue_usage import ResourceUse, queues_in_use
from policies.scheduling.asking import Asked, Shapes, Words, shape_of
from policies.scheduling.demands import demand
from policies.scheduling.documents import Scheduling, scheduling
from policies.scheduling.model import WHOLE, Request, Role
from policies.waiting_words import unit_of
from store import pool_amounts, queue_use
from store.errors import BadCursor
from store.paging import cursor, read_cluster_and_node
from store.pool_amounts import Holding, LooseJob, Waiting


@dataclass(frozen=True)
class Picture:
    """What is stored of nodes, documents and gangs at one moment."""

    documents: Scheduling
    sites: list[Site]
    waiting: list[Waiting]
    holding: list[Holding]
    loose: list[LooseJob]
    others: list[Held]
    shapes: Shapes

    def request(self, shape: str) -> Request:
        return self.shapes.request(Asked("", "", shape))


def picture(caller: Caller, session: Session) -> Picture:
    """Read everything that there is to count."""
    documents = scheduling(stored(session))
    return Picture(
        documents,
        sites_of(caller, session, documents),
        pool_amounts.waiting(session),
        pool_amounts.holding(session),
        pool_amounts.loose_jobs(session),
        list(_of_others(session)),
        Shapes(Words(models=documents.models)),
    )


def sites_of(caller: Caller, session: Session, documents: Scheduling) -> list[Site]:
    """Nodes of all pools that jobs are placed on, by pool and name."""
    views = [NodeView.model_validate(view) for view in pool_amounts.nodes(session)]
    served = [view for view in views if documents.serves(view.cluster, view.labels)]
    return sorted([*_local(caller, documents), *(_site(view, documents.models) for view in served)], key=_key)


def capacity_page(found: Picture, pool: str | None, limit: int, after: str | None) -> CapacityPage:
    """Nodes by pool and name, and the GPUs of all of them. Raises BadCursor."""
    last = read_cluster_and_node(after) if after is not None else ("", "")
    uses = sites_in_use([site for site in found.sites if pool in (None, site.pool)], _all_held(found))
    waiting = (alike for alike in found.waiting if pool in (None, alike.pool))
    wanted = [each for alike in waiting for each in _wanted(alike, found.request(alike.shape))]
    rest = [use for use in uses if _key(use.site) > last]
    return CapacityPage(
        items=[_node_view(use) for use in rest[:limit]],
        gpus=[_gpu_view(use) for use in types_in_use(uses, wanted)],
        next=cursor(*_key(rest[limit - 1].site)) if len(rest) > limit else None,
    )


def usage_page(session: Session, found: Picture, queue: str | None, limit: int, after: str | None) -> QueueUsePage:
    """What queues use, by resource: of all, or of one. Raises BadCursor."""
    waiting: dict[str, Counter[str]] = {}
    for alike in found.waiting:
        each = demand(found.request(alike.shape))
        waiting.setdefault(alike.queue, Counter()).update({name: amount * alike.count for name, amount in each.items()})
    queues = found.documents.queues
    rows = queues_in_use(queues, queue_use.used(session), waiting, _capacity(found.sites))
    mine = [row for row in rows if queue in (None, row.queue)]
    begin = _behind(mine, after)
    parents = {rules.name: rules.parent for rules in queues}
    page = mine[begin : begin + limit]
    more = len(mine) > begin + limit
    return QueueUsePage(
        items=[_use_view(row, parents[row.queue]) for row in page],
        next=cursor(page[-1].queue, page[-1].resource) if more else None,
    )


def _local(caller: Caller, documents: Scheduling) -> Iterator[Site]:
    """Nodes of this machine's pool: those that documents make up, or else the machine itself."""
    if documents.nodes:
        for node in documents.nodes:
            yield Site(LOCAL_CLUSTER, node.name, node.cpu, node.memory, node.gpus, node.model, simulated=True)
    elif (machine := caller.deps.machine()) is not None:
        yield _site(machine, documents.models)


def _site(view: NodeView, models: Mapping[str, str]) -> Site:
    return Site(
        pool=view.cluster,
        name=view.name,
        cpu=view.cpu_millis,
        memory=view.memory,
        gpus=view.gpus,
        model=models.get(view.gpu_type, view.gpu_type) if view.gpus else "",
        ready=view.ready,
        schedulable=view.schedulable,
    )


def _key(site: Site) -> tuple[str, str]:
    return site.pool, site.name


def _all_held(found: Picture) -> Iterator[Held]:
    for gang in found.holding:
        for pod, role in zip(gang.pods, _roles(found.request(gang.shape).roles, len(gang.pods)), strict=False):
            yield _held(gang.pool, pod["node"], role, tuple(pod.get("devices", ())))
    for job in found.loose:
        yield from _loose(job, found)
    yield from found.others


def _roles(roles: Sequence[Role], pods: int) -> Iterable[Role]:
    """Of each pod its role. One of several sizes has as many pods as it has."""
    if len(roles) == 1:
        return [roles[0]] * pods
    return [role for role in roles for _ in range(role.count)]


def _of_others(session: Session) -> Iterator[Held]:
    """What pods that are not of this installation take. Which GPUs they have, their nodes do not tell."""
    for view in (NodeView.model_validate(each) for each in pool_amounts.nodes(session)):
        if (taken := view.others) is not None:
            yield Held(view.cluster, view.name, taken.cpu_millis, taken.memory, (), WHOLE, taken.gpus * WHOLE)


def _loose(job: LooseJob, found: Picture) -> Iterator[Held]:
    """A job without places takes what it asks for of the nodes that its ranks were seen on, one of its pods on each."""
    if not any(job.nodes):
        return
    (role,) = found.request(shape_of(Job.model_validate(job.spec).spec)).roles
    for node in list(dict.fromkeys(node for node in job.nodes if node))[: role.most or role.count]:
        yield _held(job.pool, node, role, ())


def _held(pool: str, node: str, role: Role, devices: tuple[int, ...]) -> Held:
    """What one pod takes. Slices are counted as the part that they are of a GPU."""
    shape = role.shape
    parts = _pod_amounts(role).get("gpu", 0)
    loose = max(0, parts - len(devices) * shape.share)
    return Held(pool, node, shape.cpu, shape.memory, devices, shape.share, loose)


def _pod_amounts(role: Role) -> dict[str, int]:
    return demand(Request("", "", (replace(role, count=1),)))


def _wanted(alike: Waiting, request: Request) -> Iterator[Wanted]:
    """What gangs that ask for the same want of GPUs. Each counts as one that waits, however many models it needs."""
    by_models: Counter[tuple[str, ...]] = Counter()
    for role in request.roles:
        by_models[role.shape.gpu_models] += _pod_amounts(role).get("gpu", 0) * role.count
    for models, parts in by_models.items():
        yield Wanted(alike.pool, models, parts * alike.count, alike.count)


def _capacity(sites: list[Site]) -> Counter[str]:
    total: Counter[str] = Counter()
    for site in sites:
        total.update(cpu=site.cpu, memory=site.memory, gpu=site.gpus * WHOLE)
        if site.gpus and site.model:
            total[f"gpu/{site.model}"] += site.gpus * WHOLE
    return total


def _behind(rows: list[ResourceUse], after: str | None) -> int:
    """Where a page begins. Raises BadCursor when what the page before ended with is not there any more."""
    if after is None:
        return 0
    last = read_cluster_and_node(after)
    for number, row in enumerate(rows):
        if (row.queue, row.resource) == last:
            return number + 1
    raise BadCursor


def _node_view(use: SiteUse) -> NodeCapacity:
    site = use.site
    return NodeCapacity(
        pool=site.pool,
        name=site.name,
        simulated=site.simulated,
        ready=site.ready,
        schedulable=site.schedulable,
        gpu_type=site.model,
        gpus=site.gpus,
        gpus_used=use.used / WHOLE,
        gpus_free=use.free,
        cpus=site.cpu / MILLIS,
        cpus_used=use.cpu / MILLIS,
        memory=site.memory,
        memory_used=use.memory,
    )


def _gpu_view(use: TypeUse) -> GpuCapacity:
    return GpuCapacity(
        pool=use.pool,
        gpu_types=list(use.models),
        total=use.total,
        used=use.used / WHOLE,
        free=use.free,
        out_of_service=use.closed,
        demand=use.demand / WHOLE,
        waiting=use.gangs,
        shortfall=use.shortfall / WHOLE,
        words=spread(use),
    )


def _use_view(row: ResourceUse, parent: str | None) -> QueueUse:
    unit, size = unit_of(row.resource)
    return QueueUse(
        queue=row.queue,
        parent=parent,
        resource=row.resource,
        unit=unit,
        guaranteed=row.guarantee / size,
        limit=None if row.limit is None else row.limit / size,
        used=row.used / size,
        borrowed=row.borrowed / size,
        lent=sum(row.lent.values()) / size,
        lent_to=[QueueShare(queue=name, amount=each / size) for name, each in sorted(row.lent.items())],
        waiting=row.waiting / size,
    )
