"""What really happens to gangs, apart from what planners believe: progress, checkpoints, lost work, who holds what."""

from dataclasses import dataclass, field, replace

from policies.scheduling.model import Node, Pod, Promise, Request
from simulator.pool import Pool
from simulator.trace import Job, milli_gpus


@dataclass(slots=True)
class Gang:
    """A job on its way. `done`: seconds of its work that will not be done again. `held`, `lost`: GPU-milliseconds,
    that is 1/1000 of a GPU for a second: all that it kept from others, and what of that came to nothing."""

    job: Job
    gpus: int
    done: int = 0
    since: int | None = None
    pods: tuple[Pod, ...] = ()
    first_start: int | None = None
    end: int | None = None
    stopped: bool = False  # at its limit, with work undone
    leaving: int | None = None  # since when
    runs: int = 0
    evictions: int = 0
    losses: int = 0
    held: int = 0
    lost: int = 0
    told: list[tuple[int, Promise]] = field(default_factory=list)  # when, and what; only what differs from before

    @property
    def request(self) -> Request:
        """As it is submitted now: of its limit, work that counts is spent."""
        asked = self.job.request
        limit = None if asked.limit is None else asked.limit - self.done
        return asked if not self.done else replace(asked, limit=limit)

    @property
    def length(self) -> int:
        """Seconds that it will run when it starts now and nothing happens."""
        left = self.job.seconds - self.done
        limit = self.job.request.limit
        return left if limit is None else min(left, limit - self.done)


class Ledger:
    """All gangs of a simulation, and the nodes under them. Refuses (`Overbooked`) what no cluster could do."""

    def __init__(self, nodes: tuple[Node, ...], checkpoint_every: int) -> None:
        self.pool = Pool(nodes)
        self.gangs: dict[str, Gang] = {}
        self.waiting: dict[str, Gang] = {}
        self.running: dict[str, Gang] = {}
        self.used = 0  # 1/1000 of a GPU
        self._checkpoint_every = checkpoint_every

    def arrive(self, job: Job) -> Gang:
        gang = Gang(job, milli_gpus(job.request.roles))
        self.gangs[job.request.id] = self.waiting[job.request.id] = gang
        return gang

    def start(self, identity: str, pods: tuple[Pod, ...], now: int) -> Gang:
        """Raises KeyError for a gang that does not wait, ValueError when not every pod of it was placed."""
        gang = self.waiting.pop(identity)
        counts = [sum(pod.role == number for pod in pods) for number in range(len(gang.job.request.roles))]
        if counts != [role.count for role in gang.job.request.roles]:
            raise ValueError(f"{identity} was to start with {counts} pods")
        self.pool.take(gang.job.request, pods)
        self.running[identity] = gang
        self.used += gang.gpus
        gang.pods, gang.since, gang.leaving = pods, now, None
        gang.first_start = now if gang.first_start is None else gang.first_start
        gang.runs += 1
        return gang

    def end(self, gang: Gang, now: int) -> None:
        """It has done its work, or its limit is reached."""
        ran = self._leave(gang, now)
        gang.done += ran
        gang.end = now
        gang.stopped = gang.done < gang.job.seconds

    def evict(self, identity: str, now: int) -> Gang:
        """It is told to go: makes a checkpoint, does nothing more, and keeps its nodes until it has gone."""
        gang = self.running[identity]
        if gang.leaving is not None:
            raise ValueError(f"{identity} was told to go already")
        gang.leaving = now
        gang.evictions += 1
        return gang

    def gone(self, gang: Gang, now: int) -> None:
        """One that was told to go has gone, and waits again. What it held after its checkpoint came to nothing."""
        since, leaving = gang.since, gang.leaving
        ran = self._leave(gang, now)
        if since is None or leaving is None:
            raise ValueError(f"{gang.job.request.id} was not told to go")
        kept = leaving - since
        gang.done += kept
        gang.lost += (ran - kept) * gang.gpus
        self.waiting[gang.job.request.id] = gang

    def broken(self, gang: Gang, now: int) -> None:
        """A node under it has gone: it goes on from its last periodic checkpoint, one day."""
        if gang.leaving is not None:
            self.gone(gang, now)
            return
        ran = self._leave(gang, now)
        kept = ran // self._checkpoint_every * self._checkpoint_every
        gang.done += kept
        gang.losses += 1
        gang.lost += (ran - kept) * gang.gpus
        self.waiting[gang.job.request.id] = gang

    def on(self, node: str) -> list[Gang]:
        """Gangs with pods on a node."""
        return [gang for gang in self.running.values() if any(pod.node == node for pod in gang.pods)]

    def promise(self, promise: Promise, now: int) -> None:
        """Note what a gang that never ran yet is told, when it is not what it was told before."""
        gang = self.waiting[promise.request]
        if gang.first_start is None and (not gang.told or _differs(gang.told[-1][1], promise)):
            gang.told.append((now, promise))

    def _leave(self, gang: Gang, now: int) -> int:
        """Seconds since its start, after which it holds nothing."""
        if gang.since is None:
            raise ValueError(f"{gang.job.request.id} does not run")
        ran = now - gang.since
        del self.running[gang.job.request.id]
        self.pool.give(gang.job.request, gang.pods)
        self.used -= gang.gpus
        gang.held += ran * gang.gpus
        gang.since, gang.pods = None, ()
        return ran


def _differs(before: Promise, now: Promise) -> bool:
    return (before.start, before.firm) != (now.start, now.firm)
