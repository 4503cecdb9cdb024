"""Fields that are understood and not served here: refused when set, with a code that names what is missing.

Every field of a job either has a behaviour or stands in this table; a test holds the two apart.
"""

from typing import NamedTuple

from pydantic.fields import FieldInfo

from definitions.job import JobSpec
from definitions.spec_errors import SpecIssue
from definitions.spec_fields import Loc
from definitions.spec_types import SpecModel

KUBERNETES = "the Kubernetes runtime"
SCHEDULER = "the scheduler"


class Refusal(NamedTuple):
    code: str
    subsystem: str
    instead: str


_CLUSTER_ONLY = Refusal("PD-1500", KUBERNETES, "remove it; local jobs are processes on this machine")
_NO_IMAGE = Refusal("PD-1500", KUBERNETES, "remove it; local jobs run in the submitter's own environment")
_NO_VOLUME = Refusal("PD-1500", KUBERNETES, "remove it; local jobs read and write this machine's folders")
_ONE_NETWORK = Refusal("PD-1500", KUBERNETES, "remove it; local processes talk over the loopback interface")
_NO_HOOK = Refusal("PD-1500", KUBERNETES, "remove it; the job is asked to save through control.json")
_NO_QUEUE = Refusal("PD-1501", SCHEDULER, "remove it; local jobs start as soon as they are accepted")
_ONE_SIZE = Refusal("PD-1501", SCHEDULER, "remove it; a job here keeps the size that nodes gives it")
_NO_PLACE = Refusal("PD-1501", SCHEDULER, "remove it; every process runs on this machine")
_NO_GPUS = Refusal("PD-1501", SCHEDULER, "set gpus: 0; local GPUs are assigned by the scheduler")
_NO_ARRAY = Refusal("PD-1501", SCHEDULER, "remove it and submit the jobs one by one")
_NO_ORDER = Refusal("PD-1501", SCHEDULER, "remove it and submit this job when the other has ended (jobs wait)")
_NO_TEAMS = Refusal("PD-1502", "people and teams", "remove it and use a label such as team: NAME")
_NO_NEWS = Refusal("PD-1503", "notifications", "remove it and follow the job's events")
_NO_MODELS = Refusal("PD-1504", "the model registry", "remove it and name the model in args or env")
_NO_SERIES = Refusal("PD-1505", "experiments and profiling", "remove it and group runs by a label")
_NO_LIMITS = Refusal("PD-1506", "limits on local processes", "remove it; the machine's own limits apply")
_ONE_CLUSTER = Refusal("PD-1507", "federation of clusters", "remove it; the job runs on this machine")

# By path below `spec`. An entry covers the field and everything below it.
REFUSALS: dict[str, Refusal] = {
    "elastic": _ONE_SIZE,
    "resources.gpus": _NO_GPUS,
    "resources.gpuType": _NO_GPUS,
    "resources.gpuMemory": _NO_GPUS,
    "resources.cpus": _NO_LIMITS,
    "resources.memory": _NO_LIMITS,
    "resources.ephemeralStorage": _NO_LIMITS,
    "resources.sharedMemory": _NO_LIMITS,
    "image": _NO_IMAGE,
    "imagePullPolicy": _NO_IMAGE,
    "model": _NO_MODELS,
    "storage": _NO_VOLUME,
    "volumes": _NO_VOLUME,
    "volumeMounts": _NO_VOLUME,
    "network": _ONE_NETWORK,
    "placement.nodeSelector": _CLUSTER_ONLY,
    "placement.tolerations": _CLUSTER_ONLY,
    "placement.affinity": _CLUSTER_ONLY,
    "placement.pin": _NO_PLACE,
    "placement.spread": _NO_PLACE,
    "placement.topology": _NO_PLACE,
    "placement.fabricAware": _NO_PLACE,
    "queue": _NO_QUEUE,
    "priority": _NO_QUEUE,
    "priorityClass": _NO_QUEUE,
    "reservation": _NO_QUEUE,
    "team": _NO_TEAMS,
    "workloadKind": _CLUSTER_ONLY,
    "cluster": _ONE_CLUSTER,
    "federation": _ONE_CLUSTER,
    "checkpoints.command": _NO_HOOK,
    "checkpoints.directory": _NO_HOOK,
    "checkpoints.grace": _NO_HOOK,
    "array": _NO_ARRAY,
    "after": _NO_ORDER,
    "hooks": _NO_NEWS,
    "notifications": _NO_NEWS,
    "experiment": _NO_SERIES,
    "profiling": _NO_SERIES,
}


def refused_fields(spec: JobSpec, at: Loc = ("spec",)) -> list[SpecIssue]:
    """Every field of the spec that is set to something and that nothing here would act on. `at`: where the spec is."""
    return [
        SpecIssue(
            code=refusal.code,
            loc=(*at, *path.split(".")),
            at_key=True,
            what=f"{path} needs {refusal.subsystem}, which this installation does not have",
            fix=refusal.instead,
        )
        for path, refusal in REFUSALS.items()
        if _is_set(spec, path)
    ]


def refusal_of(path: str) -> Refusal | None:
    """The refusal that covers a path below `spec` (`storage.request`, `volumes[].name`), if any."""
    plain = path.replace("[]", "").replace(".*", "")
    return next((r for known, r in REFUSALS.items() if plain == known or plain.startswith(f"{known}.")), None)


def _is_set(spec: JobSpec, path: str) -> bool:
    owner: SpecModel = spec
    *parents, last = path.split(".")
    for alias in parents:
        owner = getattr(owner, _field(owner, alias)[0])
    name, info = _field(owner, last)
    return bool(getattr(owner, name) != info.default)


def _field(owner: SpecModel, alias: str) -> tuple[str, FieldInfo]:
    return next((name, info) for name, info in type(owner).model_fields.items() if info.alias == alias)
