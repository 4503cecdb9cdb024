"""How a job stands to others: arrays, order, who is told, experiments and profiles."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from definitions.spec_types import Line, Name, SpecModel, Whole

MOST_OPEN = 10_000

MOST_AWAITED = 64  # jobs that one job can wait for


class Array(SpecModel):
    """The same job once per index, told by an environment variable."""

    first: Whole = Field(0, ge=0, le=1_000_000, description="First index.", examples=[0])
    last: Whole = Field(ge=0, le=1_000_000, description="Last index.", examples=[99])
    step: Whole = Field(1, ge=1, le=1_000_000, description="Distance between two indexes.", examples=[1])
    limit: Whole | None = Field(
        None,
        ge=1,
        le=MOST_OPEN,
        description="How many are under way at once, from waiting in a queue to having ended; left out, 1000.",
        examples=[10],
    )


class Outcome(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    FINISHED = "finished"


class Dependency(SpecModel):
    """Another job that has to end before this one begins. If it ends otherwise, this one fails without an attempt."""

    job: Name = Field(description="Name or id of the other job.", examples=["prepare-data"])
    outcome: Outcome = Field(
        Outcome.SUCCEEDED,
        description="How it has to end: succeeded, failed (or cancelled), or finished, in whatever way.",
        examples=["succeeded"],
    )


class NotificationEvent(StrEnum):
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    PREEMPTED = "preempted"


class Notification(SpecModel):
    """Who is told when something happens to the job."""

    channel: Line = Field(description="Name of a channel.", examples=["team-chat"])
    events: tuple[NotificationEvent, ...] = Field(
        (NotificationEvent.SUCCEEDED, NotificationEvent.FAILED),
        min_length=1,
        max_length=5,
        description="What they are told of.",
        examples=[["failed"]],
    )


class Profiling(SpecModel):
    """Which steps are profiled."""

    warmup_steps: Whole = Field(100, ge=0, description="Steps before it begins.", examples=[100])
    profile_steps: Whole = Field(20, ge=1, description="Steps that are profiled.", examples=[20])


Percent = Annotated[Whole, Field(ge=0, le=100)]
