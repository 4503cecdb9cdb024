"""The kind PriorityClass: how important jobs are, who may say so, and how long they should wait at most."""

from datetime import timedelta
from typing import Literal, Self

from pydantic import Field, model_validator

from definitions.scheduling_types import SharedMetadata
from definitions.spec_types import Conflict, Duration, Flag, Name, SpecModel, Text, Whole, raise_conflicts


class PriorityClassSpec(SpecModel):
    """What jobs of the class are worth."""

    description: Text = Field("", description="What it is for.", examples=["Runs that a customer waits for."])
    value: Whole = Field(ge=0, le=1_000_000, description="More goes first.", examples=[1000])
    default: Flag = Field(False, description="Whether jobs that name no class are of this one.", examples=[True])
    usable_by: tuple[Name, ...] = Field(
        (),
        max_length=256,
        description="Queues whose jobs may be of this class, each with all below it; left out, every queue.",
        examples=[["production"]],
    )
    preemptible: Flag = Field(True, description="Whether its jobs may be displaced by others.", examples=[False])
    displaces_promises: Flag = Field(
        False,
        description="Whether its jobs may move starts that were promised to jobs of lower priority.",
        examples=[True],
    )
    longest_queue_time: Duration | None = Field(
        None, gt=timedelta(0), description="How long its jobs should wait at most.", examples=["2h"]
    )
    alert_when_missed: Flag = Field(
        False, description="Whether a job that has waited longer is reported.", examples=[True]
    )

    @model_validator(mode="after")
    def _rules(self) -> Self:
        found = []
        if self.alert_when_missed and self.longest_queue_time is None:
            fix = "set longestQueueTime, or remove alertWhenMissed"
            found.append(Conflict("alertWhenMissed", "there is no longest queue time that could be missed", fix))
        for index, name in enumerate(self.usable_by):
            if name in self.usable_by[:index]:
                found.append(Conflict(f"usableBy.{index}", f"{name} is there twice", "remove one of the two"))
        raise_conflicts(found)
        return self


class PriorityClass(SpecModel):
    """A priority class, as a document."""

    api_version: Literal["perdure/v1"] = Field(description="Version of this format.", examples=["perdure/v1"])
    kind: Literal["PriorityClass"] = Field(description="The kind of document.", examples=["PriorityClass"])
    metadata: SharedMetadata = Field(description="Its name.", examples=[{"name": "production"}])
    spec: PriorityClassSpec = Field(description="What its jobs are worth.", examples=[{"value": 1000}])
