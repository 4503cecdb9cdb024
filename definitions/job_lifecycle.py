"""How a job lasts: retries, hang detection, and what is kept of its artifacts."""

from datetime import timedelta
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from definitions.spec_types import Conflict, Duration, Label, Number, Size, SpecModel, Whole, raise_conflicts, refusal
from definitions.states import FailureClass

NOTHING = timedelta(0)
VERDICTS = frozenset({FailureClass.TIMEOUT, FailureClass.REPEATED})


def _retriable(value: FailureClass) -> FailureClass:
    if value in VERDICTS:
        raise refusal("PD-1105", f"{value} ends a job and cannot be retried", "remove this rule")
    return value


RetriedClass = Annotated[FailureClass, AfterValidator(_retriable), Label("failure class")]


class Backoff(SpecModel):
    """How long to wait before the next attempt: `initial`, then `factor` times longer each time, never above `max`."""

    initial: Duration = Field(
        timedelta(seconds=10), gt=NOTHING, description="Before the second attempt.", examples=["10s"]
    )
    max: Duration = Field(timedelta(minutes=10), gt=NOTHING, description="The longest wait.", examples=["10m"])
    factor: Number = Field(2.0, ge=1, le=10, description="Growth from one wait to the next.", examples=[2, 1.5])

    @model_validator(mode="after")
    def _grows(self) -> Self:
        if self.max < self.initial:
            raise_conflicts([Conflict("max", "max is shorter than initial", "make max at least as long as initial")])
        return self


class Retry(SpecModel):
    """How often a failed attempt is followed by another. Which failures are worth it depends on their class."""

    limit: Whole = Field(3, ge=0, le=1000, description="Most attempts after the first. 0: never retry.", examples=[3])
    backoff: Backoff = Field(
        Backoff(), description="The wait before each further attempt.", examples=[{"initial": "30s"}]
    )
    budget: Duration | None = Field(
        None, gt=NOTHING, description="No attempt begins later than this after the first one began.", examples=["24h"]
    )
    rules: dict[RetriedClass, Annotated[Whole, Field(ge=0, le=1000)]] = Field(
        {},
        description="Most retries for single failure classes; 0: never. Classes not named follow the built-in table.",
        examples=[{"hang": 1, "out-of-memory": 0}],
    )


class Progress(SpecModel):
    """What the job's own reports in `progress.jsonl` are used for."""

    hang_after: Duration | None = Field(
        None,
        ge=timedelta(seconds=1),
        description="An attempt that reports nothing for so long is ended and counted as hung.",
        examples=["15m"],
    )


class Artifacts(SpecModel):
    """What becomes of the files that a job leaves in its `artifacts/` folder."""

    keep_for: Duration | None = Field(
        None,
        gt=NOTHING,
        description="Deleted so long after the job's end. Left out, kept until deleted.",
        examples=["30d"],
    )
    max_bytes: Size = Field(
        10 * 1024**3,
        ge=0,
        description="Most bytes kept of one attempt; what is beyond is named and left.",
        examples=["10Gi"],
    )
