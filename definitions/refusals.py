"""Fields that are understood and not served where the job is to run: refused when set, with a code that names what is
missing.

Every field of a job either has a behaviour or stands in one of these tables; a test holds them apart. What depends on
the queues of an installation is decided when a job is accepted (policies/scheduling/admission.py).
"""

from typing import NamedTuple

from pydantic.fields import FieldInfo

from definitions.job import JobSpec
from definitions.job_resources import WorkloadKind
from definitions.job_workload import WorkdirMode
from definitions.spec_errors import SpecIssue
from definitions.spec_fields import Loc
from definitions.spec_types import SpecModel

SCHEDULER = "the scheduler"
NOT_HERE = "which this installation does not have"


class Refusal(NamedTuple):
    """`only`: the one value that is refused; None: every value but the default. `queued`: served for a job that names a
    queue, since the scheduler then acts on it."""

    code: str
    subsystem: str
    instead: str
    lacking: str = NOT_HERE
    only: str | None = None
    queued: bool = False


def _needs_cluster(because: str) -> Refusal:
    return Refusal("PD-1500", "a cluster", f"set cluster: NAME, or remove it; {because}", "and this job names none")


def _needs_queue(instead: str) -> Refusal:
    lacking = "and this job names no queue whose jobs pass it"
    return Refusal("PD-1501", SCHEDULER, f"set queue: NAME, or {instead}", lacking, queued=True)


_NO_TOPOLOGY = _needs_queue("remove it; on a cluster, write placement.affinity by topology labels")
_NO_FABRIC = Refusal("PD-1501", SCHEDULER, "remove it; on a cluster, write placement.affinity by labels of the fabric")
_NO_TEAMS = Refusal("PD-1502", "people and teams", "remove it and use a label such as team: NAME")
_NO_NEWS = Refusal("PD-1503", "notifications", "remove it and follow the job's events")
_NO_MODELS = Refusal("PD-1504", "the model registry", "remove it and name the model in args or env")
_NO_SERIES = Refusal("PD-1505", "experiments and profiling", "remove it and group runs by a label")
_NO_FEDERATION = Refusal("PD-1507", "federation of clusters", "remove it and name one cluster: cluster: NAME")

_PROCESSES = _needs_cluster("local jobs are processes on this machine")
_NO_IMAGE = _needs_cluster("local jobs run in the submitter's own environment")
_NO_VOLUME = _needs_cluster("local jobs read and write this machine's folders")
_ONE_NETWORK = _needs_cluster("local processes talk over the loopback interface")
_NO_HOOK = _needs_cluster("local jobs are asked to save through control.json")
_NO_PLACE = Refusal("PD-1501", SCHEDULER, "remove it, or name a cluster; every local process runs on this machine")
_NO_GPUS = _needs_queue("set gpus: 0, or name a cluster; local GPUs are assigned by the scheduler")
_NO_COUNTS = _needs_queue("remove it, or name a cluster; in a queue it is counted, and the machine's own limits apply")
_NO_LIMITS = Refusal(
    "PD-1506", "limits on local processes", "remove it, or name a cluster; the machine's own limits apply"
)
_THIS_MACHINE = Refusal(
    "PD-1508",
    "this machine's folders",
    "set workdir.mode: snapshot, whose bytes every pod gets",
    "and a pod of a cluster does not see them",
    only=WorkdirMode.LIVE,
)
_ONE_WORKLOAD = Refusal(
    "PD-1509",
    "a StatefulSet",
    "set workloadKind: job, or remove it; with mode: service each rank is restarted in place",
    "and the pods of every job, a service's too, are kept by one indexed Job",
    only=WorkloadKind.STATEFULSET,
)

# By path below `spec`. An entry covers the field and everything below it. This table: wherever the job runs.
REFUSALS: dict[str, Refusal] = {
    "model": _NO_MODELS,
    "placement.topology": _NO_TOPOLOGY,
    "placement.fabricAware": _NO_FABRIC,
    "team": _NO_TEAMS,
    "federation": _NO_FEDERATION,
    "hooks": _NO_NEWS,
    "notifications": _NO_NEWS,
    "experiment": _NO_SERIES,
    "profiling": _NO_SERIES,
}
# For a job that names no cluster: processes of one machine.
LOCAL_REFUSALS: dict[str, Refusal] = {
    "resources.gpus": _NO_GPUS,
    "resources.gpuType": _NO_GPUS,
    "resources.gpuMemory": _NO_GPUS,
    "resources.cpus": _NO_COUNTS,
    "resources.memory": _NO_COUNTS,
    "resources.ephemeralStorage": _NO_LIMITS,
    "resources.sharedMemory": _NO_LIMITS,
    "image": _NO_IMAGE,
    "imagePullPolicy": _NO_IMAGE,
    "storage": _NO_VOLUME,
    "volumes": _NO_VOLUME,
    "volumeMounts": _NO_VOLUME,
    "network": _ONE_NETWORK,
    "placement.nodeSelector": _PROCESSES,
    "placement.tolerations": _PROCESSES,
    "placement.affinity": _PROCESSES,
    "placement.pin": _NO_PLACE,
    "placement.spread": _NO_PLACE,
    "workloadKind": _PROCESSES,
    "checkpoints.command": _NO_HOOK,
    "checkpoints.directory": _NO_HOOK,
    "checkpoints.grace": _NO_HOOK,
}
# For a job that runs in pods.
CLUSTER_REFUSALS: dict[str, Refusal] = {
    "workdir.mode": _THIS_MACHINE,
    "workloadKind": _ONE_WORKLOAD,
}


def refused_fields(spec: JobSpec, at: Loc = ("spec",)) -> list[SpecIssue]:
    """Every field of the spec that is set to something that nothing would act on where it is to run. `at`: where the
    spec is."""
    here = CLUSTER_REFUSALS if spec.on_cluster else LOCAL_REFUSALS
    return [
        SpecIssue(
            code=refusal.code,
            loc=(*at, *path.split(".")),
            at_key=True,
            what=f"{_shown(path, refusal)} needs {refusal.subsystem}, {refusal.lacking}",
            fix=refusal.instead,
        )
        for path, refusal in (REFUSALS | here).items()
        if _is_refused(spec, path, refusal)
    ]


def refusal_of(path: str) -> Refusal | None:
    """The refusal that covers a path below `spec` (`array.limit`, `hooks[]`) for every job, if any."""
    found = _covering(REFUSALS, path)
    return None if found is not None and found.queued else found


def served_with(path: str) -> tuple[str, ...]:
    """What a job must name for a field to be served: one of these words; none, when there is no such condition."""
    if (found := _covering(LOCAL_REFUSALS, path)) is not None:
        return ("cluster", "queue") if found.queued else ("cluster",)
    found = _covering(REFUSALS, path)
    return ("queue",) if found is not None and found.queued else ()


def _covering(table: dict[str, Refusal], path: str) -> Refusal | None:
    plain = path.replace("[]", "").replace(".*", "")
    return next((r for known, r in table.items() if plain == known or plain.startswith(f"{known}.")), None)


def _shown(path: str, refusal: Refusal) -> str:
    return path if refusal.only is None else f"{path}: {refusal.only}"


def _is_refused(spec: JobSpec, path: str, refusal: Refusal) -> bool:
    if refusal.queued and spec.queue is not None:
        return False
    owner: SpecModel = spec
    *parents, last = path.split(".")
    for alias in parents:
        owner = getattr(owner, _field(owner, alias)[0])
    name, info = _field(owner, last)
    value = getattr(owner, name)
    return bool(value == refusal.only if refusal.only is not None else value != info.default)


def _field(owner: SpecModel, alias: str) -> tuple[str, FieldInfo]:
    return next((name, info) for name, info in type(owner).model_fields.items() if info.alias == alias)
