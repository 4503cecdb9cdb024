"""Room on nodes while it is tried out who might go: plain lists, because one victim changes a handful of nodes only."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from policies.scheduling.eligible import gpu_parts, lost_work
from policies.scheduling.model import WHOLE, Pod, Running, Shape
from policies.scheduling.nodes import Nodes
from policies.scheduling.sizes import given_up

Part = tuple[Shape, tuple[int, ...]]  # a pod on a node, with its devices


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """What may go at once: a gang, or with `keep` what it has above that size. Compared by identity."""

    victim: int  # row of the running gangs
    keep: tuple[int, ...] | None
    pods: tuple[Pod, ...]
    parts: Mapping[int, tuple[Part, ...]]  # by node
    lost: int  # work that is done again, in seconds times 1/1000 GPU
    size: int  # GPUs that the gang holds, in 1/1000
    priority: int
    since: int
    apart: str


def unit(nodes: Nodes, running: Sequence[Running], victim: int, keep: tuple[int, ...] | None, now: int) -> Unit:
    """A gang that shrinks starts again from its last checkpoint with all of its pods, so it loses as much work."""
    gang = running[victim]
    pods = gang.pods if keep is None else given_up(gang, keep)
    parts: dict[int, tuple[Part, ...]] = {}
    for pod in pods:
        row = nodes.index.get(pod.node)  # a node that is lost, with pods not yet known to be gone, gives back nothing
        if row is not None:
            parts[row] = (*parts.get(row, ()), (gang.request.roles[pod.role].shape, pod.devices))
    request = gang.request
    loss, size = lost_work(gang, now), gpu_parts(gang)
    return Unit(victim, keep, pods, parts, loss, size, request.priority, gang.since, request.apart)


class Room:
    """What is free on each node. `word`: of gangs with which the beneficiary shares no node."""

    def __init__(self, nodes: Nodes, word: str) -> None:
        self.cpu: list[int] = nodes.free_cpu.tolist()
        self.memory: list[int] = nodes.free_memory.tolist()
        self.gpu: list[list[int]] = nodes.free_gpu.tolist()
        self.slices: list[list[int]] = nodes.free_slices.tolist()
        self.profiles = {profile: column for column, profile in enumerate(nodes.profiles)}
        self.word = word
        self.strangers: dict[int, int] = {}  # pods with the same word, by node
        if word and word in nodes.words:
            self.strangers = {row: count for row, count in enumerate(nodes.words[word].tolist()) if count}

    def free(self, gone: Unit) -> None:
        for row in gone.parts:
            self.part(gone, row, 1)

    def hold(self, gone: Unit) -> None:
        """It stays after all."""
        for row in gone.parts:
            self.part(gone, row, -1)

    def put(self, shape: Shape, row: int, devices: Sequence[int], sign: int) -> None:
        """With sign 1 such a pod is gone from the node, with -1 it is there."""
        self.cpu[row] += sign * shape.cpu
        self.memory[row] += sign * shape.memory
        amount, gpu = sign * shape.share, self.gpu[row]
        for device in devices:
            gpu[device] += amount
        for profile, count in shape.slices:
            self.slices[row][self.profiles[profile]] += sign * count

    def fit(self, shape: Shape, row: int) -> int:
        """How many such pods the node takes now, by amounts alone."""
        if self.strangers and self.strangers.get(row):
            return 0
        found = self.cpu[row] // shape.cpu if shape.cpu else 1 << 31
        if shape.memory:
            found = min(found, self.memory[row] // shape.memory)
        if shape.gpus:
            gpu = self.gpu[row]
            share = shape.share
            devices = gpu.count(WHOLE) if share == WHOLE else sum(left // share for left in gpu if left > 0)
            found = min(found, devices // shape.gpus)
        for profile, count in shape.slices:
            column = self.profiles.get(profile)
            found = min(found, 0 if column is None else self.slices[row][column] // count)
        return max(0, found)  # a node that became smaller may be overbooked

    def choose(self, shape: Shape, row: int) -> tuple[int, ...]:
        """Devices for one more such pod: the fullest that have room for it, by number."""
        able = [(left, device) for device, left in enumerate(self.gpu[row]) if left >= shape.share]
        return tuple(sorted(device for _, device in sorted(able)[: shape.gpus]))

    def part(self, gone: Unit, row: int, sign: int) -> None:
        """Its pods on one node go (1) or come back (-1)."""
        for shape, devices in gone.parts[row]:
            self.put(shape, row, devices, sign)
        if self.word and gone.apart == self.word:
            self.strangers[row] = self.strangers.get(row, 0) - sign * len(gone.parts[row])


class Field:
    """Where pods of one role may be and how many of them fit now: in all, or with slices by domain of their level."""

    def __init__(self, shape: Shape, need: int, spread: bool, at: Mapping[int, int], sliced: tuple[int, Sequence[int]]):
        """`at`: rows that count, and how many pods each takes. `sliced`: slice size (0: none) and each row's domain."""
        self.shape, self.need, self.spread = shape, need, spread
        self.size, self.domain = sliced
        self.at: dict[int, int] = {}
        self.total = self.whole = 0
        self.totals: dict[int, int] = {}
        for row, count in at.items():
            self.at[row] = 0
            self._set(row, count)

    def update(self, room: Room, rows: Iterable[int]) -> None:
        at = self.at
        for row in rows:
            if row in at:
                count = room.fit(self.shape, row)
                if count != at[row]:
                    self._set(row, count)

    def enough(self) -> bool:
        if not self.size:
            return self.total >= self.need
        slices, rest = divmod(self.need, self.size)
        if self.whole != slices or not rest:
            return self.whole >= slices
        return any(total % self.size >= rest for total in self.totals.values())

    def reach(self) -> int:
        """How many pods could be placed now, at most `need`."""
        if self.enough():
            return self.need
        if not self.size:
            return self.total
        rest = max((total % self.size for total in self.totals.values()), default=0)
        last = self.need % self.size
        return min(self.whole, self.need // self.size) * self.size + (last if last and rest >= last else 0)

    def choose(self) -> list[int]:
        """A row for each pod in order, the tightest first. Only where there is enough."""
        if not self.size:
            return self._filled(list(self.at), self.need)
        groups: dict[int, list[int]] = {}
        for row in self.at:
            groups.setdefault(self.domain[row], []).append(row)
        slices, rest = divmod(self.need, self.size)
        chosen: list[int] = []
        left = dict(self.totals)
        for domain in sorted(left, key=lambda one: (left[one] % self.size, one)):
            count = min(slices, left[domain] // self.size)
            slices -= count
            taken = count * self.size
            chosen += self._filled(groups[domain], taken)
            left[domain] -= taken
        if rest:
            able = [domain for domain, spare in left.items() if spare >= rest]
            last = min(able, key=lambda one: (left[one], one))
            before = self.totals[last] - left[last]
            chosen += self._filled(groups[last], before + rest)[before:]
        return chosen

    def _set(self, row: int, count: int) -> None:
        if self.spread and count > 1:
            count = 1
        change = count - self.at[row]
        if not change:
            return
        self.at[row] = count
        self.total += change
        if self.size:
            domain = self.domain[row]
            before = self.totals.get(domain, 0)
            self.totals[domain] = before + change
            self.whole += (before + change) // self.size - before // self.size

    def _filled(self, rows: list[int], need: int) -> list[int]:
        chosen: list[int] = []
        for row in sorted(rows, key=lambda one: (self.at[one], one)):
            if len(chosen) >= need:
                break
            chosen += [row] * min(self.at[row], need - len(chosen))
        return chosen
