"""What every model of the client has in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Frozen; `snake_case` in Python and the API's own names in JSON; unknown fields of a newer API are ignored.

    Validators are built when a model is first used: a command that needs two models should not wait for a hundred.
    """

    model_config = ConfigDict(
        frozen=True, validate_by_name=True, validate_by_alias=True, serialize_by_alias=True, defer_build=True
    )
