"""What the documents of the scheduler have in common: names, amounts of GPUs, wall times, quotas."""

import re
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from definitions.spec_types import Label, Name, SpecModel, refusal

WHOLE_GPU = 1000  # parts
MOST_GPUS = 10_000_000
_GPUS = re.compile(r"[0-9]{1,8}(\.[0-9]{1,3})?")
_WALL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}")
_GPUS_FIX = "write whole GPUs (8), or a fraction with up to three places (0.5)"
_WALL_FIX = "write it like 2027-03-05T10:00, and the zone in timeZone"


def _gpus(value: object) -> int:
    """Parts of a GPU (1/1000) from `8` or `0.5`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not _GPUS.fullmatch(str(value)):
        raise refusal("PD-1601", f"{value!r} is not a number of GPUs", _GPUS_FIX)
    parts = int(Decimal(str(value)) * WHOLE_GPU)
    if parts > MOST_GPUS * WHOLE_GPU:
        raise refusal("PD-1601", f"{value} is more than {MOST_GPUS} GPUs", _GPUS_FIX)
    return parts


def spelled_gpus(parts: int) -> int | float:
    """GPUs as people write them: `8`, `0.5`."""
    return parts // WHOLE_GPU if parts % WHOLE_GPU == 0 else parts / WHOLE_GPU


def _wall(value: object) -> datetime:
    """A local time without zone, to the minute."""
    if isinstance(value, datetime):
        found = value
    elif not isinstance(value, str):
        raise refusal("PD-1602", f"{value!r} is not a local time", _WALL_FIX)
    else:
        try:
            found = datetime.fromisoformat(value)
        except ValueError:
            raise refusal("PD-1602", f"{value!r} is not a local time", _WALL_FIX) from None
    if found.tzinfo is not None:
        raise refusal("PD-1602", f"{value} has an offset, and timeZone says which it is", _WALL_FIX)
    if found.second or found.microsecond or (isinstance(value, str) and not _WALL.fullmatch(value)):
        raise refusal("PD-1602", f"{value} is not written to the minute", _WALL_FIX)
    if not 1970 < found.year < 9000:
        raise refusal("PD-1602", f"the year {found.year} is out of reach", "choose a year from 1971")
    return found


def spelled_wall(value: datetime) -> str:
    return value.strftime("%Y-%m-%dT%H:%M")


def _schema(kind: str | list[str], **more: Any) -> WithJsonSchema:
    return WithJsonSchema({"type": kind, **more})


Gpus = Annotated[
    int,
    BeforeValidator(_gpus),
    PlainSerializer(spelled_gpus, return_type=int | float, when_used="json"),
    _schema("number", examples=[8, 0.5]),
    Label("GPUs"),
]
WallTime = Annotated[
    datetime,
    BeforeValidator(_wall),
    PlainSerializer(spelled_wall, return_type=str, when_used="json"),
    _schema("string", pattern="^[0-9-]{10}T[0-9:]{5}$"),
    Label("local time"),
]


class SharedMetadata(SpecModel):
    """How it is called. It belongs to the installation, not to a project."""

    name: Name = Field(description="Its name; unique among things of the kind.", examples=["research"])
