"""The kind Secret: a value that is stored encrypted and never shown again."""

from typing import Literal

from pydantic import Field, SecretStr

from definitions.job import Metadata
from definitions.spec_types import SpecModel


class SecretSpec(SpecModel):
    """The value. It goes in, and never comes out: dumps of this model show stars."""

    value: SecretStr = Field(
        min_length=4,
        max_length=65_536,
        description="The value. Shorter than 4 characters it could not be masked in logs.",
        examples=["correct-horse"],
    )


class Secret(SpecModel):
    """A secret, as a document."""

    api_version: Literal["perdure/v1"] = Field(description="Version of this format.", examples=["perdure/v1"])
    kind: Literal["Secret"] = Field(description="The kind of document.", examples=["Secret"])
    metadata: Metadata = Field(description="Name, project, labels.", examples=[{"name": "hub-token"}])
    spec: SecretSpec = Field(description="The value.", examples=[{"value": "correct-horse"}])
