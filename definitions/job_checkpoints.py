"""When a job saves, which checkpoints are kept, and where an attempt begins."""

from datetime import timedelta
from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from definitions.spec_types import Conflict, Duration, Line, Name, SpecModel, Text, Whole, raise_conflicts

LONGEST_COMMAND = 4096


class MetricMode(StrEnum):
    MIN = "min"
    MAX = "max"


class KeepBest(SpecModel):
    """Which checkpoints count as the best, by a metric that the job reports when it saves."""

    metric: Line = Field(description="Name of the metric.", examples=["loss"])
    mode: MetricMode = Field(MetricMode.MIN, description="Whether less or more is better.", examples=["min", "max"])
    count: Whole = Field(1, ge=1, le=100, description="How many to keep.", examples=[1])


class ResumeMode(StrEnum):
    AUTO = "auto"
    NEVER = "never"


class CheckpointSource(SpecModel):
    """A checkpoint of another job."""

    job: Name = Field(description="Name or id of the job.", examples=["digits"])
    step: Whole | None = Field(
        None, ge=0, description="Step of the checkpoint. Left out, the newest verified one.", examples=[1200]
    )


class Checkpoints(SpecModel):
    """When a job saves, what is kept, and where the next attempt begins."""

    every: Duration | None = Field(
        None,
        ge=timedelta(seconds=1),
        description="How often the job is asked to save (`PERDURE_CHECKPOINT_EVERY`).",
        examples=["5m"],
    )
    keep_last: Whole = Field(
        3, ge=1, le=1000, description="How many of the newest complete ones to keep.", examples=[3]
    )
    keep_every: Whole | None = Field(
        None, ge=1, description="Also keep those whose step is a multiple of this.", examples=[1000]
    )
    keep_best: KeepBest | None = Field(None, description="Also keep the best.", examples=[{"metric": "loss"}])
    resume: ResumeMode = Field(
        ResumeMode.AUTO,
        description="`auto`: each attempt starts from the newest verified checkpoint. `never`: from the beginning.",
        examples=["auto"],
    )
    from_: CheckpointSource | None = Field(
        None,
        alias="from",
        description="Start from a checkpoint of another job.",
        examples=[{"job": "digits", "step": 1200}],
    )
    command: tuple[Text, ...] = Field(
        (),
        max_length=32,
        description="Program that makes the job save, run once in each pod, with no shell between, in the environment "
        "and folder of its first rank: before a suspend, and before its pods are taken away (a drain). Then the pod "
        "ends, whatever this ended with.",
        examples=[["./save", "--now"]],
    )
    directory: Line | None = Field(
        None,
        description="Folder that `command` saves into, told as `PERDURE_SAVE_DIR` and made if it is missing: "
        "absolute, below a mount of the job's, or inside the run folder.",
        examples=["/data/checkpoints"],
    )
    grace: Duration | None = Field(
        None,
        ge=timedelta(seconds=30),
        le=timedelta(hours=1),
        description="How long a job may take to save before its processes are asked to end; left out, 2m.",
        examples=["2m"],
    )

    @model_validator(mode="after")
    def _starts_somewhere(self) -> Self:
        if self.from_ is not None and self.resume is ResumeMode.NEVER:
            what = "a job that never resumes cannot start from a checkpoint"
            raise_conflicts([Conflict("from", what, "remove from, or set resume: auto")])
        return self

    @model_validator(mode="after")
    def _saves_by_command(self) -> Self:
        found = []
        if self.command and not self.command[0]:
            found.append(Conflict("command", "the program's name is empty", "write the program first"))
        if sum(len(argument.encode()) for argument in self.command) > LONGEST_COMMAND:
            what = f"the program and its arguments have more than {LONGEST_COMMAND} bytes"
            found.append(Conflict("command", what, "put them into a script and name that"))
        if self.directory is not None and not self.command:
            found.append(
                Conflict("directory", "nothing saves into it: there is no command", "remove it, or set command")
            )
        raise_conflicts(found)
        return self
