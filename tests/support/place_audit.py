"""An auditor of places that reads none of our tables: which GPUs of which nodes the processes of jobs use, from /proc.

look(home)                    every process of a job below a home
confirmed(processes)          those of them that still live: all of these lived at one moment
wrongs(house, plans, pods)    what must never be, of pods that were there at one moment
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.audit import start_ticks


@dataclass(frozen=True)
class Asked:
    """What a job was submitted with. Amounts are of each of its nodes."""

    queue: str
    nodes: int
    cpus: int
    gpus: int


@dataclass(frozen=True)
class House:
    """What there is: simulated nodes that are all alike, and queues with their limits of `gpus` and `cpus`."""

    nodes: tuple[str, ...]
    cpus: int
    gpus: int
    parents: Mapping[str, str | None]
    limits: Mapping[str, Mapping[str, int]]

    def path(self, queue: str) -> Iterator[str]:
        """The queue and all above it."""
        at: str | None = queue
        while at is not None:
            yield at
            at = self.parents[at]


@dataclass(frozen=True, order=True)
class Pod:
    """One node of an attempt, as its process was told."""

    name: str
    job: str
    attempt: int
    rank: int
    node: str
    devices: tuple[int, ...]


@dataclass(frozen=True)
class Process:
    pod: Pod
    pid: int
    started: int  # clock ticks since boot

    def alive(self) -> bool:
        return start_ticks(self.pid) == self.started


def look(home: Path) -> list[Process]:
    """Every process that was started as part of a job whose run folder is below `home`."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or (started := start_ticks(int(folder.name))) is None:
            continue
        environment = _environment(folder)
        if "PERDURE_JOB" in environment and environment.get("PERDURE_RUN_DIR", "").startswith(f"{home}/"):
            found.append(Process(_pod(environment), int(folder.name), started))
    return found


def confirmed(processes: Iterable[Process]) -> set[Pod]:
    """The pods of those that still live. Each lived from before the end of the look until now."""
    return {process.pod for process in processes if process.alive()}


def wrongs(house: House, plans: Mapping[str, Asked], pods: set[Pod]) -> list[str]:
    """What of these pods contradicts each other, the nodes, or the limits of queues. `plans`: by name of the job."""
    return [
        *_strange(house, plans, pods),
        *_doubled(pods),
        *_overbooked(house, plans, pods),
        *_over_limits(house, plans, pods),
    ]


def half(plans: Mapping[str, Asked], pods: set[Pod]) -> set[tuple[str, int]]:
    """(name, attempt) of gangs of which some pods are there and others are not."""
    there = Counter((pod.name, pod.attempt) for pod in pods)
    return {gang for gang, count in there.items() if count < plans[gang[0]].nodes}


def used(house: House, plans: Mapping[str, Asked], pods: Iterable[Pod]) -> Counter[tuple[str, str]]:
    """(queue, `gpus` or `cpus`) -> what pods use of it, with all queues below."""
    total: Counter[tuple[str, str]] = Counter()
    for pod in pods:
        asked = plans[pod.name]
        for queue in house.path(asked.queue):
            total[queue, "gpus"] += len(pod.devices)
            total[queue, "cpus"] += asked.cpus
    return total


def _strange(house: House, plans: Mapping[str, Asked], pods: set[Pod]) -> Iterator[str]:
    """Pods on nodes, or with GPUs, that are not there, and other than was asked for."""
    for pod in sorted(pods):
        if pod.node not in house.nodes or not set(pod.devices) <= set(range(house.gpus)):
            yield f"{pod} is where nothing is"
        if len(set(pod.devices)) != plans[pod.name].gpus or pod.rank >= plans[pod.name].nodes:
            yield f"{pod} was not asked for"


def _doubled(pods: set[Pod]) -> Iterator[str]:
    """Jobs with two attempts, GPUs with two pods, ranks at two places."""
    attempts = {(pod.job, pod.attempt) for pod in pods}
    yield from _twice("attempts of job", (job for job, _ in attempts))
    yield from _twice("places of rank", ((pod.job, pod.rank) for pod in pods))
    yield from _twice("pods on GPU", ((pod.node, device) for pod in pods for device in pod.devices))


def _overbooked(house: House, plans: Mapping[str, Asked], pods: set[Pod]) -> Iterator[str]:
    cpus: Counter[str] = Counter()
    for pod in pods:
        cpus[pod.node] += plans[pod.name].cpus
    yield from (f"{number} of {house.cpus} CPUs on {node}" for node, number in cpus.items() if number > house.cpus)


def _over_limits(house: House, plans: Mapping[str, Asked], pods: set[Pod]) -> Iterator[str]:
    for (queue, resource), amount in used(house, plans, pods).items():
        limit = house.limits.get(queue, {}).get(resource)
        if limit is not None and amount > limit:
            yield f"queue {queue} uses {amount} {resource} and may use {limit}"


def _twice(what: str, keys: Iterable[object]) -> Iterator[str]:
    yield from (f"{count} {what} {key}" for key, count in Counter(keys).items() if count > 1)


def _environment(folder: Path) -> dict[str, str]:
    try:
        entries = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return {}
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def _pod(environment: Mapping[str, str]) -> Pod:
    devices = environment.get("PERDURE_DEVICES", "")
    return Pod(
        name=environment["PERDURE_JOB_NAME"],
        job=environment["PERDURE_JOB"],
        attempt=int(environment["PERDURE_ATTEMPT"]),
        rank=int(environment["PERDURE_NODE_RANK"]),
        node=environment["PERDURE_NODE"],
        devices=tuple(int(device) for device in devices.split(",") if device),
    )
