"""The base of what the HTTP API takes and gives: camelCase names, a description and an example on every field."""

from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

T = TypeVar("T")

Document = dict[str, Any]  # a Job, Template or Schedule document as JSON; definitions/job.py and its siblings parse it


def doc(text: str, example: Any, **rules: Any) -> FieldInfo:
    """What a field means, one value it can have, and the rules that pydantic checks (`ge`, `max_length`, ...)."""
    field: FieldInfo = Field(description=text, examples=[example], **rules)
    return field


class View(BaseModel):
    """What the API answers. Clients must ignore fields they do not know: newer servers add some."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)


class Body(BaseModel):
    """What the API takes. A field that is not listed is refused, so nobody sets what only the platform may set."""

    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True, extra="forbid"
    )


class Page(View, Generic[T]):
    """One page of a list, newest first unless the route says otherwise."""

    items: Annotated[list[T], Field(description="The entries of this page.")]
    next: Annotated[str | None, doc("Give it as `cursor` to go on; null on the last page.", "MDE5YWJj")] = None


Sha256 = Annotated[str, doc("64 lower-case hex digits.", "9f86d081" + "0" * 56, pattern=r"^[0-9a-f]{64}$")]
Reason = Annotated[str, doc("Why, in your words; kept in the job's events.", "making room", max_length=500)]
