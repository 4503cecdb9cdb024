"""Long-running jobs: how readiness is told, and how a crashed process comes back."""

from datetime import timedelta
from typing import Self

from pydantic import Field, model_validator

from definitions.job_lifecycle import NOTHING
from definitions.spec_types import Conflict, Duration, Line, RelativePath, SpecModel, Whole, raise_conflicts


class Readiness(SpecModel):
    """How to tell that a process of a service is ready. Exactly one of `file`, `tcpPort` and `httpPort`."""

    file: RelativePath | None = Field(
        None, description="Ready when this file exists in the run folder.", examples=["ready"]
    )
    tcp_port: Whole | None = Field(None, ge=1, le=65535, description="Ready when this port accepts.", examples=[8000])
    http_port: Whole | None = Field(
        None, ge=1, le=65535, description="Ready when `httpPath` on this port answers with 2xx.", examples=[8000]
    )
    http_path: Line | None = Field(
        None, pattern="^/", description="Path to ask for; `/` if left out.", examples=["/ready"]
    )
    initial_delay: Duration = Field(NOTHING, description="Wait before the first look.", examples=["5s"])
    period: Duration = Field(timedelta(seconds=5), gt=NOTHING, description="Time between two looks.", examples=["5s"])
    failure_threshold: Whole = Field(
        3, ge=1, le=1000, description="Failed looks in a row until a ready process is no longer so.", examples=[3]
    )

    @model_validator(mode="after")
    def _one_probe(self) -> Self:
        given = [name for name, at in self._probes() if at is not None]
        found = []
        if len(given) != 1:
            what = f"{' and '.join(given)} are both set" if given else "nothing says how to tell readiness"
            found.append(Conflict(given[1] if given else "", what, "set one of file, tcpPort and httpPort"))
        if self.http_path is not None and self.http_port is None:
            found.append(Conflict("httpPath", "httpPath has no port to be asked on", "set httpPort"))
        raise_conflicts(found)
        return self

    def _probes(self) -> tuple[tuple[str, object], ...]:
        return ("file", self.file), ("tcpPort", self.tcp_port), ("httpPort", self.http_port)


class Restart(SpecModel):
    """How a crashed process of a service is started again in place."""

    initial: Duration = Field(
        timedelta(seconds=1), gt=NOTHING, description="Wait before the first restart.", examples=["1s"]
    )
    max: Duration = Field(
        timedelta(minutes=1), gt=NOTHING, description="The longest wait; waits double.", examples=["1m"]
    )
    limit: Whole | None = Field(
        None, ge=0, description="Most restarts of a process in one attempt; more fail it.", examples=[10]
    )

    @model_validator(mode="after")
    def _grows(self) -> Self:
        if self.max < self.initial:
            raise_conflicts([Conflict("max", "max is shorter than initial", "make max at least as long as initial")])
        return self


class Service(SpecModel):
    """A long-running job: it has no success, a crashed process restarts in place. Needs `mode: service`."""

    readiness: Readiness | None = Field(
        None,
        description="How to tell that a process is ready. Left out, it is as soon as it runs.",
        examples=[{"tcpPort": 8000}],
    )
    restart: Restart = Field(Restart(), description="How crashed processes come back.", examples=[{"limit": 10}])
