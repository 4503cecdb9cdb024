"""The kind Cluster: where jobs can run, and how. Its worker has the credentials; this document has none."""

from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from definitions.cluster import LOCAL_CLUSTER, NETWORKS, ClusterSettings, NetworkRule
from definitions.job_resources import Network
from definitions.spec_types import (
    Conflict,
    Duration,
    EnvName,
    Flag,
    LabelKey,
    LabelValue,
    Line,
    Name,
    Size,
    SpecModel,
    Text,
    Whole,
    raise_conflicts,
    refusal,
)

OWN_LABELS = ("perdure.dev/", "app.kubernetes.io/managed-by", "batch.kubernetes.io/")


def _not_local(value: str) -> str:
    if value == LOCAL_CLUSTER:
        raise refusal("PD-1107", f"{value!r} is this machine, which is always there", "choose another name")
    return value


class ClusterMetadata(SpecModel):
    """How the cluster is called. It belongs to the installation, not to a project."""

    name: Annotated[Name, AfterValidator(_not_local)] = Field(
        max_length=40, description="Name that jobs give as `cluster`.", examples=["north-1"]
    )


class ClusterStorage(SpecModel):
    """The volume that holds a job's run folder: checkpoints, progress, logs until they are collected."""

    enabled: Flag = Field(
        True,
        description="Whether jobs get one when they do not ask for it. Without one a run folder goes with its pod: "
        "nothing can be resumed.",
        examples=[True],
    )
    class_name: Line | None = Field(
        None, description="Storage class; the cluster's default when left out.", examples=["fast-nfs"]
    )
    size: Size = Field(10 * 1024**3, gt=0, description="Size of the volume.", examples=["10Gi"])
    shared: Flag = Field(
        True,
        description="Whether several nodes can mount such a volume at once (ReadWriteMany). Jobs of several nodes "
        "keep checkpoints only then.",
        examples=[True],
    )


class ClusterGpus(SpecModel):
    """How this cluster speaks of its GPUs."""

    resource: Line = Field("nvidia.com/gpu", description="Resource that pods ask for.", examples=["amd.com/gpu"])
    type_label: LabelKey = Field(
        "nvidia.com/gpu.product", description="Node label that tells the model.", examples=["amd.com/gpu.product-name"]
    )
    memory_label: LabelKey = Field(
        "nvidia.com/gpu.memory", description="Node label that tells the MiB of each GPU.", examples=["amd.com/gpu.vram"]
    )


class ClusterNetwork(SpecModel):
    """What is added to pods that ask for this network."""

    annotations: dict[LabelKey, Text] = Field(
        {}, description="Annotations.", examples=[{"k8s.v1.cni.cncf.io/networks": "rdma-network"}]
    )
    node_selector: dict[LabelKey, LabelValue] = Field(
        {}, description="Labels that a node must have.", examples=[{"perdure.dev/rdma": "true"}]
    )
    resources: dict[Line, Line] = Field({}, description="Resources of each pod.", examples=[{"rdma/hca": "1"}])
    env: dict[EnvName, Text] = Field({}, description="Environment variables.", examples=[{"NCCL_IB_DISABLE": "0"}])


class ClusterPods(SpecModel):
    """What every pod of a job is like."""

    service_account: Name | None = Field(
        None, description="Service account; its token is never mounted.", examples=["training"]
    )
    run_as_user: Whole = Field(1000, gt=0, le=2**31 - 1, description="User id, never root's.", examples=[1000])
    run_as_group: Whole = Field(1000, gt=0, le=2**31 - 1, description="Group id.", examples=[1000])
    labels: dict[LabelKey, LabelValue] = Field(
        {}, max_length=32, description="Put on every object.", examples=[{"cost-center": "research"}]
    )
    image_pull_secrets: tuple[Name, ...] = Field(
        (), max_length=16, description="Secrets of the namespace with which images are pulled.", examples=[["registry"]]
    )

    @model_validator(mode="after")
    def _labels_are_theirs(self) -> Self:
        ours = [key for key in self.labels if key.startswith(OWN_LABELS)]
        fix = "use a key of your own"
        raise_conflicts([Conflict("labels", f"{key} is set by Perdure itself", fix) for key in ours])
        return self


class ClusterPatience(SpecModel):
    """How long something may be wrong before the attempt counts as failed."""

    image: Duration = Field(
        timedelta(minutes=5), gt=timedelta(0), description="An image cannot be pulled.", examples=["5m"]
    )
    config: Duration = Field(
        timedelta(minutes=2), gt=timedelta(0), description="A secret, key or volume is missing.", examples=["2m"]
    )
    node: Duration = Field(timedelta(minutes=1), gt=timedelta(0), description="A node is silent.", examples=["1m"])


class ClusterSpec(SpecModel):
    """How jobs run there."""

    description: Text = Field("", description="What it is for.", examples=["The racks in hall 2."])
    namespace: Name = Field("perdure-jobs", description="Namespace of the jobs' objects.", examples=["perdure-jobs"])
    image: Line | None = Field(
        None, description="Image of jobs that name none.", examples=["registry.example.org/train:1"]
    )
    agent_image: Line = Field(
        "perdure:latest",
        description="Perdure's own image: prepares pods, supervises ranks.",
        examples=["registry.example.org/perdure:1"],
    )
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = Field(
        "IfNotPresent", description="When images are pulled.", examples=["IfNotPresent"]
    )
    storage: ClusterStorage = Field(ClusterStorage(), description="Volumes for run folders.", examples=[{}])
    gpus: ClusterGpus = Field(ClusterGpus(), description="Names of its GPUs.", examples=[{}])
    networks: dict[Literal["rdma", "sriov"], ClusterNetwork] = Field(
        {}, description="How pods get a fast network, where it differs from the usual.", examples=[{"rdma": {}}]
    )
    pods: ClusterPods = Field(ClusterPods(), description="What every pod is like.", examples=[{}])
    patience: ClusterPatience = Field(ClusterPatience(), description="When waiting ends.", examples=[{"image": "5m"}])
    objects_url: Line | None = Field(
        None,
        description="Address under which pods reach the object store, when it is another than the control plane's.",
        examples=["https://objects.example.org"],
    )

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        if self.objects_url is not None and not self.objects_url.startswith(("http://", "https://")):
            what = f"objectsUrl {self.objects_url!r} is no http or https address"
            raise_conflicts([Conflict("objectsUrl", what, "write it like https://objects.example.org")])
        return self


class Cluster(SpecModel):
    """A cluster, as a document."""

    api_version: Literal["perdure/v1"] = Field(description="Version of this format.", examples=["perdure/v1"])
    kind: Literal["Cluster"] = Field(description="The kind of document.", examples=["Cluster"])
    metadata: ClusterMetadata = Field(description="Its name.", examples=[{"name": "north-1"}])
    spec: ClusterSpec = Field(ClusterSpec(), description="How jobs run there.", examples=[{}])


def settings_of(cluster: Cluster) -> ClusterSettings:
    """What the cluster's worker and the runtime read."""
    spec = cluster.spec
    own = {Network(name): NetworkRule.model_validate(rule.model_dump()) for name, rule in spec.networks.items()}
    return ClusterSettings(
        namespace=spec.namespace,
        image=spec.image,
        agent_image=spec.agent_image,
        image_pull_policy=spec.image_pull_policy,
        storage_class=spec.storage.class_name,
        storage_bytes=spec.storage.size if spec.storage.enabled else None,
        shared_storage=spec.storage.shared,
        gpu_resource=spec.gpus.resource,
        gpu_type_label=spec.gpus.type_label,
        gpu_memory_label=spec.gpus.memory_label,
        networks=NETWORKS | own,
        service_account=spec.pods.service_account,
        run_as_user=spec.pods.run_as_user,
        run_as_group=spec.pods.run_as_group,
        labels=spec.pods.labels,
        image_pull_secrets=spec.pods.image_pull_secrets,
        image_patience=spec.patience.image,
        config_patience=spec.patience.config,
        node_patience=spec.patience.node,
        objects_url=spec.objects_url,
    )
