"""The kind Topology: how close to each other nodes are, told by their labels."""

from typing import Literal, Self

from pydantic import Field, model_validator

from definitions.scheduling_types import SharedMetadata
from definitions.spec_types import Conflict, LabelKey, Name, SpecModel, Text, raise_conflicts


class TopologyLevel(SpecModel):
    """One step of nearness: nodes with the same value of the label, within the same domain of the level above."""

    name: Name = Field(description="Name that jobs give as `placement.topology`.", examples=["rack"])
    node_label: LabelKey = Field(description="Node label that tells the domain.", examples=["example.org/rack"])


class TopologySpec(SpecModel):
    """The levels."""

    description: Text = Field("", description="What it describes.", examples=["Hall 2."])
    levels: tuple[TopologyLevel, ...] = Field(
        max_length=16,
        description="From the widest to the narrowest.",
        examples=[[{"name": "rack", "nodeLabel": "example.org/rack"}]],
    )

    @model_validator(mode="after")
    def _levels_differ(self) -> Self:
        found = []
        if not self.levels:
            found.append(Conflict("levels", "there are no levels", "name at least one level and its node label"))
        for index, level in enumerate(self.levels):
            before = self.levels[:index]
            if level.name in [each.name for each in before]:
                what = f"two levels are called {level.name}"
                found.append(Conflict(f"levels.{index}.name", what, "choose another name"))
            if level.node_label in [each.node_label for each in before]:
                what = f"two levels are told by {level.node_label}"
                found.append(Conflict(f"levels.{index}.nodeLabel", what, "remove one of the two"))
        raise_conflicts(found)
        return self


class Topology(SpecModel):
    """A topology, as a document."""

    api_version: Literal["perdure/v1"] = Field(description="Version of this format.", examples=["perdure/v1"])
    kind: Literal["Topology"] = Field(description="The kind of document.", examples=["Topology"])
    metadata: SharedMetadata = Field(description="Its name.", examples=[{"name": "hall-2"}])
    spec: TopologySpec = Field(
        description="The levels.", examples=[{"levels": [{"name": "rack", "nodeLabel": "example.org/rack"}]}]
    )
