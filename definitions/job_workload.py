"""What a job runs: environment, secrets, working directory, and how its processes find each other."""

from enum import StrEnum
from typing import Any, Self

from pydantic import Field, GetJsonSchemaHandler, model_serializer, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from definitions.spec_types import (
    Conflict,
    Line,
    Name,
    RelativePath,
    Sha256,
    SpecModel,
    Text,
    Whole,
    not_text,
    raise_conflicts,
    refusal,
)

PLATFORM_VARIABLES = frozenset(
    {"MASTER_ADDR", "MASTER_PORT", "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK"}
)


class JobType(StrEnum):
    """What a job is for. It groups jobs in lists and reports, and changes nothing about how they run."""

    TRAINING = "training"
    INFERENCE = "inference"
    FINE_TUNING = "fine-tuning"
    EVALUATION = "evaluation"


class EnvValue(SpecModel):
    """The value of a variable: written as plain text, or `{secret: NAME}` for one that is stored as a secret."""

    value: Text | None = Field(None, description="The text itself.", examples=["0.001"])
    secret: Name | None = Field(None, description="Name of the secret that holds the value.", examples=["hub-token"])

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"value": data}
        if isinstance(data, dict | EnvValue):
            return data
        if isinstance(data, list):
            raise refusal("PD-1103", "a variable holds text, not a list", "write text, or {secret: NAME}")
        raise refusal("PD-1104", *not_text(data))

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.value is None) == (self.secret is None):
            raise refusal("PD-1112", "a variable has text or a secret, one of the two", "write {secret: NAME} or text")
        return self

    @model_serializer(mode="plain")
    def _as_written(self) -> str | dict[str, str]:
        return {"secret": self.secret} if self.secret is not None else self.value or ""

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        by_name = {"type": "object", "properties": {"secret": {"type": "string"}}, "required": ["secret"]}
        return {"anyOf": [{"type": "string"}, {**by_name, "additionalProperties": False}], "title": "EnvValue"}


class SecretFile(SpecModel):
    """A secret that the job reads as a file, private to it and gone when the attempt ends."""

    secret: Name = Field(description="Name of the secret.", examples=["cloud-credentials"])
    path: RelativePath = Field(
        description="Where the file lies, inside the folder that `PERDURE_SECRETS_DIR` names.", examples=["cloud.json"]
    )


class WorkdirMode(StrEnum):
    SNAPSHOT = "snapshot"
    LIVE = "live"
    NONE = "none"


class Workdir(SpecModel):
    """Where the command finds its files."""

    mode: WorkdirMode = Field(
        WorkdirMode.SNAPSHOT,
        description="`snapshot`: a copy made at submit, the same bytes for every attempt, clone and fork. "
        "`live`: the folder itself, as it is when an attempt starts. `none`: an empty folder.",
        examples=["snapshot", "live", "none"],
    )
    path: Line | None = Field(
        None,
        description="The folder. The command line takes the present one when this is left out.",
        examples=["/home/ada/digits"],
    )
    snapshot: Sha256 | None = Field(
        None, description="Digest of the stored snapshot; filled in at submit.", examples=["0f" * 32]
    )

    @model_validator(mode="after")
    def _fits_mode(self) -> Self:
        found = []
        if self.snapshot is not None and self.mode is not WorkdirMode.SNAPSHOT:
            found.append(Conflict("snapshot", f"mode {self.mode} uses no snapshot", "remove it, or set mode: snapshot"))
        if self.path is not None and self.mode is WorkdirMode.NONE:
            found.append(Conflict("path", "mode none uses no folder", "remove it, or set mode: snapshot or live"))
        raise_conflicts(found)
        return self


class Framework(StrEnum):
    PYTORCH = "pytorch"
    TENSORFLOW = "tensorflow"
    HOROVOD = "horovod"
    DEEPSPEED = "deepspeed"
    MEGATRON = "megatron"
    JAX = "jax"
    MPI = "mpi"
    RAY = "ray"


class Backend(StrEnum):
    NCCL = "nccl"
    GLOO = "gloo"
    MPI = "mpi"


class Distributed(SpecModel):
    """How the processes of a job find and talk to each other."""

    framework: Framework | None = Field(
        None,
        description="Whose environment variables each process gets, beside the common ones.",
        examples=["pytorch", "jax"],
    )
    backend: Backend | None = Field(
        None, description="Library for collective operations, told to the framework.", examples=["gloo"]
    )
    master_port: Whole | None = Field(
        None,
        ge=1024,
        le=65535,
        description="Port that the first process listens on (`MASTER_PORT`). Left out, a free one is chosen.",
        examples=[29500],
    )


def variable_fault(name: str) -> Conflict | None:
    """Say why a job may not set a variable of this name, or None when it may."""
    if name.upper().startswith("PERDURE_"):
        return Conflict(name, f"{name} is reserved: PERDURE_ variables come from the platform", "choose another name")
    if name in PLATFORM_VARIABLES:
        return Conflict(name, f"{name} is set by the platform for every process", "remove it; see spec.distributed")
    return None
