"""The kind Job: every field that describes one, and the rules between fields.

Which fields are understood but not yet served on this stage says definitions/refusals.py; none is stored and ignored.
"""

from datetime import timedelta
from typing import Literal, Self

from pydantic import Field, model_validator

from definitions.cluster import LOCAL_CLUSTER
from definitions.cluster_types import Image
from definitions.ids import DEFAULT_PROJECT
from definitions.job_checkpoints import Checkpoints
from definitions.job_lifecycle import NOTHING, Artifacts, Progress, Retry
from definitions.job_relations import MOST_AWAITED, Array, Dependency, Notification, Percent, Profiling
from definitions.job_resources import (
    Elastic,
    ImagePullPolicy,
    Network,
    Placement,
    Resources,
    Storage,
    Volume,
    VolumeMount,
    WorkloadKind,
)
from definitions.job_rules import job_conflicts
from definitions.job_service import Service
from definitions.job_workload import Distributed, EnvValue, JobType, SecretFile, Workdir
from definitions.spec_types import (
    Duration,
    EnvName,
    Flag,
    LabelKey,
    LabelValue,
    Line,
    Name,
    RelativePath,
    SpecModel,
    Text,
    Whole,
    raise_conflicts,
)
from definitions.states import Mode


class Metadata(SpecModel):
    """What a thing is called and what people have noted on it."""

    name: Name = Field(description="Its name; unique among the project's live things of the kind.", examples=["digits"])
    project: Name = Field(DEFAULT_PROJECT, description="The project it belongs to.", examples=["vision"])
    labels: dict[LabelKey, LabelValue] = Field(
        {}, max_length=64, description="Short facts to select by.", examples=[{"team": "vision"}]
    )
    annotations: dict[LabelKey, Text] = Field(
        {}, max_length=64, description="Notes of any text; nothing selects by them.", examples=[{"note": "second try"}]
    )


class JobSpec(SpecModel):
    """What to run, on what, and how it should last."""

    type: JobType = Field(
        JobType.TRAINING, description="What the job is for; groups it in lists.", examples=["training"]
    )
    mode: Mode = Field(
        Mode.BATCH,
        description="`batch`: ends by itself, exit code 0 is success. `service`: runs until it is stopped.",
        examples=["batch", "service"],
    )
    command: tuple[Text, ...] = Field(
        (),
        max_length=4096,
        description="Program and arguments, run as they stand with no shell between. Or give `shell`.",
        examples=[["python", "train.py"]],
    )
    args: tuple[Text, ...] = Field(
        (), max_length=4096, description="Further arguments, put after `command`.", examples=[["--epochs", "10"]]
    )
    shell: Text | None = Field(
        None,
        min_length=1,
        description="Text that `/bin/sh -c` runs. Its exit status is the shell's own: `false; true` is a success, "
        "`false && true` is not. Begin with `set -e` to stop at the first failure.",
        examples=["set -e\npython prepare.py\npython train.py\n"],
    )
    env: dict[EnvName, EnvValue] = Field(
        {},
        max_length=1024,
        description="Environment variables: text, or `{secret: NAME}`.",
        examples=[{"LR": "0.001", "HUB_TOKEN": {"secret": "hub-token"}}],
    )
    secret_files: tuple[SecretFile, ...] = Field(
        (), max_length=64, description="Secrets given as files.", examples=[[{"secret": "cloud", "path": "cloud.json"}]]
    )
    workdir: Workdir = Field(Workdir(), description="Where the command finds its files.", examples=[{"mode": "live"}])
    working_dir: RelativePath | None = Field(
        None, description="Folder inside the working directory to start in.", examples=["experiments/digits"]
    )
    nodes: Whole = Field(1, ge=1, le=1024, description="Machines, or on one machine groups of processes.", examples=[2])
    processes_per_node: Whole = Field(1, ge=1, le=1024, description="Processes on each node.", examples=[8])
    elastic: Elastic | None = Field(None, description="Sizes it can run at.", examples=[{"minNodes": 2, "maxNodes": 8}])
    resources: Resources = Field(Resources(), description="What each node gets.", examples=[{"gpus": 8}])
    distributed: Distributed = Field(
        Distributed(), description="How its processes find each other.", examples=[{"framework": "pytorch"}]
    )
    image: Image | None = Field(
        None,
        description="Container image; left out, the cluster's own for jobs. It needs nothing of the platform's in it.",
        examples=["registry.example.org/train:1"],
    )
    image_pull_policy: ImagePullPolicy | None = Field(
        None, description="When to pull it; left out, as the cluster is set.", examples=["IfNotPresent"]
    )
    model: Line | None = Field(None, description="Model that the job works on.", examples=["llama-3-8b"])
    storage: Storage | None = Field(
        None,
        description="The volume that holds the run folder; left out, as the cluster is set.",
        examples=[{"request": "200Gi"}],
    )
    volumes: tuple[Volume, ...] = Field(
        (),
        max_length=64,
        description="Volumes that are there already.",
        examples=[[{"name": "data", "source": {"emptyDir": {}}}]],
    )
    volume_mounts: tuple[VolumeMount, ...] = Field(
        (), max_length=64, description="Where they appear.", examples=[[{"name": "data", "mountPath": "/data"}]]
    )
    network: Network = Field(Network.STANDARD, description="Network between the nodes.", examples=["rdma"])
    placement: Placement = Field(Placement(), description="Which nodes it may run on.", examples=[{"spread": True}])
    queue: Name | None = Field(
        None,
        description="Queue that it waits in; left out, the default one if there are queues.",
        examples=["research"],
    )
    priority: Percent = Field(0, description="0 to 100; more goes first within a queue.", examples=[50])
    priority_class: Name | None = Field(
        None,
        description="PriorityClass, by name; where there are no queues, the cluster's own.",
        examples=["production"],
    )
    reservation: Name | None = Field(None, description="Reservation to run in.", examples=["launch-week"])
    team: Name | None = Field(None, description="Team that it is accounted to.", examples=["vision"])
    workload_kind: WorkloadKind | None = Field(None, description="Which workload carries it.", examples=["job"])
    cluster: Name | None = Field(
        None,
        description="Cluster to run on (`perdure clusters list`). Left out, or `local`: processes of this machine.",
        examples=["north-1"],
    )
    federation: Name | None = Field(None, description="Federation that chooses the cluster.", examples=["europe"])
    suspend: Flag = Field(False, description="Accept it suspended; it begins when it is resumed.", examples=[True])
    timeout: Duration | None = Field(
        None,
        gt=NOTHING,
        description="Longest running time over all attempts; suspended time does not count.",
        examples=["24h"],
    )
    grace_period: Duration = Field(
        timedelta(seconds=30),
        le=timedelta(hours=1),
        description="Time between asking a process to end (SIGTERM) and ending it (SIGKILL).",
        examples=["30s"],
    )
    retry: Retry = Field(Retry(), description="When a failed attempt is followed by another.", examples=[{"limit": 5}])
    checkpoints: Checkpoints = Field(Checkpoints(), description="Saving and resuming.", examples=[{"every": "5m"}])
    progress: Progress = Field(Progress(), description="Use of the job's own reports.", examples=[{"hangAfter": "15m"}])
    service: Service | None = Field(
        None, description="Only for `mode: service`.", examples=[{"readiness": {"tcpPort": 8000}}]
    )
    artifacts: Artifacts = Field(Artifacts(), description="What it leaves.", examples=[{"keepFor": "30d"}])
    ttl_after_finished: Duration | None = Field(
        None, description="Deleted with all it left so long after its end. Left out, never.", examples=["30d"]
    )
    array: Array | None = Field(None, description="Run once per index.", examples=[{"last": 99, "limit": 10}])
    after: tuple[Dependency, ...] = Field(
        (), max_length=MOST_AWAITED, description="Jobs to wait for.", examples=[[{"job": "prepare"}]]
    )
    hooks: tuple[Name, ...] = Field(
        (), max_length=16, description="Job hooks that hear of it.", examples=[["on-failure"]]
    )
    notifications: tuple[Notification, ...] = Field(
        (), max_length=16, description="Who is told.", examples=[[{"channel": "team-chat"}]]
    )
    experiment: Name | None = Field(None, description="Experiment that it is a run of.", examples=["lr-sweep"])
    profiling: Profiling | None = Field(None, description="Which steps are profiled.", examples=[{"profileSteps": 20}])

    @property
    def on_cluster(self) -> bool:
        """Whether it runs in pods of a cluster; else it is processes of one machine."""
        return self.cluster is not None and self.cluster != LOCAL_CLUSTER

    @model_validator(mode="after")
    def _rules(self) -> Self:
        raise_conflicts(job_conflicts(self))
        return self


class Job(SpecModel):
    """One job, as a document."""

    api_version: Literal["perdure/v1"] = Field(description="Version of this format.", examples=["perdure/v1"])
    kind: Literal["Job"] = Field(description="The kind of document.", examples=["Job"])
    metadata: Metadata = Field(description="Name, project, labels.", examples=[{"name": "digits"}])
    spec: JobSpec = Field(description="What to run.", examples=[{"command": ["python", "train.py"]}])
