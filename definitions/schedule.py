"""The kind Schedule: a job that is submitted again and again."""

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from definitions import cron
from definitions.job import Job, Metadata
from definitions.job_lifecycle import NOTHING
from definitions.spec_errors import did_you_mean
from definitions.spec_types import (
    Conflict,
    Duration,
    Flag,
    Instant,
    Label,
    Line,
    SpecModel,
    raise_conflicts,
    refusal,
)


def _cron_line(value: str) -> str:
    try:
        cron.parse_line(value)
    except cron.CronError as error:
        raise refusal("PD-1116", error.what, error.fix) from None
    return value


def _time_zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ValueError, OSError, KeyError):
        close = did_you_mean(value, available_timezones())
        fix = f"did you mean {close}?" if close else "write it like Europe/Berlin, or UTC"
        raise refusal("PD-1115", f"{value!r} is not a time zone", fix) from None
    return value


def _field(field: cron.Field) -> Any:
    """A calendar field: text in cron's spelling, or one number."""

    def read(value: object) -> str:
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if not isinstance(text, str):
            raise refusal("PD-1116", f"{value!r} is not a {field.label}", 'write a number, or text such as "1-5"')
        try:
            cron.parse_field(text, field)
        except cron.CronError as error:
            raise refusal("PD-1116", error.what, error.fix) from None
        return text

    return BeforeValidator(read)


_SPELLING = WithJsonSchema({"type": ["string", "integer"]})
_TEXT = Label("cron field")
CronLine = Annotated[Line, AfterValidator(_cron_line), Label("cron line")]
TimeZone = Annotated[Line, AfterValidator(_time_zone), Label("time zone")]
Second = Annotated[str, _field(cron.SECOND), _SPELLING, _TEXT]
Minute = Annotated[str, _field(cron.MINUTE), _SPELLING, _TEXT]
Hour = Annotated[str, _field(cron.HOUR), _SPELLING, _TEXT]
DayOfMonth = Annotated[str, _field(cron.DAY_OF_MONTH), _SPELLING, _TEXT]
Month = Annotated[str, _field(cron.MONTH), _SPELLING, _TEXT]
DayOfWeek = Annotated[str, _field(cron.DAY_OF_WEEK), _SPELLING, _TEXT]
Year = Annotated[str, _field(cron.YEAR), _SPELLING, _TEXT]


class Overlap(StrEnum):
    """What happens at a time when the job before still runs."""

    SKIP = "skip"
    BUFFER_ONE = "bufferOne"
    BUFFER_ALL = "bufferAll"
    CANCEL_OTHER = "cancelOther"
    TERMINATE_OTHER = "terminateOther"
    ALLOW_ALL = "allowAll"


class Calendar(SpecModel):
    """Times at which every field matches. Fields are written as in cron: `*`, `5`, `1-5`, `*/15`, `mon-fri`."""

    second: Second = Field("0", description="Seconds.", examples=["0"])
    minute: Minute = Field("0", description="Minutes.", examples=["*/15"])
    hour: Hour = Field("0", description="Hours.", examples=["9-17"])
    day_of_month: DayOfMonth = Field("*", description="Days of the month.", examples=["1"])
    month: Month = Field("*", description="Months.", examples=["jan-mar"])
    day_of_week: DayOfWeek = Field("*", description="Days of the week; 0 and 7 are Sunday.", examples=["mon-fri"])
    year: Year = Field("*", description="Years.", examples=["2027"])
    comment: Line | None = Field(None, description="What it is for.", examples=["office hours"])

    @model_validator(mode="after")
    def _comes(self) -> Self:
        months = cron.parse_field(self.month, cron.MONTH)
        if not cron.any_date(months, cron.parse_field(self.day_of_month, cron.DAY_OF_MONTH)):
            raise_conflicts(
                [Conflict("dayOfMonth", "no such month ever has such a day", "correct dayOfMonth or month")]
            )
        return self


class ScheduleSpec(SpecModel):
    """When, and what."""

    cron: tuple[CronLine, ...] = Field(
        (), max_length=16, description="Cron lines; each fires by itself.", examples=[["30 3 * * *"]]
    )
    calendars: tuple[Calendar, ...] = Field(
        (), max_length=16, description="Times by calendar fields; each fires by itself.", examples=[[{"hour": "3"}]]
    )
    time_zone: TimeZone = Field("UTC", description="The zone that the times are meant in.", examples=["Europe/Berlin"])
    overlap: Overlap = Field(
        Overlap.SKIP,
        description="When the job before still runs: `skip` this time; `bufferOne` or `bufferAll`: run when it has "
        "ended; `cancelOther`: cancel it and run when it has ended; `terminateOther`: end it at once; `allowAll`: run "
        "beside it.",
        examples=["skip"],
    )
    catch_up_window: Duration = Field(
        timedelta(minutes=10),
        ge=timedelta(seconds=10),
        le=timedelta(days=365),
        description="How late a time that was missed, with the control plane down, still fires.",
        examples=["10m"],
    )
    jitter: Duration = Field(
        NOTHING, le=timedelta(days=1), description="Each time is delayed at random by up to this.", examples=["5m"]
    )
    paused: Flag = Field(False, description="Whether it fires nothing for now.", examples=[True])
    start_at: Instant | None = Field(None, description="Nothing fires earlier.", examples=["2026-02-01T00:00:00Z"])
    end_at: Instant | None = Field(None, description="Nothing fires later.", examples=["2026-12-31T00:00:00Z"])
    job: Job = Field(description="The job; each run's name gets a suffix.", examples=[{"kind": "Job"}])

    @model_validator(mode="after")
    def _fires(self) -> Self:
        found = []
        if not self.cron and not self.calendars:
            found.append(Conflict("cron", "nothing says when it fires", 'write cron: ["30 3 * * *"], or calendars'))
        if self.start_at and self.end_at and self.end_at <= self.start_at:
            found.append(Conflict("endAt", "endAt is not after startAt", "make endAt later"))
        raise_conflicts(found)
        return self


class Schedule(SpecModel):
    """A job that is submitted at given times."""

    api_version: Literal["perdure/v1"] = Field(description="Version of this format.", examples=["perdure/v1"])
    kind: Literal["Schedule"] = Field(description="The kind of document.", examples=["Schedule"])
    metadata: Metadata = Field(description="Name, project, labels.", examples=[{"name": "nightly"}])
    spec: ScheduleSpec = Field(description="When, and what.", examples=[{"cron": ["30 3 * * *"]}])
