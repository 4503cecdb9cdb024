"""The kind Queue: a node of the tree that divides what there is among those who wait."""

from collections.abc import Iterator
from datetime import timedelta
from enum import StrEnum
from typing import Literal, Self

from pydantic import Field, model_validator

from definitions.quantities import format_cpus, format_size
from definitions.scheduling_types import Gpus, SharedMetadata, spelled_gpus
from definitions.spec_types import (
    Conflict,
    Cpus,
    Duration,
    Flag,
    Name,
    Number,
    Size,
    SpecModel,
    Text,
    raise_conflicts,
)

GUARANTEE = "What the queue always gets back; left out, as much as the queues below it together."
LIMIT = "What it never exceeds, with all queues below it; left out, there is no limit."
BORROWING = "What it may take above its guarantee of what others leave; left out, as much as there is."
LENDING = "What others may take of its guarantee; left out, all of it, and 0 keeps it free for the owner."


class QueueOrder(StrEnum):
    STRICT = "strict"
    BEST_EFFORT = "bestEffort"


class PreemptWithin(StrEnum):
    NEVER = "never"
    LOWER = "lowerPriority"
    LOWER_OR_NEWER = "lowerOrNewerEqualPriority"


class PreemptOthers(StrEnum):
    NEVER = "never"
    LOWER = "lowerPriority"
    ANY = "any"


class QueueStop(StrEnum):
    NO = "no"
    HOLD = "hold"
    DRAIN = "holdAndDrain"


class GpuQuota(SpecModel):
    """What a queue may have of GPUs."""

    guarantee: Gpus | None = Field(None, ge=0, description=GUARANTEE, examples=[8])
    limit: Gpus | None = Field(None, ge=0, description=LIMIT, examples=[16])
    borrowing: Gpus | None = Field(None, ge=0, description=BORROWING, examples=[8])
    lending: Gpus | None = Field(None, ge=0, description=LENDING, examples=[4])

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        raise_conflicts(list(_between(self)))
        return self


class CpuQuota(SpecModel):
    """What a queue may have of processors."""

    guarantee: Cpus | None = Field(None, ge=0, description=GUARANTEE, examples=[64])
    limit: Cpus | None = Field(None, ge=0, description=LIMIT, examples=[128])
    borrowing: Cpus | None = Field(None, ge=0, description=BORROWING, examples=[64])
    lending: Cpus | None = Field(None, ge=0, description=LENDING, examples=[0])

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        raise_conflicts(list(_between(self)))
        return self


class MemoryQuota(SpecModel):
    """What a queue may have of memory."""

    guarantee: Size | None = Field(None, ge=0, description=GUARANTEE, examples=["1Ti"])
    limit: Size | None = Field(None, ge=0, description=LIMIT, examples=["2Ti"])
    borrowing: Size | None = Field(None, ge=0, description=BORROWING, examples=["512Gi"])
    lending: Size | None = Field(None, ge=0, description=LENDING, examples=["256Gi"])

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        raise_conflicts(list(_between(self)))
        return self


def _between(quota: GpuQuota | CpuQuota | MemoryQuota) -> Iterator[Conflict]:
    """Faults between the four numbers of one quota."""
    spell = {GpuQuota: spelled_gpus, CpuQuota: format_cpus, MemoryQuota: format_size}[type(quota)]
    own, limit, lending = quota.guarantee, quota.limit, quota.lending
    if own is None:
        return
    if limit is not None and own > limit:
        what = f"guarantee {spell(own)} is above limit {spell(limit)}, which the queue can never use"
        yield Conflict("guarantee", what, f"write at most {spell(limit)}, or raise limit")
    if lending is not None and lending > own:
        what = f"lending {spell(lending)} is above guarantee {spell(own)}, and only that can be lent"
        yield Conflict("lending", what, f"write at most {spell(own)}, or raise guarantee")


class Quotas(SpecModel):
    """What a queue may have, by resource. A resource that is not named has no bounds here."""

    cpus: CpuQuota | None = Field(None, description="Of processors.", examples=[{"limit": 256}])
    memory: MemoryQuota | None = Field(None, description="Of memory.", examples=[{"limit": "2Ti"}])
    gpus: GpuQuota | None = Field(None, description="Of GPUs of all flavors together.", examples=[{"limit": 32}])
    flavors: dict[Name, GpuQuota] = Field(
        {},
        max_length=64,
        description="Of GPUs of one flavor, by the name of its ResourceFlavor.",
        examples=[{"h100": {"guarantee": 8, "limit": 16}}],
    )

    @model_validator(mode="after")
    def _flavors_fit(self) -> Self:
        raise_conflicts(list(_above_all(self)))
        return self


def _above_all(quotas: Quotas) -> Iterator[Conflict]:
    """Guarantees of flavors that are together more than what the queue may have of all."""
    together = sum(quota.guarantee or 0 for quota in quotas.flavors.values())
    if quotas.gpus is None:
        return
    for word, bound in (("limit", quotas.gpus.limit), ("guarantee", quotas.gpus.guarantee)):
        if bound is not None and together > bound:
            what = f"flavors are guaranteed {spelled_gpus(together)} GPUs together, above {word} {spelled_gpus(bound)}"
            yield Conflict(
                f"gpus.{word}", what, f"write at least {spelled_gpus(together)}, or guarantee less of flavors"
            )


class Preemption(SpecModel):
    """Whom jobs of the queue may displace."""

    within: PreemptWithin = Field(
        PreemptWithin.LOWER,
        description="In the queue itself: `never`; jobs of `lowerPriority`; or `lowerOrNewerEqualPriority`, which adds "
        "those of the same priority that were submitted later.",
        examples=["never"],
    )
    reclaim: PreemptOthers = Field(
        PreemptOthers.ANY,
        description="In queues that borrow while this one is below its guarantee or fair share: `never`; only jobs of "
        "`lowerPriority`; or `any`.",
        examples=["lowerPriority"],
    )


class QueueSpec(SpecModel):
    """What the queue may have, and how it chooses."""

    description: Text = Field("", description="Whom it is for.", examples=["Everybody who trains."])
    parent: Name | None = Field(
        None,
        description="The queue above, whose quotas hold for this one too; left out, it is a root.",
        examples=["all"],
    )
    weight: Number = Field(
        1.0, ge=0, le=1_000_000, description="Its part of what is lent, against its siblings.", examples=[2.0]
    )
    quotas: Quotas = Field(Quotas(), description="What it may have.", examples=[{"gpus": {"limit": 32}}])
    order: QueueOrder = Field(
        QueueOrder.BEST_EFFORT,
        description="`strict`: all wait for the first. `bestEffort`: others may pass it where they delay nobody.",
        examples=["strict"],
    )
    min_run_time: Duration = Field(
        timedelta(0), description="How long a job runs before it may be displaced.", examples=["30m"]
    )
    preemption: Preemption = Field(Preemption(), description="Whom it may displace.", examples=[{"within": "never"}])
    usage_half_life: Duration | None = Field(
        None,
        ge=timedelta(minutes=1),
        description="Past use counts against the queue, and half as much after each such time; left out, it is not "
        "counted.",
        examples=["7d"],
    )
    stop: QueueStop = Field(
        QueueStop.NO,
        description="`hold`: nothing new starts. `holdAndDrain`: and what runs is told to go.",
        examples=["hold"],
    )
    default: Flag = Field(False, description="Whether jobs that name no queue wait in this one.", examples=[True])


class Queue(SpecModel):
    """A queue, as a document."""

    api_version: Literal["perdure/v1"] = Field(description="Version of this format.", examples=["perdure/v1"])
    kind: Literal["Queue"] = Field(description="The kind of document.", examples=["Queue"])
    metadata: SharedMetadata = Field(description="Its name.", examples=[{"name": "research"}])
    spec: QueueSpec = Field(
        QueueSpec(), description="What it may have, and how it chooses.", examples=[{"parent": "all"}]
    )
