"""One decision after the other for a pool, with what is kept between them. Loads arrays and the kernels on them."""

from dataclasses import replace
from datetime import datetime, timedelta

from activities.scheduling_facts import News, Turn, Whole
from activities.scheduling_sizes import keeps_its_size, makes_way
from activities.scheduling_verdict import Draft, Teller, draft
from activities.scheduling_windows import PoolWindows
from activities.scheduling_world import SETTINGS, PoolWorld, Stale
from policies.scheduling.elastic import Pace
from policies.scheduling.growing import next_growth
from policies.scheduling.plan import plan
from store.verdicts import Committed

WATCH_EVERY = timedelta(seconds=10)  # how often is looked at what nobody tells of
SOON, LATER = 0.1, 60.0  # seconds until the next decision: when something is left to do, and while anybody waits


class Pool:
    """What one process knows of a pool since its last decision. Not safe for several threads.

    It counts on nobody else having decided since: `continues` tells by the token and the decision's number. Whoever
    gets an exception from here drops it, and builds another one.
    """

    def __init__(
        self, turn: Turn, whole: Whole, news: News, now: datetime, resize_every: timedelta | None = None
    ) -> None:
        """`resize_every`: how often a gang's size may change, at most. Raises PerdureError for documents that
        contradict each other."""
        self._turn = turn
        pace = SETTINGS.pace if resize_every is None else Pace(int(resize_every.total_seconds()))
        settings = replace(SETTINGS, pace=pace)
        self._world = PoolWorld(turn.pool, whole, news.marks, int(now.timestamp()), settings)
        self._windows = PoolWindows(self._world, whole, int(now.timestamp()))
        self._teller = Teller()
        self._watched = now
        self._take_in(news, now)

    @property
    def world(self) -> PoolWorld:
        return self._world

    def continues(self, turn: Turn) -> bool:
        return (turn.token, turn.decision) == (self._turn.token + 1, self._turn.decision)

    def watches(self, now: datetime) -> bool:
        return now - self._watched >= WATCH_EVERY

    def follow(self, turn: Turn, news: News, now: datetime) -> bool:
        """Be in line with the news; False when that needs another one."""
        self._turn = turn
        try:
            self._world.follow(news, int(now.timestamp()))
        except Stale:
            return False
        self._windows.follow(news, int(now.timestamp()))
        if news.watched is not None:
            self._watched = now
        return True

    def decide(self, news: News, now: datetime) -> Draft:
        """What should happen. The world is then as if it had."""
        seconds = int(now.timestamp())
        self._windows.before(seconds)
        decision = self._windows.after(plan(self._world.world, seconds), seconds)
        self._world.world.apply(decision, seconds)
        seen = [change.seq for change in news.changes]
        return draft(self._world, self._windows, self._teller, decision, self._turn, seen, now)

    def settle(self, draft: Draft, done: Committed, now: datetime) -> None:
        """Be in line with what became of the verdict."""
        self._turn = self._turn._replace(decision=done.decision)
        self._world.touched.clear()
        self._windows.settle(done.kept)
        self._settle_starts(draft, done, now)
        self._settle_departures(draft, done, int(now.timestamp()))
        for said, row, what in draft.waits:
            told = row._replace(
                position=said.position, cause=said.cause, refusal=said.refusal, reason=said.reason,
                start_at=said.start_at, end_at=said.end_at, firm=said.firm,
            )  # fmt: skip
            self._world.note(said.job, told)
            self._teller.said[said.job] = what
        self._teller.forget(self._world)

    def wake_after(self, draft: Draft, done: Committed, news: News, now: datetime) -> float | None:
        """Seconds until the next decision is due; None: not before there are news."""
        if done.dropped or news.more or self._teller.owing:
            return SOON
        window = self._windows.next_change(int(now.timestamp()))
        growth = next_growth(self._world.world, int(now.timestamp()))
        due = [max(0.0, at - now.timestamp()) for at in (window, growth) if at is not None]
        if not len(self._world.world.waiting):
            return min(due, default=None)
        starts = [] if draft.next_start is None else [draft.next_start - now.timestamp()]
        return min([LATER, *due, *(max(1.0, seconds) for seconds in starts)])

    @property
    def waiting(self) -> int:
        return len(self._world.world.waiting)

    def _take_in(self, news: News, now: datetime) -> None:
        """The rest of what it is built from."""
        self._world.share(news.used)
        if news.watched is not None:
            self._world.watch(news.watched, int(now.timestamp()))

    def _settle_starts(self, draft: Draft, done: Committed, now: datetime) -> None:
        """One that was dropped waits as before: a change says why, or the next look at what queues use does."""
        for said in draft.verdict.given:
            row = self._world.rows[said.job]
            if said.job not in done.given:
                self._world.world.ended(said.job, int(now.timestamp()))
                self._world.world.submit(self._world.request(row))
                continue
            path = draft.verdict.paths[row.queue]
            held = row._replace(
                state="placed", placed_at=now, pods=[pod.model_dump(mode="json") for pod in said.pods],
                amounts={"path": list(path), "of": dict(said.amounts)}, reason=said.reason, position=None,
                cause=None, refusal=None, start_at=None, end_at=None, firm=None, leaves_for=None,
            )  # fmt: skip
            self._world.remember(said.job, held)

    def _settle_departures(self, draft: Draft, done: Committed, seconds: int) -> None:
        for said in draft.verdict.told:
            if said.job in done.dropped:
                keeps_its_size(self._world, said, seconds)
            else:
                makes_way(self._world, said)
