"""The kind NodePool: nodes that are divided by one set of queues, real ones by their labels or simulated ones."""

from typing import Literal, Self

from pydantic import Field, model_validator

from definitions.job_resources import TaintEffect
from definitions.scheduling_types import SharedMetadata
from definitions.spec_types import (
    Conflict,
    Cpus,
    LabelKey,
    LabelValue,
    Name,
    Size,
    SpecModel,
    Text,
    Whole,
    raise_conflicts,
)


class NodeTaint(SpecModel):
    """Keeps off the nodes whoever does not put up with it."""

    key: LabelKey = Field(description="Its key.", examples=["dedicated"])
    value: LabelValue = Field("", description="Its value.", examples=["training"])
    effect: TaintEffect = Field(TaintEffect.NO_SCHEDULE, description="What it does.", examples=["NoExecute"])


class SimulatedNodes(SpecModel):
    """Nodes that are made up, all alike. They are called after the pool, `POOL-0000` and on."""

    count: Whole = Field(ge=1, le=100_000, description="How many.", examples=[64])
    cpus: Cpus = Field(gt=0, description="Processors of each.", examples=[128])
    memory: Size = Field(gt=0, description="Memory of each.", examples=["1Ti"])
    gpus: Whole = Field(0, ge=0, le=64, description="GPUs of each.", examples=[8])
    flavor: Name | None = Field(None, description="ResourceFlavor of its GPUs.", examples=["h100"])
    labels: dict[LabelKey, LabelValue] = Field(
        {}, max_length=64, description="Labels of each.", examples=[{"zone": "north"}]
    )
    taints: tuple[NodeTaint, ...] = Field(
        (), max_length=32, description="Taints of each.", examples=[[{"key": "dedicated"}]]
    )
    domains: dict[Name, Whole] = Field(
        {},
        max_length=16,
        description="By level of the topology, how many nodes in a row share a domain; they get its label.",
        examples=[{"rack": 8}],
    )

    @model_validator(mode="after")
    def _gpus_have_a_flavor(self) -> Self:
        found = []
        if self.gpus and self.flavor is None:
            found.append(Conflict("flavor", "the nodes have GPUs, and nothing says which", "name a ResourceFlavor"))
        if self.flavor is not None and not self.gpus:
            found.append(Conflict("flavor", "the nodes have no GPUs", "set gpus, or remove flavor"))
        for level, size in self.domains.items():
            if size < 1:
                found.append(Conflict(f"domains.{level}", f"{size} nodes are no domain", "write at least 1"))
        raise_conflicts(found)
        return self


class NodePoolSpec(SpecModel):
    """Which nodes, and how they lie to each other."""

    description: Text = Field("", description="What it is.", examples=["The racks in hall 2."])
    node_selector: dict[LabelKey, LabelValue] = Field(
        {}, max_length=64, description="Nodes with all of these labels belong to it.", examples=[{"pool": "training"}]
    )
    simulated: SimulatedNodes | None = Field(
        None, description="Made-up nodes.", examples=[{"count": 64, "cpus": 128, "memory": "1Ti"}]
    )
    topology: Name | None = Field(None, description="Topology by which nearness is told.", examples=["hall-2"])

    @model_validator(mode="after")
    def _has_nodes(self) -> Self:
        found = []
        if not self.node_selector and self.simulated is None:
            fix = "write nodeSelector: {pool: training}, or simulated"
            found.append(Conflict("nodeSelector", "nothing says which nodes belong to it", fix))
        if self.node_selector and self.simulated is not None:
            found.append(Conflict("simulated", "nodes are selected and made up at once", "remove one of the two"))
        if self.simulated is not None and self.simulated.domains and self.topology is None:
            fix = "name the topology, or remove simulated.domains"
            found.append(Conflict("topology", "domains are of levels, and there is no topology", fix))
        raise_conflicts(found)
        return self


class NodePool(SpecModel):
    """A pool of nodes, as a document."""

    api_version: Literal["perdure/v1"] = Field(description="Version of this format.", examples=["perdure/v1"])
    kind: Literal["NodePool"] = Field(description="The kind of document.", examples=["NodePool"])
    metadata: SharedMetadata = Field(description="Its name.", examples=[{"name": "training"}])
    spec: NodePoolSpec = Field(description="Which nodes.", examples=[{"nodeSelector": {"pool": "training"}}])
