"""One decision after the other for a pool, with what is kept between them. Loads arrays and the kernels on them."""

from datetime import datetime, timedelta

from activities.scheduling_facts import News, Turn, Whole
from activities.scheduling_verdict import Draft, Teller, draft
from activities.scheduling_world import PoolWorld, Stale
from policies.scheduling.plan import plan
from store.verdicts import Committed

WATCH_EVERY = timedelta(seconds=10)  # how often is looked at what nobody tells of
SOON, LATER = 0.1, 60.0  # seconds until the next decision: when something is left to do, and while anybody waits


class Pool:
    """What one process knows of a pool since its last decision. Not safe for several threads.

    It counts on nobody else having decided since: `continues` tells by the token and the decision's number. Whoever
    gets an exception from here drops it, and builds another one.
    """

    def __init__(self, turn: Turn, whole: Whole, news: News, now: datetime) -> None:
        """Raises PerdureError for documents that contradict each other."""
        self._turn = turn
        self._world = PoolWorld(turn.pool, whole, news.marks, int(now.timestamp()))
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
        if news.watched is not None:
            self._watched = now
        return True

    def decide(self, news: News, now: datetime) -> Draft:
        """What should happen. The world is then as if it had."""
        seconds = int(now.timestamp())
        decision = plan(self._world.world, seconds)
        self._world.world.apply(decision, seconds)
        seen = [change.seq for change in news.changes]
        return draft(self._world, self._teller, decision, self._turn, seen, now)

    def settle(self, draft: Draft, done: Committed, now: datetime) -> None:
        """Be in line with what became of the verdict."""
        self._turn = self._turn._replace(decision=done.decision)
        self._world.touched.clear()
        self._settle_starts(draft, done, now)
        self._settle_departures(draft, done)
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
        if not len(self._world.world.waiting):
            return None
        starts = [] if draft.next_start is None else [draft.next_start - now.timestamp()]
        return min([LATER, *(max(1.0, seconds) for seconds in starts)])

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

    def _settle_departures(self, draft: Draft, done: Committed) -> None:
        for said in draft.verdict.told:
            if said.job in done.dropped:
                self._world.stays(said.job, said.leaves_for)
            else:
                row = self._world.rows[said.job]
                gone = row._replace(state="leaving", leaves_for=said.leaves_for, reason=said.reason)
                self._world.remember(said.job, gone)
