"""The kind Reservation: nodes or GPUs that are kept for a queue in windows of time, once or again and again."""

from datetime import timedelta
from enum import StrEnum
from typing import Literal, Self

from pydantic import Field, model_validator

from definitions.recurrence import Recurrence, start_fault
from definitions.schedule import TimeZone
from definitions.scheduling_types import SharedMetadata, WallTime
from definitions.spec_types import (
    Conflict,
    Duration,
    Flag,
    Line,
    Name,
    SpecModel,
    Text,
    Whole,
    raise_conflicts,
)

NOTHING = timedelta(0)
LONGEST = timedelta(days=366)


class LeadMode(StrEnum):
    DRAIN = "drain"
    BACKFILL = "backfill"


class AtEnd(StrEnum):
    SUSPEND = "suspend"
    KEEP = "keep"
    CANCEL = "cancel"


class ReservedCapacity(SpecModel):
    """What is kept: whole nodes, GPUs wherever they are, or nodes by name."""

    nodes: Whole | None = Field(None, ge=1, le=100_000, description="So many whole nodes.", examples=[4])
    gpus: Whole | None = Field(None, ge=1, le=1_000_000, description="So many GPUs.", examples=[32])
    flavor: Name | None = Field(
        None, description="ResourceFlavor of these nodes or GPUs; left out, any.", examples=["h100"]
    )
    node_names: tuple[Line, ...] = Field(
        (), max_length=4096, description="These nodes.", examples=[["node-0001", "node-0002"]]
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        given = {"nodes": self.nodes is not None, "gpus": self.gpus is not None, "nodeNames": bool(self.node_names)}
        said = [name for name, there in given.items() if there]
        found = []
        if not said:
            found.append(Conflict("nodes", "nothing says how much is kept", "write nodes, gpus or nodeNames"))
        if len(said) > 1:
            what = f"{' and '.join(said)} each say how much is kept"
            found += [Conflict(name, what, f"remove it, or {said[0]}") for name in said[1:]]
        if self.node_names and self.flavor is not None:
            found.append(Conflict("flavor", "nodes that are named have the GPUs that they have", "remove flavor"))
        for index, name in enumerate(self.node_names):
            if name in self.node_names[:index]:
                found.append(Conflict(f"nodeNames.{index}", f"{name} is there twice", "remove one of the two"))
        raise_conflicts(found)
        return self


class Lead(SpecModel):
    """How the nodes become free for the start. What still runs there then is told to go."""

    time: Duration | None = Field(
        None,
        le=timedelta(days=30),
        description="So long before each start the nodes are watched, and before that anything starts there. Left out: "
        "nothing is ever started there that might still run at the start.",
        examples=["2h"],
    )
    mode: LeadMode = Field(
        LeadMode.BACKFILL,
        description="In that time `drain` starts nothing there; `backfill` starts what has declared to end before.",
        examples=["drain"],
    )

    @model_validator(mode="after")
    def _drains_in_some_time(self) -> Self:
        if self.mode is LeadMode.DRAIN and not self.time:
            raise_conflicts([Conflict("time", "nothing says how long before a start to drain", "write time: 2h")])
        return self


class ReservationUsers(SpecModel):
    """Whose jobs may run in it, beside those of its queue and of all queues below."""

    queues: tuple[Name, ...] = Field(
        (), max_length=256, description="Further queues, each with all below it.", examples=[["production"]]
    )
    without_naming: Flag = Field(
        False,
        description="Whether jobs that name no reservation may run in it too. `true` is refused "
        "([PD-1619](errors/PD-1619.md)): here only jobs that name it do.",
        examples=[False],
    )


class Extension(SpecModel):
    """Whether a window may become longer. Never into another reservation of the same capacity."""

    most: Duration = Field(NOTHING, le=LONGEST, description="So much in all; 0s, not at all.", examples=["4h"])
    notice: Duration = Field(
        NOTHING, le=LONGEST, description="It must be asked for so long before the end.", examples=["30m"]
    )
    automatic: Flag = Field(
        False, description="Whether it becomes longer by itself while its jobs still run.", examples=[True]
    )

    @model_validator(mode="after")
    def _allows(self) -> Self:
        found = []
        for name, there in (("notice", bool(self.notice)), ("automatic", self.automatic)):
            if there and not self.most:
                found.append(Conflict(name, "no extension is allowed", f"set most, or remove {name}"))
        raise_conflicts(found)
        return self


class Cancellation(SpecModel):
    """What is charged when it is given up."""

    notice: Duration = Field(
        NOTHING, le=LONGEST, description="Charged until so long after it was cancelled.", examples=["1d"]
    )


class ReservationSpec(SpecModel):
    """What is kept, for whom, and when."""

    description: Text = Field("", description="What it is for.", examples=["Nightly evaluation."])
    queue: Name = Field(description="Queue that owns it and is charged for it.", examples=["research"])
    cluster: Name | None = Field(
        None, description="Cluster whose nodes are kept; left out, those of this machine.", examples=["north-1"]
    )
    pool: Name | None = Field(
        None, description="NodePool that it is taken from; left out, any nodes.", examples=["training"]
    )
    capacity: ReservedCapacity = Field(description="What is kept.", examples=[{"nodes": 4}])
    start: WallTime = Field(description="The first start, in local time.", examples=["2027-03-05T10:00"])
    time_zone: TimeZone = Field(
        description="The zone that local times are meant in. A start or end that clocks jump over becomes the first "
        "moment after the jump; of one that comes twice the first is meant.",
        examples=["Europe/Berlin"],
    )
    end: WallTime | None = Field(
        None,
        description="The first end, in local time; later windows end as many days later at the same local time.",
        examples=["2027-03-05T18:00"],
    )
    length: Duration | None = Field(
        None, ge=timedelta(minutes=1), le=LONGEST, description="Real time from start to end.", examples=["8h"]
    )
    repeat: Recurrence | None = Field(None, description="How it comes again.", examples=[{"frequency": "weekly"}])
    lead: Lead = Field(Lead(), description="How its nodes become free.", examples=[{"time": "2h"}])
    at_end: AtEnd = Field(
        AtEnd.SUSPEND,
        description="Jobs that still run at the end: `suspend` saves them and has them wait; `keep` lets them run on "
        "like any others; `cancel` ends them.",
        examples=["keep"],
    )
    grace: Duration = Field(
        timedelta(minutes=10),
        le=timedelta(days=1),
        description="After the end, time for jobs to save and stop.",
        examples=["10m"],
    )
    users: ReservationUsers = Field(
        ReservationUsers(), description="Who may use it.", examples=[{"queues": ["production"]}]
    )
    extension: Extension = Field(Extension(), description="Whether it may become longer.", examples=[{"most": "4h"}])
    cancellation: Cancellation = Field(
        Cancellation(), description="What is charged when it is given up.", examples=[{"notice": "1d"}]
    )
    charge_idle: Flag = Field(True, description="Whether time that nobody used is charged.", examples=[False])

    @model_validator(mode="after")
    def _when(self) -> Self:
        found = []
        if self.end is None and self.length is None:
            found.append(Conflict("length", "nothing says when it ends", "write length: 8h, or end"))
        if self.end is not None and self.length is not None:
            found.append(Conflict("length", "end and length both say when it ends", "remove one of the two"))
        if self.end is not None and not self.start < self.end <= self.start + LONGEST:
            what = "end is not after start" if self.end <= self.start else "it lasts longer than 366 days"
            found.append(Conflict("end", what, "write an end after the start, at most 366 days later"))
        if self.repeat is not None and (fault := start_fault(self.repeat, self.start)):
            found.append(fault)
        raise_conflicts(found)
        return self


class Reservation(SpecModel):
    """A reservation, as a document."""

    api_version: Literal["perdure/v1"] = Field(description="Version of this format.", examples=["perdure/v1"])
    kind: Literal["Reservation"] = Field(description="The kind of document.", examples=["Reservation"])
    metadata: SharedMetadata = Field(description="Its name.", examples=[{"name": "nightly-eval"}])
    spec: ReservationSpec = Field(description="What is kept, for whom, and when.", examples=[{"queue": "research"}])
