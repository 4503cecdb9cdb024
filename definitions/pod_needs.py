"""What an attempt needs of a cluster beside its command: image, resources, volumes, placement. One per node of the job.

Made from a job's document (policies/pod_plan.py), carried by `AttemptLaunch`, turned into objects by the runtime.
"""

from datetime import timedelta

from pydantic import JsonValue

from definitions.job_resources import Network
from definitions.wire import Wire


class PodVolume(Wire):
    """A volume that is there already; `source` is the cluster's own description (`{"persistentVolumeClaim": ...}`)."""

    name: str
    source: dict[str, JsonValue]


class PodMount(Wire):
    name: str
    mount_path: str
    sub_path: str | None = None
    read_only: bool = False


class PodToleration(Wire):
    key: str | None = None
    operator: str = "Equal"
    value: str | None = None
    effect: str | None = None
    toleration_seconds: int | None = None


class RunStorage(Wire):
    """The volume that holds the job's run folder. Its life is its own: it goes when the job is deleted."""

    class_name: str | None = None  # None: the cluster's default class
    bytes: int


class PodNeeds(Wire):
    """Sizes are bytes, processors thousandths (`cpu_millis`), all per node of the job."""

    image: str | None = None  # None: the cluster's default image
    image_pull_policy: str | None = None
    cpu_millis: int | None = None
    memory: int | None = None
    ephemeral_storage: int | None = None
    shared_memory: int | None = None
    gpus: int = 0
    gpu_type: str | None = None
    gpu_memory: int | None = None  # least memory of each GPU
    storage: RunStorage | None = None  # None: the cluster's default for run folders, if it has one
    volumes: tuple[PodVolume, ...] = ()
    mounts: tuple[PodMount, ...] = ()
    network: Network = Network.STANDARD
    node_selector: dict[str, str] = {}
    tolerations: tuple[PodToleration, ...] = ()
    affinity: dict[str, JsonValue] = {}
    spread: bool = False  # no two pods of the job on one node
    nodes: tuple[str, ...] = ()  # run on these only (a scheduler's placement, or `pin` after the first attempt)
    priority_class: str | None = None
    save_command: tuple[str, ...] = ()  # run in the pod before its processes are asked to end
    save_directory: str | None = None
    save_grace: timedelta | None = None
