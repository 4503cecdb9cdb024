"""Whatever jobs and decisions do in whatever order, the counters of queues are what the gangs hold."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from definitions.states import Phase
from store import gangs, jobs, pools, queue_use
from store.tables_jobs import JobRow
from store.verdicts import Given, Told, Verdict
from tests.store.builders import NOW, new_job
from tests.store.scheduling import PODS, POOL, ask

QUEUES = ("a", "b")
TREES: tuple[dict[str, tuple[str, ...]], ...] = (
    {"a": ("a", "top"), "b": ("b", "top")},
    {"a": ("a", "b", "top"), "b": ("b", "top")},
    {"a": ("a",), "b": ("b", "a")},
)
LIMITS = {"top": {"gpu": 9}, "a": {"gpu": 6, "cpu": 8}}
# What may follow what, with whether the attempt is over or a new one begins.
NEXT = {
    Phase.QUEUED: (Phase.QUEUED, Phase.SUSPENDED, Phase.CANCELLED),
    Phase.STARTING: (Phase.RUNNING, Phase.SUSPENDING, Phase.COLLECTING),
    Phase.RUNNING: (Phase.COLLECTING, Phase.SUSPENDING, Phase.RUNNING),
    Phase.SUSPENDING: (Phase.QUEUED, Phase.SUSPENDED, Phase.FAILED),
    Phase.COLLECTING: (Phase.QUEUED, Phase.BACKING_OFF, Phase.SUCCEEDED),
    Phase.SUSPENDED: (Phase.QUEUED, Phase.CANCELLED),
    Phase.BACKING_OFF: (Phase.QUEUED, Phase.CANCELLED),
}
STEP = st.tuples(st.sampled_from(["job", "job", "give", "give", "tell", "tree"]), st.integers(0, 99), st.integers(0, 6))


class World:
    """Four jobs in two queues of one pool, and what each should hold. Runs inside one transaction."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.jobs = [jobs.insert(session, new_job(f"job-{number}")) for number in range(4)]
        self.queued_at = NOW
        self.held: dict[str, tuple[Sequence[str], dict[str, int]]] = {}
        self.tree = TREES[0]
        for job in self.jobs:
            self.follow(job, Phase.QUEUED)

    def follow(self, job: JobRow, phase: Phase) -> None:
        """The job comes to a phase, and the journal says so twice."""
        if phase is Phase.QUEUED and job.phase is not Phase.QUEUED:
            self.queued_at += timedelta(seconds=1)
        if not (phase.has_attempt or (phase is job.phase is Phase.QUEUED)):
            self.held.pop(job.id, None)
        job.phase = phase
        row = gangs.get(self.session, job.tenant, job.project, job.id)
        since = row.asked_at if row is not None and row.attempt == job.attempt + 1 else self.queued_at
        for _repeat in range(2):
            wanted = ask(queue=QUEUES[self.jobs.index(job) % 2])
            gangs.follow(self.session, job, phase, job.attempt, wanted, since if phase is Phase.QUEUED else None)

    def job(self, which: int, choice: int) -> None:
        job = self.jobs[which % len(self.jobs)]
        if job.phase is Phase.QUEUED and job.id in self.held and choice % 2:
            job.attempt += 1
            self.follow(job, Phase.STARTING)
        elif following := NEXT.get(job.phase):
            self.follow(job, following[choice % len(following)])

    def give(self, which: int, amount: int) -> None:
        """Decide about several gangs at once, also about some that cannot be given anything."""
        rows = [row for number, row in enumerate(gangs.rows(self.session, POOL)) if which >> number & 1]
        amounts = {"gpu": amount, "cpu": which % 3}
        starts = tuple(Given(row.job, row.version, row.attempt, PODS, amounts, "fits") for row in rows)
        waiting = {row.job: row.queue for row in rows if row.state == "waiting"}
        before = queue_use.used(self.session)
        made = self.commit(Verdict(given=starts, paths=self.tree, limits=LIMITS))
        assert made <= waiting.keys()
        for job in made:
            self.held[job] = (self.tree[waiting[job]], amounts)
        for queue, limit in LIMITS.items():
            for resource, most in limit.items():
                now = queue_use.used(self.session).get(queue, {}).get(resource, 0)
                assert now <= max(most, before.get(queue, {}).get(resource, 0))

    def tell(self, which: int, _choice: int) -> None:
        rows = [row for number, row in enumerate(gangs.rows(self.session, POOL)) if which >> number & 1]
        self.commit(Verdict(told=tuple(Told(row.job, row.version, row.attempt, None, "goes") for row in rows)))

    def commit(self, verdict: Verdict) -> frozenset[str]:
        token = pools.take(self.session, POOL)
        row = pools.get(self.session, POOL)
        assert row is not None
        made = pools.commit(self.session, POOL, token, row.decision, verdict, NOW)
        self.session.expire_all()
        return made.given

    def turn(self, which: int, _choice: int) -> None:
        self.tree = TREES[which % len(TREES)]

    def check(self) -> None:
        expected: Counter[tuple[str, str]] = Counter()
        for path, amounts in self.held.values():
            expected.update({(queue, resource): amount for queue in path for resource, amount in amounts.items()})
        found = queue_use.used(self.session)
        assert {(queue, name): amount for queue, of in found.items() for name, amount in of.items()} == +expected
        assert queue_use.recount(self.session) == found
        assert {row.job for row in gangs.rows(self.session, POOL) if row.pods is not None} == self.held.keys()
        assert not any(gangs.get(self.session, *_key(job)) for job in self.jobs if job.phase.is_final)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEP, max_size=30))
def test_counters_are_what_the_gangs_hold(engine: Engine, steps: list[tuple[str, int, int]]) -> None:
    with Session(engine, expire_on_commit=False) as session:
        world = World(session)
        does = {"job": world.job, "give": world.give, "tell": world.tell, "tree": world.turn}
        for kind, which, choice in steps:
            does[kind](which, choice)
            world.check()
        session.rollback()


def _key(job: JobRow) -> tuple[str, str, str]:
    return job.tenant, job.project, job.id
