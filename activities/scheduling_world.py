"""A pool's `World` beside the database: built from it, kept between decisions, and brought in line with what changed.

Kept or built anew, it is the same: `tests/activities/test_scheduling_world.py` holds both against each other.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b

from activities.scheduling_facts import News, Watched, Whole
from activities.scheduling_nodes import capacity_of, ghosts, levels_of, networks_of, nodes_of, usual_levels
from activities.scheduling_others import Others, taken_of
from activities.scheduling_places import held_pods, pods_of
from activities.scheduling_rows import Cells, batch_of, count, print_of, print_of_all, priority_of, same, same_places
from activities.scheduling_strays import Strays
from definitions.documents import from_data
from policies.scheduling.asking import NOWHERE, STEPS, Asked, Shapes, Words
from policies.scheduling.documents import Scheduling, scheduling
from policies.scheduling.eligible import Displaced
from policies.scheduling.model import Node, Promise, QueueRules, Request, Running, Stop
from policies.scheduling.world import Freeing, Settings, World
from store.base import Document
from store.pool_reads import Gang, Mark

NO_QUEUE = "(none)"  # of jobs that run without a ticket; no queue can be called so
MOST_TOLD = 5000  # gangs that are told when they start, the first in order


class Stale(Exception):
    """What changed cannot be brought into what is kept: build it anew."""


class PoolWorld:
    """One pool. Times are whole seconds since 1970. Raises SpecError for documents that contradict each other."""

    def __init__(
        self, pool: str, whole: Whole, marks: Mapping[str, Mark], now: int, settings: Settings | None = None
    ) -> None:
        self.pool, self.marks = pool, dict(marks)
        documents = [from_data(document, served_only=False) for document in whole.documents]
        self.scheduling = scheduling(documents)
        self.queues = (*self.scheduling.queues, *_gone(self.scheduling, whole.gangs), QueueRules(NO_QUEUE, weight=0))
        self.known = frozenset(rules.name for rules in self.scheduling.queues)
        nodes = nodes_of(pool, whole.nodes, self.scheduling)
        self._nodes = {node.name: node for node in nodes}
        levels = levels_of(nodes, self.scheduling, usual_levels(documents))
        labels = {node.name: node.labels for node in nodes}
        self.shapes = Shapes(Words(self.scheduling.models, levels, networks_of(whole.cluster), labels))
        there = (*nodes, *self._ghosts(nodes, whole.gangs))
        self.world = World(there, tuple(levels.values()), self.queues, settings or SETTINGS)
        self.world.quotas.resize(capacity_of(whole.nodes, self.scheduling))
        self.strays, self.others = Strays(self.world, self.shapes, NO_QUEUE), Others(self.world, NO_QUEUE)
        self.others.bring(taken_of(whole.nodes.get(pool, ())))
        self.rows: dict[str, Gang] = {}
        self.print = 0  # of all gangs together, in no order
        self.documents = digest_of(whole.documents)
        self.touched: set[str] = set()  # queues in which something ended since the last decision
        self._own: Cells = Counter()  # what places of this pool were counted as, where they were counted
        self._foreign: Cells = Counter()  # what other pools' places take of each queue by itself
        self._load(whole, now)

    def follow(self, news: News, now: int) -> None:
        """Bring it in line. Raises Stale when it must be built anew."""
        if any(change.kind == "documents" for change in news.changes):
            raise Stale
        if news.nodes is not None:
            self._take_nodes(news.nodes)
            self.marks = dict(news.marks)
        for job in sorted({change.job for change in news.changes if change.job is not None}):
            self.bring(job, news.gangs.get(job), now)
        self.share(news.used)
        if news.watched is not None:
            self.watch(news.watched, now)
        else:
            self.others.settle(now)

    def bring(self, job: str, row: Gang | None, now: int) -> None:
        """Bring one gang in line with its row; None: it is gone."""
        old = self.rows.get(job)
        if old is not None and row is not None and same(old, row):
            return
        if old is not None and row is not None and same_places(old, row):
            self._ask_again(row)
        else:
            kept = self.world.promises.get(job), self.world.freeing.get(job)
            self._remove(job, now)
            if row is not None:
                self._add(row, now, now)
                self._keep_promise(job, old, *kept)
        self.remember(job, row)

    def remember(self, job: str, row: Gang | None) -> None:
        """What the database says of a gang by now."""
        old = self.rows.pop(job, None)
        for known, sign in ((old, -1), (row, 1)):
            if known is not None:
                self.print ^= print_of(known)
                count(self._own, known, sign)
        if row is not None:
            self.rows[job] = row

    def share(self, used: Mapping[str, Mapping[str, int]]) -> None:
        """Count what other pools take of the queues: what all take without what was counted for this one."""
        quotas, names = self.world.quotas, {rules.name: rules for rules in self.queues}
        others: Cells = Counter()
        for queue, amounts in used.items():
            for resource, amount in amounts.items():
                others[queue, resource] = max(0, amount - self._own[queue, resource])
        direct: Cells = Counter(others)
        for (queue, resource), amount in others.items():
            above = names[queue].parent if queue in names else None
            if above is not None:
                direct[above, resource] -= amount
        now = Counter({cell: amount for cell, amount in direct.items() if amount > 0 and cell[0] in names})
        for cell in sorted({*now, *self._foreign}):
            grown = now[cell] - self._foreign[cell]
            if grown:
                change = quotas.add if grown > 0 else quotas.remove
                change(cell[0], {cell[1]: abs(grown)})
        self._foreign = now

    def watch(self, watched: Watched, now: int) -> None:
        """What nobody tells of: jobs that run without a ticket, and newer checkpoints. Pods of others come after all of
        ours, which say where they are."""
        self.strays.bring(watched.strays, now)
        self.others.settle(now)
        for job, at in watched.saves.items():
            if job in self.world.running:
                self.world.saved(job, int(at.timestamp()))

    def inputs(self) -> Iterable[object]:
        """All that a decision is made from, shortly, for its digest."""
        marks, foreign = sorted(self.marks.items()), sorted(self._foreign.items())
        return (self.pool, self.print, self.documents, marks, foreign)

    def stays(self, victim: str, beneficiary: str | None) -> None:
        """A gang that was to go was not told so; nothing is kept of the places that another one was to get of it."""
        self.world.running[victim] = replace(self.world.running[victim], leaving=False)
        if beneficiary is not None:
            self.world.freeing.pop(beneficiary, None)
            self.world.promises.pop(beneficiary, None)

    def restore(self, job: str, now: int) -> None:
        """A gang was not given what the world has given it by now: it holds what its row says."""
        self._remove(job, now)
        self._add(self.rows[job], now, now)

    def note(self, job: str, row: Gang) -> None:
        """What was told of a gang that goes on waiting; of what it asks and holds the row says the same."""
        self.rows[job] = row

    def request(self, gang: Gang) -> Request:
        asked = Asked(
            job=gang.job,
            queue=gang.queue,
            shape=gang.shape,
            priority=gang.priority % STEPS,
            submitted=int(gang.asked_at.timestamp()),
            limit=gang.limit_seconds,
            reservation=gang.reservation,
        )
        return self.shapes.request(asked, priority_of(gang, self.scheduling.priorities))

    def _take_nodes(self, views: Mapping[str, Sequence[Document]]) -> None:
        """Nodes that only went out of service or came back, and what other pools have. Anything else is built anew."""
        now = {node.name: node for node in nodes_of(self.pool, views, self.scheduling)}
        if now.keys() != self._nodes.keys():
            raise Stale
        changed = [node for name, node in now.items() if node != self._nodes[name]]
        if any(replace(self._nodes[node.name], open=node.open) != node for node in changed):
            raise Stale
        for node in changed:
            self.world.node(node)
        self._nodes = now
        self.others.bring(taken_of(views.get(self.pool, ())))
        self.world.quotas.resize(capacity_of(views, self.scheduling))

    def _load(self, whole: Whole, now: int) -> None:
        world = self.world
        pasts: dict[str, dict[str, float]] = defaultdict(dict)
        until: dict[str, int] = {}
        for used in whole.past:
            pasts[used.queue][used.resource] = used.amount
            until[used.queue] = int(used.at.timestamp())
        for queue, amounts in pasts.items():
            world.usage.remember(queue, amounts, until[queue])
        placed = [gang for gang in whole.gangs if gang.pods is not None]
        waiting = [gang for gang in whole.gangs if gang.pods is None]
        classes, rows = self.scheduling.priorities, self.rows
        world.submit_all(batch_of(waiting, classes, self.request, lambda job: self.request(rows[job])))
        for gang in placed:
            self._add(gang, until.get(gang.queue, now), now)
        rows |= {gang.job: gang for gang in whole.gangs}
        self.print = print_of_all(whole.gangs)
        leaving: dict[str, set[str]] = defaultdict(set)
        for gang in whole.gangs:
            if gang.amounts is not None:
                count(self._own, gang, 1)
        for gang in placed:
            if gang.leaves_for is not None:
                leaving[gang.leaves_for].add(gang.job)
        for gang in waiting:
            if gang.start_at is not None:
                self._restore(gang, frozenset(leaving[gang.job]))
        world.past = [Displaced(left.victim, left.beneficiary, int(left.at.timestamp())) for left in whole.left]

    def _add(self, row: Gang, until: int, now: int) -> None:
        request = self.request(row)
        if row.queue not in self.world.queues:
            raise Stale
        if row.pods is None:
            self.world.submit(request)
            return
        pods = held_pods(request, row)
        if any(pod.node not in self.world.nodes.index for pod in pods):
            raise Stale
        since = now if row.placed_at is None else int(row.placed_at.timestamp())
        running = Running(request, pods, since, leaving=row.state == "leaving")
        self.world.adopt(running, max(until, since))

    def _remove(self, job: str, now: int) -> None:
        if job in self.world.running:
            self.touched.add(self.world.running[job].request.queue)
            self.world.ended(job, now)
        elif job in self.world.waiting.index:
            self.world.withdraw(job)

    def _ask_again(self, row: Gang) -> None:
        """It holds its places as before; what it asks for, or whether it is to go, has changed."""
        running = self.world.running[row.job]
        request = replace(self.request(row), roles=running.request.roles)
        self.world.running[row.job] = replace(running, request=request, leaving=row.state == "leaving")

    def _keep_promise(self, job: str, old: Gang | None, promise: Promise | None, freeing: Freeing | None) -> None:
        """A gang that goes on waiting for the same, and is no less important, keeps what it was promised."""
        number = self.world.waiting.index.get(job)
        if number is None or old is None:
            return
        request = self.world.waiting.request(number)
        before = self.request(old)
        if before.roles != request.roles or before.priority > request.priority or before.limit != request.limit:
            return
        if promise is not None:
            self.world.promises[job] = promise
        if freeing is not None:
            self.world.freeing[job] = replace(freeing, request=request)

    def _restore(self, gang: Gang, victims: frozenset[str]) -> None:
        """What a gang was promised, and who leaves for it."""
        world, planned = self.world, (gang.refusal or {}).get("planned")
        if gang.pods is not None or not planned or gang.start_at is None:
            return
        request = self.request(gang)
        pods, start = pods_of(request, planned), int(gang.start_at.timestamp())
        if any(pod.node not in world.nodes.index for pod in pods):
            return
        end = None if gang.end_at is None else int(gang.end_at.timestamp())
        world.promises[gang.job] = Promise(gang.job, start, end, pods, bool(gang.firm))
        if victims:
            world.freeing[gang.job] = Freeing(request, pods, victims, start)

    def _ghosts(self, nodes: Iterable[Node], gangs: Iterable[Gang]) -> tuple[Node, ...]:
        """Nodes and MIG profiles that are not there any more, and that running gangs still hold."""
        names, profiles = {node.name for node in nodes}, {profile for node in nodes for profile in node.slices}
        placed = [gang for gang in gangs if gang.pods is not None]
        held = {place["node"] for gang in placed for place in (*(gang.pods or ()), *(gang.next_pods or ()))}
        shapes = {role.shape for gang in placed for role in self.request(gang).roles}
        sliced = {profile for shape in shapes for profile, _ in shape.slices} - profiles
        return ghosts(held - names or ({NOWHERE} if sliced else ()), sliced)


SETTINGS = Settings(depth=MOST_TOLD)


def digest_of(parts: Iterable[object]) -> str:
    found = blake2b(digest_size=16)
    for part in parts:
        found.update(repr(part).encode())
    return found.hexdigest()


def _gone(known: Scheduling, gangs: Iterable[Gang]) -> list[QueueRules]:
    """Queues that gangs are in and that are not there any more: nothing starts in them."""
    names = {rules.name for rules in known.queues}
    return [QueueRules(name, stop=Stop.HOLD) for name in sorted({gang.queue for gang in gangs} - names)]
