"""A pool through random arrivals, ends, losses of nodes and departures: what must hold after every round.

What is checked is counted again from descriptions of nodes and from places, with none of the scheduler's own arrays.
"""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from policies.scheduling.model import Cause, Decision, QueueRules, Quota, Refusal, Request
from policies.scheduling.plan import plan
from policies.scheduling.world import World
from tests.policies.scheduling.limit_recount import over_limits
from tests.policies.scheduling.plan_parts import LEVELS, gang, machines
from tests.policies.scheduling.recount import Placed, faults

NODES = 4
LIMIT = 20_000  # of the queue that has one
GUARANTEE = 8_000
QUEUES = (
    QueueRules("plain"),
    QueueRules("limited", quotas={"gpu": Quota(limit=LIMIT)}),
    QueueRules("owner", quotas={"gpu": Quota(guarantee=GUARANTEE)}),
    QueueRules("strict", strict=True),
)
WAITS = {Cause.EVICTING, Cause.PROMISED, Cause.CAPACITY, Cause.TOPOLOGY}


class Pool(RuleBasedStateMachine):
    """Times only go forward, and what was told to go goes when the machine says so."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.made = 0
        self.world = World(machines(NODES, rack=2), LEVELS, QUEUES)
        self.last: Decision | None = None
        self.firm: dict[str, int] = {}

    @rule(
        queue=st.sampled_from([queue.name for queue in QUEUES]),
        pods=st.integers(1, 5),
        gpus=st.sampled_from([1, 2, 4, 8]),
        limit=st.sampled_from([None, 60, 600, 3600]),
        priority=st.sampled_from([0, 0, 0, 5]),
        least=st.sampled_from([None, None, 1]),
    )
    def arrive(self, queue: str, pods: int, gpus: int, limit: int | None, priority: int, least: int | None) -> None:
        self.made += 1
        role = {} if least is None else {"role": {"least": least}}
        request = gang(f"g{self.made}", pods, gpus, queue, limit=limit, priority=priority, submitted=self.now, **role)
        self.world.submit(request)
        self.round()

    @precondition(lambda self: any(not gang.leaving for gang in self.world.running.values()))
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        names = sorted(name for name, each in self.world.running.items() if not each.leaving)
        self.world.ended(data.draw(st.sampled_from(names)), self.now)
        self.round()

    @precondition(lambda self: any(gang.leaving for gang in self.world.running.values()))
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        """A victim has gone, and comes back to its queue unless it only gave up a part."""
        names = sorted(name for name, each in self.world.running.items() if each.leaving)
        name = data.draw(st.sampled_from(names))
        request = self.world.running[name].request
        self.world.left(name, self.now)
        if name not in self.world.running:
            self.world.submit(request)
        self.round()

    @rule(node=st.integers(0, NODES - 1), back=st.booleans())
    def node(self, node: int, back: bool) -> None:
        self.firm.clear()
        if back:
            self.world.node(machines(NODES, rack=2)[node])
        else:
            self.world.lost(f"n{node}")
        self.round()

    @rule(seconds=st.sampled_from([1, 30, 600, 4000]))
    def time(self, seconds: int) -> None:
        """What has a limit ends at it: nothing overruns here. All that ends at one moment has before the round."""
        until = self.now + seconds
        while True:
            ends = sorted(
                (each.since + each.request.limit, name)
                for name, each in self.world.running.items()
                if each.request.limit is not None and not each.leaving
            )
            if not ends or ends[0][0] > until:
                break
            self.now = max(self.now, ends[0][0])
            for at, name in ends:
                if at <= self.now:
                    self.world.ended(name, self.now)
            self.round()
        self.now = until
        self.round()

    def round(self) -> None:
        before = self.world.nodes.copy_free()
        waiting = {self.world.waiting.request(number).id for number in self.world.waiting.index.values()}
        decision = plan(self.world, self.now)
        after = self.world.nodes.copy_free()
        assert (before.gpu == after.gpu).all()
        assert (before.cpu == after.cpu).all()
        started = {start.request for start in decision.starts}
        refused = Counter(refusal.request for refusal in decision.refusals)
        assert started | set(refused) == waiting
        assert not started & set(refused)
        assert set(refused.values()) <= {1}
        self.evictions_have_a_place(decision)
        self.reasons_hold(decision)
        self.firm_promises_hold(decision)
        self.world.apply(decision, self.now)
        self.last = decision

    def evictions_have_a_place(self, decision: Decision) -> None:
        """Without the victims there is room for whom they leave for, exactly where it was planned."""
        if not decision.evictions:
            return
        gone = {each.victim for each in decision.evictions}
        left = [
            Placed(each.request, each.pods, 0, None)
            for name, each in self.world.running.items()
            if not each.leaving and name not in gone
        ]
        places = {each.request: each.pods for each in decision.promises}
        for start in decision.starts:
            left.append(Placed(self.request(start.request), start.pods, 0, None))
        for name in {each.beneficiary for each in decision.evictions}:
            left.append(Placed(sized(self.request(name), len(places[name])), places[name], 0, None))
        assert faults(list(self.world.described.values()), LEVELS, left) == []

    def reasons_hold(self, decision: Decision) -> None:
        """Each reason is checked against nodes, places and limits as they are with what has just started."""
        used: Counter[str] = Counter()
        free = {node.name: node.gpus * 1000 if node.open else 0 for node in self.world.described.values()}
        for each in self.world.running.values():
            for pod in each.pods:
                amount = each.request.roles[0].shape.gpus * 1000
                used[each.request.queue] += amount
                free[pod.node] -= amount
        for start in decision.starts:
            request = self.request(start.request)
            used[request.queue] += len(start.pods) * request.roles[0].shape.gpus * 1000
            for pod in start.pods:
                free[pod.node] -= request.roles[0].shape.gpus * 1000
        for refusal in decision.refusals:
            self.reason_holds(refusal, self.request(refusal.request), used, free, decision)

    def reason_holds(
        self, refusal: Refusal, request: Request, used: Counter[str], free: dict[str, int], decision: Decision
    ) -> None:
        role = request.roles[0]
        asks = role.fewest * role.shape.gpus * 1000
        fit = sum(max(0, amount) // (role.shape.gpus * 1000) for amount in free.values())
        if refusal.cause is Cause.LIMIT:
            assert request.queue == "limited"
            assert used["limited"] + asks > LIMIT or decision.evictions
        elif refusal.cause is Cause.NEVER:
            opened = sum(node.gpus // role.shape.gpus for node in self.world.described.values())
            assert role.fewest > opened
        elif refusal.cause is Cause.CAPACITY:
            held = bool(self.world.freeing) or bool(decision.evictions)
            assert fit < role.fewest or held
        elif refusal.cause is Cause.ORDER:
            assert request.queue == "strict"
            assert refusal.behind in {each.request for each in decision.refusals}
        elif refusal.cause is Cause.EVICTING:
            assert request.id in self.world.freeing or request.id in {e.beneficiary for e in decision.evictions}
        else:
            assert refusal.cause is Cause.PROMISED
            assert decision.promises or decision.evictions or decision.starts

    def firm_promises_hold(self, decision: Decision) -> None:
        """Nothing overruns here, so a firm promise only moves earlier; after a loss all are new."""
        made = {each.request: each for each in decision.promises}
        queues = {refusal.request: refusal.cause for refusal in decision.refusals}
        for name, start in self.firm.items():
            if queues.get(name) in WAITS and name in made and made[name].firm:
                assert made[name].start <= start, (name, start, made[name])
        if decision.evictions or self.world.freeing:
            self.firm = {}  # who is told to go ends at another time than was declared
        else:
            self.firm = {name: each.start for name, each in made.items() if each.firm}

    def request(self, name: str) -> Request:
        if name in self.world.running:
            return self.world.running[name].request
        return self.world.waiting.request(self.world.waiting.index[name])

    @invariant()
    def nothing_is_overbooked_and_no_gang_is_there_by_halves(self) -> None:
        places = [Placed(each.request, each.pods, 0, None) for each in self.world.running.values()]
        whole = [replace(each, request=sized(each.request, len(each.pods))) for each in places]
        assert faults(list(self.world.described.values()), LEVELS, whole) == []
        for each in places:
            assert each.request.roles[0].fewest <= len(each.pods) <= each.request.roles[0].count

    @invariant()
    def limits_are_kept(self) -> None:
        used = sum(
            len(each.pods) * each.request.roles[0].shape.gpus * 1000
            for each in self.world.running.values()
            if each.request.queue == "limited"
        )
        assert used <= LIMIT

    @invariant()
    def the_quotas_know_what_runs(self) -> None:
        for queue in QUEUES:
            used = sum(
                len(each.pods) * each.request.roles[0].shape.gpus * 1000
                for each in self.world.running.values()
                if each.request.queue == queue.name
            )
            assert self.world.quotas.used(queue.name, "gpu") == used

    @invariant()
    def plans_do_not_overbook_the_future(self) -> None:
        """Neither nodes nor limits are."""
        if self.last is None or self.world.freeing:
            return
        rows = [
            Placed(sized(each.request, len(each.pods)), each.pods, each.since, self.end_of(each.request, each.since))
            for each in self.world.running.values()
        ]
        for promise in self.last.promises:
            request = sized(self.request(promise.request), len(promise.pods))
            rows.append(Placed(request, promise.pods, promise.start, promise.end))
        opened = {node.name for node in self.world.described.values() if node.open}
        assert over_limits(QUEUES, list(self.world.described.values()), rows, ("gpu",)) == []
        rows = [row for row in rows if all(pod.node in opened for pod in row.pods)]
        assert faults(list(self.world.described.values()), LEVELS, rows) == []

    def end_of(self, request: Request, since: int) -> int | None:
        return None if request.limit is None else max(since + request.limit, self.now + 1)


def sized(request: Request, pods: int) -> Request:
    return replace(request, roles=(replace(request.roles[0], count=pods, least=None),))


@pytest.mark.timeout(300)
def test_a_pool_keeps_its_rules_whatever_happens() -> None:
    run_state_machine_as_test(
        Pool,
        settings=settings(
            max_examples=15,
            stateful_step_count=25,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
