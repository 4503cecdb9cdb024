"""Query parameters and headers that several routes share."""

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Header, Path, Query

JobPath = Annotated[
    str, Path(description="Id of a job, or a name: the newest job of that name.", examples=["digits"], max_length=63)
]
NamePath = Annotated[str, Path(description="Name.", examples=["nightly"], max_length=63)]
ClusterPath = Annotated[str, Path(description="Name of a cluster.", examples=["north-1"], max_length=63)]
NodePath = Annotated[str, Path(description="Name of a node.", examples=["gpu-7"], max_length=253)]
CodePath = Annotated[str, Path(description="An error code.", examples=["PD-2004"], max_length=16)]
ArtifactPath = Annotated[
    str, Path(description="Path below the job's artifacts folder.", examples=["model/weights.npz"], max_length=1024)
]
Limit = Annotated[
    int | None, Query(description="Most entries of one page; 50 when left out.", examples=[50], ge=1, le=500)
]
Cursor = Annotated[str | None, Query(description="`next` of the page before.", examples=["MDE5YWJj"], max_length=2048)]
DryRun = Annotated[bool, Query(alias="dryRun", description="Show what would happen and write nothing.")]
IdempotencyKey = Annotated[
    str | None,
    Header(
        description="Repeating a request with the same key gives the first answer again and does nothing more.",
        examples=["6f1c2d9a"],
        min_length=1,
        max_length=128,
    ),
]
IfMatch = Annotated[str | None, Header(description="Do it only while the ETag is this one.", examples=['"7"'])]
IfNoneMatch = Annotated[str | None, Header(description="Answer 304 while the ETag is this one.", examples=['"7"'])]
LastEventId = Annotated[
    str | None, Header(alias="Last-Event-ID", description="Go on after this entry of a stream.", max_length=2048)
]
UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "It still has the ETag given in If-None-Match."}}


def aware(time: datetime | None) -> datetime | None:
    """A time without a zone is meant in UTC."""
    return time.replace(tzinfo=UTC) if time is not None and time.tzinfo is None else time
