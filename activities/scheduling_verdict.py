"""From what was decided in the arrays to what is written, and told to people."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime

import numpy as np

from activities import scheduling_sizes
from activities.scheduling_facts import Turn
from activities.scheduling_places import place_of
from activities.scheduling_windows import PoolWindows
from activities.scheduling_world import PoolWorld, digest_of
from definitions.decision_record import DecisionRecord, GangPlaced, GangRefused, GangTold
from policies.scheduling import sentences
from policies.scheduling.asking import STEPS
from policies.scheduling.claims import Leave
from policies.scheduling.model import Decision, Eviction, Promise, Refusal, Start
from policies.scheduling.reasons import Refused
from store.base import Document
from store.pool_reads import Gang
from store.verdicts import Given, InWindow, Past, Told, Verdict, Waits

EXACT = 100  # gangs at the head of the order whose numbers are always as they are now
MOST_WAITS = 2000  # written in one decision; the rest follow in the next ones
SHOWN = 20  # gangs that wait which a decision names itself
NUMBERS = tuple(each.name for each in fields(Refusal) if each.name not in ("request", "cause"))
Said = tuple[Refusal, Promise | None]


@dataclass(slots=True)
class Teller:
    """Finds what is new to say of gangs that wait. What was said is remembered, so that saying it again costs nothing.

    Behind the head of the order positions only keep their order, which is enough to tell everybody's place
    (`gang_places`), and how much is free of what a gang needs is told again when anything else of it changes: else one
    start would rewrite every row.
    """

    said: dict[str, Said] = field(default_factory=dict)
    owing: bool = False  # whether something was left to say
    places: dict[str, int] = field(default_factory=dict)  # in the order, of those of whom something was said last

    def waits(self, pool: PoolWorld, decision: Decision, now: int) -> Iterator[tuple[Waits, Gang, Said]]:
        """Each with the row that it is about."""
        refusals = Refused.made_of(decision.refusals)
        promises = {promise.request: promise for promise in decision.promises}
        self.owing, found, last = False, 0, 0
        self.places = {}
        for number, job in enumerate(_ordered(pool, now), 1):
            row, refusal, promise = pool.rows[job], refusals.get(job), promises.get(job)
            last = _position(row.position, number, last)
            if refusal is None or (last == row.position and self._knows(row, number, (refusal, promise), pool)):
                continue
            if found == MOST_WAITS:
                self.owing = True
                return
            found += 1
            self.places[job] = number
            yield _waits(pool, row, last, refusal, promise), row, (refusal, promise)

    def forget(self, pool: PoolWorld) -> None:
        """Of those that wait no longer nothing need be known."""
        if len(self.said) > 2 * len(pool.world.waiting) + 1000:
            waiting = pool.world.waiting.index
            self.said = {job: said for job, said in self.said.items() if job in waiting}

    def _knows(self, row: Gang, number: int, said: Said, pool: PoolWorld) -> bool:
        before = self.said.get(row.job)
        if before is None:
            if row.reason is None or _written(pool, row, *said) != _as_written(row):
                return False
            self.said[row.job] = said
            return True
        if before == said:
            return True
        return number > EXACT and before[1] == said[1] and _without_numbers(before[0]) == _without_numbers(said[0])


@dataclass(frozen=True, slots=True)
class Draft:
    """A verdict before it is committed. `waits`: what it says of whom, with the rows as they are."""

    verdict: Verdict
    starts: tuple[Start, ...]
    waits: tuple[tuple[Waits, Gang, Said], ...]
    next_start: int | None  # the first that was promised


def draft(
    pool: PoolWorld,
    windows: PoolWindows,
    teller: Teller,
    decision: Decision,
    turn: Turn,
    seen: Sequence[int],
    now: datetime,
) -> Draft:
    """What to write of a decision that `pool.world` has applied."""
    seconds = int(now.timestamp())
    given = tuple(_given(pool, start, windows.uses(start, seconds)) for start in decision.starts)
    leaving = (_told(pool, eviction, windows.leaves.get(eviction.victim), seconds) for eviction in decision.evictions)
    told = (*leaving, *(scheduling_sizes.grows(pool, growth) for growth in decision.growths))
    waits = tuple(teller.waits(pool, decision, seconds))
    changed = [*(start.request for start in decision.starts), *(growth.request for growth in decision.growths)]
    touched = pool.touched | {pool.rows[job].queue for job in changed}
    past = tuple(
        Past(queue, resource, amount)
        for queue in sorted(touched)
        for resource, amount in sorted(pool.world.usage.past(queue, seconds).items())
    )
    taking = {pool.rows[job].queue for job in changed}
    paths = {queue: pool.scheduling.path(queue) for queue in sorted(taking) if queue in pool.known}
    named = {queue for path in paths.values() for queue in path}
    verdict = Verdict(
        digest=digest_of((turn.decision, seconds, *pool.inputs(), *windows.inputs())),
        given=given,
        told=told,
        waits=tuple(said for said, _, _ in waits),
        kept=windows.kept(),
        past=past,
        seen=tuple(seen),
        paths=paths,
        limits={rules.name: _limits(pool, rules.name) for rules in pool.queues if rules.name in named},
        document=_document(pool, decision, given, waits, teller.places),
    )
    return Draft(verdict, decision.starts, waits, min((each.start for each in decision.promises), default=None))


def _ordered(pool: PoolWorld, now: int) -> list[str]:
    """Who waits, in the order in which they would start; stopped queues last."""
    waiting, world = pool.world.waiting, pool.world
    waiting.settle()
    if not len(waiting):
        return []
    rank = world.order(now)
    numbers = waiting.sorted
    ordered = numbers[np.lexsort((rank[numbers], rank[numbers] == 0))]
    found: list[str] = waiting.ids[ordered].tolist()
    return found


def _position(before: int | None, number: int, last: int) -> int:
    if number <= EXACT:
        return number
    return before if before is not None and before > last else max(number, last + 1)


def _given(pool: PoolWorld, start: Start, uses: tuple[InWindow, ...]) -> Given:
    row, world = pool.rows[start.request], pool.world
    places = tuple(place_of(world.described, pod) for pod in start.pods)
    nodes = {pod.node for pod in start.pods}
    request = world.running[start.request].request
    asked, simulated = sum(role.count for role in request.roles), any(place.simulated for place in places)
    reason = sentences.starts(len(places), len(nodes), simulated, asked)
    amounts = world.takes(request, start.pods)
    return Given(row.job, row.version, row.attempt, places, amounts, reason, uses)


def _told(pool: PoolWorld, eviction: Eviction, leave: Leave | None, now: int) -> Told:
    """`leave`: where a window of a reservation is why."""
    row = pool.rows[eviction.victim]
    reason = sentences.leaves(_why(pool, eviction), eviction.beneficiary)
    said = Told(row.job, row.version, row.attempt, eviction.beneficiary or None, reason)
    said = scheduling_sizes.shrinks(pool, eviction, said)
    return said if leave is None else replace(said, for_good=leave.for_good, within=max(0, leave.by - now))


def _why(pool: PoolWorld, eviction: Eviction) -> str:
    """Priorities in the words in which people give them: the scheduler's own number holds class and priority."""
    row, other = pool.rows[eviction.victim], pool.rows.get(eviction.beneficiary)
    if other is None or other.queue != row.queue or pool.request(other).priority <= pool.request(row).priority:
        return eviction.why
    return f"it has {_priority(other)}, above {_priority(row)}"


def _priority(row: Gang) -> str:
    of = "no class" if row.priority_class is None else f"class {row.priority_class}"
    return f"priority {row.priority % STEPS} of {of}"


def _waits(pool: PoolWorld, row: Gang, position: int, refusal: Refusal, promise: Promise | None) -> Waits:
    cause, document, reason, start, end, firm = _written(pool, row, refusal, promise)
    return Waits(row.job, row.version, position, cause, document, reason, start, end, firm)


Written = tuple[str, Document, str, datetime | None, datetime | None, bool | None]


def _written(pool: PoolWorld, row: Gang, refusal: Refusal, promise: Promise | None) -> Written:
    """Columns of a row. The planned places are kept with the numbers of the cause: a promise must hold after a restart
    as it did before."""
    told = ((name, getattr(refusal, name)) for name in NUMBERS)
    document = {name: value for name, value in told if value not in ("", None)} | {"cause": refusal.cause.value}
    reason = sentences.reason(refusal, promise) if row.queue in pool.known else sentences.gone(row.queue)
    if promise is None:
        return refusal.cause.value, document, reason, None, None, None
    planned = [{"node": pod.node, "devices": list(pod.devices)} for pod in promise.pods]
    end = None if promise.end is None else _time(promise.end)
    return refusal.cause.value, document | {"planned": planned}, reason, _time(promise.start), end, promise.firm


def _as_written(row: Gang) -> tuple[object, ...]:
    return row.cause, row.refusal, row.reason, row.start_at, row.end_at, row.firm


def _without_numbers(refusal: Refusal) -> tuple[object, ...]:
    return refusal.cause, refusal.resource, refusal.needed, refusal.bound, refusal.at, refusal.behind


def _limits(pool: PoolWorld, queue: str) -> dict[str, int]:
    quotas = pool.world.queues[queue].quotas
    return {resource: quota.limit for resource, quota in quotas.items() if quota.limit is not None}


def _document(
    pool: PoolWorld,
    decision: Decision,
    given: Iterable[Given],
    waits: Sequence[tuple[Waits, Gang, Said]],
    places: Mapping[str, int],
) -> Document:
    """What is kept for people who ask later. Documents of gangs that had to leave are read again (`displaced`)."""
    head = sorted((said for said, _, _ in waits), key=lambda said: places[said.job])
    counts = {
        "nodes": len(pool.world.described),
        "running": len(pool.world.running) - len(pool.others),
        "waiting": len(pool.world.waiting),
        "promised": len(decision.promises),
    }
    record = DecisionRecord(
        placed=tuple(_placed(pool, said) for said in given),
        told=tuple(
            GangTold(
                victim=one.victim,
                beneficiary=one.beneficiary,
                reason=_why(pool, one),
                lost=one.lost,
                keeps=None if one.keep is None else sum(one.keep),
            )
            for one in decision.evictions
        ),
        grown=scheduling_sizes.grown(pool, decision),
        refused=tuple(
            GangRefused(job=said.job, position=places[said.job], cause=said.cause, reason=said.reason)
            for said in head[:SHOWN]
        ),
        causes={each.value: count for each, count in Refused.made_of(decision.refusals).causes().items()},
        counts=counts,
    )
    return record.model_dump(mode="json")


def _placed(pool: PoolWorld, said: Given) -> GangPlaced:
    queue = pool.rows[said.job].queue
    return GangPlaced(job=said.job, queue=queue, attempt=said.attempt, pods=said.pods, amounts=dict(said.amounts))


def _time(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
