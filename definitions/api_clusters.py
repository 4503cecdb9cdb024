"""Clusters and nodes as the API takes and shows them."""

from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import Field, JsonValue, model_validator

from definitions.api_base import Body, Document, Page, View, doc
from definitions.cluster_calls import NodeVerb

TIME = "2026-11-29T16:22:00Z"


class PutCluster(Body):
    """A Cluster document, as JSON or as YAML text."""

    document: Annotated[Document | None, doc("As JSON.", {"kind": "Cluster"})] = None
    text: Annotated[str | None, doc("As YAML.", "kind: Cluster\n", max_length=262144)] = None
    source: Annotated[str | None, doc("File the text came from; used in messages only.", "north.yaml")] = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.document is None) == (self.text is None):
            raise ValueError("give exactly one of document and text")
        return self


class FindingView(View):
    """One line of a check."""

    what: Annotated[str, doc("What was looked at.", "storage classes")]
    ok: Annotated[bool, doc("Whether it is as it must be.", True)]
    detail: Annotated[str, doc("What was found.", "fast-nfs (default)")] = ""
    fix: Annotated[str, doc("What mends it.", "")] = ""


class ClusterCheck(View):
    """What a cluster's worker found out about its cluster."""

    cluster: Annotated[str, doc("Name of the cluster.", "north-1")]
    ok: Annotated[bool, doc("Whether every finding is.", True)]
    version: Annotated[str, doc("Version of its API server.", "v1.34.4")] = ""
    at: Annotated[datetime, doc("When it was looked at.", TIME)]
    findings: Annotated[list[FindingView], Field(description="Line by line.")] = []
    storage_classes: Annotated[list[str], doc("Its storage classes.", ["fast-nfs"])] = []
    gpus: Annotated[int, doc("GPUs of its nodes.", 64)] = 0
    nodes: Annotated[int, doc("Its nodes.", 8)] = 0
    rbac: Annotated[str, doc("The least rights that its worker needs, as YAML.", "kind: Role\n")] = ""


class ClusterView(View):
    """A cluster that jobs can run on."""

    name: Annotated[str, doc("Name that jobs give as `cluster`.", "north-1")]
    description: Annotated[str, doc("What it is for.", "The racks in hall 2.")] = ""
    namespace: Annotated[str, doc("Namespace of its jobs' objects.", "perdure-jobs")]
    worker: Annotated[str, doc("Whether its worker is there: up, silent, or never seen.", "up")]
    worker_seen_at: Annotated[datetime | None, doc("When its worker was last seen.", TIME)] = None
    nodes: Annotated[int, doc("Nodes that its worker sees.", 8)] = 0
    jobs: Annotated[int, doc("Your tenant's jobs on it that have not ended.", 3)] = 0
    check: Annotated[ClusterCheck | None, Field(description="Its last check; without findings in lists.")] = None
    created_at: Annotated[datetime, doc("When it was added.", TIME)]
    created_by: Annotated[str, doc("Who added it.", "admin")]
    updated_at: Annotated[datetime, doc("When its description last changed.", TIME)]
    updated_by: Annotated[str, doc("Who changed it.", "admin")]
    generation: Annotated[int, doc("Grows with every change of the description; the ETag.", 1)]
    document: Annotated[Document | None, doc("The document; null in lists.", {"kind": "Cluster"})] = None


class ClusterPage(Page[ClusterView]):
    """Clusters by name."""


class ClusterRemoved(View):
    """What removing a cluster leaves behind."""

    name: Annotated[str, doc("Its name.", "north-1")]
    kept_jobs: Annotated[int, doc("Ended jobs whose volumes are still there, out of reach from now on.", 0)]


class TaintView(View):
    """What keeps pods off a node."""

    key: Annotated[str, doc("Key.", "nvidia.com/gpu")]
    value: Annotated[str, doc("Value.", "present")] = ""
    effect: Annotated[str, doc("Effect.", "NoSchedule")] = "NoSchedule"


class NodeJob(View):
    """A rank's place."""

    job: Annotated[str, doc("Id of the job.", "0k3bw2m4x9t6q8r1s5v7y0z2a4")]
    name: Annotated[str, doc("Name of the job.", "digits")]
    ranks: Annotated[list[int], doc("Its ranks there.", [0, 1])]


class OthersOnNode(View):
    """What pods that are not of this installation ask of a node: no job of a queue gets it."""

    pods: Annotated[int, doc("How many they are.", 6)]
    cpus: Annotated[float, doc("Processors.", 0.75)] = 0
    memory: Annotated[int, doc("Bytes.", 734003200)] = 0
    gpus: Annotated[int, doc("GPUs.", 0)] = 0


class ClusterNode(View):
    """One node as its cluster's worker last saw it. Sizes are bytes."""

    cluster: Annotated[str, doc("Cluster it belongs to.", "north-1")]
    name: Annotated[str, doc("Name of the node.", "gpu-7")]
    ready: Annotated[bool, doc("Whether it can run pods.", True)]
    schedulable: Annotated[bool, doc("Whether new pods may start there.", True)]
    reason: Annotated[str, doc("Why it is not ready, in the cluster's words.", "KubeletNotReady")] = ""
    cordon_reason: Annotated[str, doc("Why people took it out of service.", "fan broken (ada)")] = ""
    cpus: Annotated[float, doc("Processors for pods.", 64.0)] = 0
    memory: Annotated[int, doc("Memory for pods.", 540000000000)] = 0
    gpus: Annotated[int, doc("GPUs for pods.", 8)] = 0
    gpu_type: Annotated[str, doc("Model of its GPUs.", "NVIDIA-H100-80GB-HBM3")] = ""
    gpu_memory: Annotated[int | None, doc("Memory of each GPU.", 85520809984)] = None
    version: Annotated[str, doc("Version of its kubelet.", "v1.34.4")] = ""
    allocatable: Annotated[dict[str, str], doc("Everything it has for pods.", {"pods": "110"})] = {}
    labels: Annotated[dict[str, str], doc("Labels.", {"topology.kubernetes.io/zone": "hall-2"})] = {}
    taints: Annotated[list[TaintView], Field(description="Taints.")] = []
    conditions: Annotated[dict[str, str], doc("Conditions.", {"Ready": "True: KubeletReady"})] = {}
    others: Annotated[OthersOnNode | None, Field(description="Pods of others; null when none is known of.")] = None
    jobs: Annotated[list[NodeJob], Field(description="Your tenant's jobs with ranks there; empty in lists.")] = []
    seen_at: Annotated[datetime, doc("When it last changed.", TIME)]


class ClusterNodePage(Page[ClusterNode]):
    """Nodes by cluster and name."""


class OperateNode(Body):
    """Why, in your words; kept with the node."""

    reason: Annotated[str, doc("Why, in your words; kept with the node.", "fan broken", max_length=500)] = ""


class NodeOperation(View):
    """The answer to a request about a node."""

    cluster: Annotated[str, doc("Its cluster.", "north-1")]
    node: Annotated[str, doc("Its name.", "gpu-7")]
    verb: Annotated[NodeVerb, doc("What was asked.", "drain")]
    settled: Annotated[bool, doc("False: it goes on; look at the node, or at the workflow.", True)] = True
    message: Annotated[str, doc("What was done, or what goes on.", "2 pods left")]
    workflow: Annotated[str, doc("Its workflow in the engine's web UI.", "http://127.0.0.1:8233/namespaces/default")]


class ClusterObjects(View):
    """The very objects of a job on a cluster."""

    cluster: Annotated[str, doc("The cluster, which was asked and would take them.", "north-1")]
    objects: Annotated[list[dict[str, Any]], doc("As they would be made; no secret's value is in them.", [{}])]
    text: Annotated[str, doc("The same as YAML, one document each.", "kind: Job\n")]


class ObjectDifference(View):
    """One difference between an object as it would be made now and as it is."""

    object: Annotated[str, doc("Kind and name.", "Job/digits-0f3a-1")]
    path: Annotated[str, doc("Field, from its top.", "spec.template.spec.nodeName")]
    made: Annotated[JsonValue, doc("As it was made; null when absent.", None)] = None
    found: Annotated[JsonValue, doc("As it is; null when absent.", "gpu-7")] = None


class ObjectsDiff(View):
    """What runs, against what was made."""

    cluster: Annotated[str, doc("The cluster.", "north-1")]
    job: Annotated[str, doc("Id of the job.", "0k3bw2m4x9t6q8r1s5v7y0z2a4")]
    attempt: Annotated[int, doc("The attempt that was looked at.", 1)]
    changes: Annotated[list[ObjectDifference], Field(description="Differences. Empty: all is as it was made.")]
