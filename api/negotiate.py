"""Single things as JSON, or as YAML for those who ask for it."""

from typing import Annotated

from fastapi import Header, Response
from pydantic import BaseModel

from definitions.yaml_writer import dump

YAML = "application/yaml"
Accept = Annotated[str, Header(include_in_schema=False)]


def one(view: BaseModel, accept: str, headers: dict[str, str] | None = None) -> Response:
    """The answer with one thing, in the form that `Accept` prefers."""
    if _prefers_yaml(accept):
        text = dump(view.model_dump(mode="json", by_alias=True, exclude_none=True))
        return Response(text, media_type=YAML, headers=headers)
    return Response(view.model_dump_json(by_alias=True), media_type="application/json", headers=headers)


def _prefers_yaml(accept: str) -> bool:
    first = accept.partition(",")[0].partition(";")[0].strip().lower()
    return first in (YAML, "application/x-yaml", "text/yaml")
