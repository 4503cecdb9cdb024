"""What a job runs on: resources, storage, network, placement, and its size when that may change."""

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from definitions.cluster_types import Affinity, MountPath, VolumeSource
from definitions.spec_types import (
    Conflict,
    Cpus,
    Flag,
    LabelKey,
    LabelValue,
    Line,
    Name,
    RelativePath,
    Size,
    SpecModel,
    Whole,
    raise_conflicts,
)


class Resources(SpecModel):
    """What each node of the job gets."""

    gpus: Whole = Field(0, ge=0, le=64, description="GPUs per node.", examples=[8])
    gpu_type: Line | None = Field(None, description="Model of GPU.", examples=["H100"])
    gpu_memory: Size | None = Field(None, gt=0, description="Least memory of each GPU.", examples=["80Gi"])
    cpus: Cpus | None = Field(None, gt=0, description="Processors per node.", examples=[8, "500m"])
    memory: Size | None = Field(None, gt=0, description="Memory per node.", examples=["64Gi"])
    ephemeral_storage: Size | None = Field(None, gt=0, description="Scratch space per node.", examples=["100Gi"])
    shared_memory: Size | None = Field(None, gt=0, description="Size of /dev/shm.", examples=["16Gi"])


class Storage(SpecModel):
    """A volume of the job's own, which outlives it."""

    class_name: Line | None = Field(None, description="Storage class.", examples=["fast-nfs"])
    request: Size = Field(100 * 1024**3, gt=0, description="Size of the volume.", examples=["100Gi"])


class Volume(SpecModel):
    """A volume that is there already; `source` is the cluster's own description of it."""

    name: Name = Field(description="Name that `volumeMounts` refers to.", examples=["datasets"])
    source: VolumeSource = Field(
        description="What the volume is: one of `configMap`, `csi`, `downwardAPI`, `emptyDir`, `ephemeral`, "
        "`persistentVolumeClaim`, `projected`, `secret`, as the cluster describes it.",
        examples=[{"persistentVolumeClaim": {"claimName": "datasets"}}],
    )


class VolumeMount(SpecModel):
    """Where a volume appears inside the job."""

    name: Name = Field(description="Name of the volume.", examples=["datasets"])
    mount_path: MountPath = Field(description="Folder that it appears as.", examples=["/datasets"])
    sub_path: RelativePath | None = Field(None, description="Folder inside the volume.", examples=["imagenet"])
    read_only: Flag = Field(False, description="Whether the job may only read it.", examples=[True])


class Network(StrEnum):
    STANDARD = "standard"
    RDMA = "rdma"
    SRIOV = "sriov"


class ImagePullPolicy(StrEnum):
    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"
    NEVER = "Never"


class WorkloadKind(StrEnum):
    JOB = "job"
    STATEFULSET = "statefulset"


class TolerationOperator(StrEnum):
    EXISTS = "Exists"
    EQUAL = "Equal"


class TaintEffect(StrEnum):
    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class Toleration(SpecModel):
    """A node taint that the job puts up with."""

    key: LabelKey | None = Field(None, description="Key of the taint; left out, every key.", examples=["dedicated"])
    operator: TolerationOperator = Field(TolerationOperator.EQUAL, description="How to compare.", examples=["Exists"])
    value: LabelValue | None = Field(None, description="Value of the taint.", examples=["training"])
    effect: TaintEffect | None = Field(
        None, description="Effect of the taint; left out, every effect.", examples=["NoSchedule"]
    )
    toleration_seconds: Whole | None = Field(
        None, ge=0, description="For how long, once it appears; only with `effect: NoExecute`.", examples=[300]
    )

    @model_validator(mode="after")
    def _compares(self) -> Self:
        found = []
        if self.key is None and self.operator is TolerationOperator.EQUAL:
            found.append(Conflict("operator", "without a key there is nothing to be equal", "set operator: Exists"))
        if self.value is not None and self.operator is TolerationOperator.EXISTS:
            found.append(Conflict("value", "operator Exists compares no value", "remove value"))
        if self.toleration_seconds is not None and self.effect is not TaintEffect.NO_EXECUTE:
            what = "only a taint with effect NoExecute ends what runs already"
            found.append(Conflict("tolerationSeconds", what, "set effect: NoExecute, or remove it"))
        raise_conflicts(found)
        return self


class Topology(SpecModel):
    """How close together the nodes of a job must, or should, be: the name of a level of the cluster's topology."""

    required: Line | None = Field(
        None, description="All nodes within one such domain, or not at all.", examples=["rack"]
    )
    preferred: Line | None = Field(None, description="Within one such domain if it can be.", examples=["block"])

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if self.required is not None and self.preferred is not None:
            raise_conflicts([Conflict("preferred", "required and preferred exclude each other", "remove one of them")])
        return self


class Placement(SpecModel):
    """Which nodes a job may run on, and which it would like."""

    node_selector: dict[LabelKey, LabelValue] = Field(
        {}, description="Labels that a node must have.", examples=[{"zone": "north"}]
    )
    tolerations: tuple[Toleration, ...] = Field(
        (),
        max_length=64,
        description="Taints that the job puts up with.",
        examples=[[{"key": "dedicated", "value": "training"}]],
    )
    affinity: Affinity = Field(
        {},
        description="The cluster's own affinity rules, beside those that follow from other fields.",
        examples=[{"nodeAffinity": {}}],
    )
    pin: Flag = Field(
        False,
        description="Later attempts stay on the nodes of the first one, and wait until these can take them.",
        examples=[True],
    )
    spread: Flag = Field(False, description="At most one node of this job per machine.", examples=[True])
    topology: Topology | None = Field(None, description="How close together.", examples=[{"required": "rack"}])
    fabric_aware: Flag = Field(False, description="Prefer nodes whose fabric is healthy.", examples=[True])


class Elastic(SpecModel):
    """The sizes that a job can run at, around `nodes`."""

    min_nodes: Whole = Field(ge=1, le=1024, description="The fewest nodes that it can run on.", examples=[2])
    max_nodes: Whole = Field(ge=1, le=1024, description="The most nodes that it can use.", examples=[8])

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.max_nodes < self.min_nodes:
            what = f"maxNodes {self.max_nodes} is below minNodes {self.min_nodes}"
            raise_conflicts([Conflict("maxNodes", what, "make maxNodes at least minNodes")])
        return self
