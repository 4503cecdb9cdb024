"""The kind ResourceFlavor: one sort of GPU, under the name by which quotas and pools speak of it."""

from typing import Literal, Self

from pydantic import Field, model_validator

from definitions.scheduling_types import SharedMetadata
from definitions.spec_types import Conflict, Line, Size, SpecModel, Text, raise_conflicts


class ResourceFlavorSpec(SpecModel):
    """Which GPUs it stands for."""

    description: Text = Field("", description="What it is.", examples=["Eight to a node, with NVLink."])
    gpu_type: Line = Field(description="Model of GPU, as jobs ask for it with `gpuType`.", examples=["H100"])
    also_known_as: tuple[Line, ...] = Field(
        (),
        max_length=32,
        description="Other words of nodes and traces for the same model.",
        examples=[["NVIDIA-H100-80GB-HBM3"]],
    )
    gpu_memory: Size | None = Field(
        None, gt=0, description="Memory of each GPU, of nodes that do not tell it themselves.", examples=["80Gi"]
    )

    @model_validator(mode="after")
    def _words_differ(self) -> Self:
        found = []
        for index, word in enumerate(self.also_known_as):
            if word == self.gpu_type or word in self.also_known_as[:index]:
                found.append(Conflict(f"alsoKnownAs.{index}", f"{word} is there twice", "remove one of the two"))
        raise_conflicts(found)
        return self


class ResourceFlavor(SpecModel):
    """A flavor, as a document."""

    api_version: Literal["perdure/v1"] = Field(description="Version of this format.", examples=["perdure/v1"])
    kind: Literal["ResourceFlavor"] = Field(description="The kind of document.", examples=["ResourceFlavor"])
    metadata: SharedMetadata = Field(description="Its name.", examples=[{"name": "h100"}])
    spec: ResourceFlavorSpec = Field(description="Which GPUs it stands for.", examples=[{"gpuType": "H100"}])
