"""The base of everything that crosses a process."""

from pydantic import BaseModel, ConfigDict


class Wire(BaseModel):
    """Frozen, and tolerant of fields that a newer sender adds: old workers meet new fields during a roll-out."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)  # an error's text ends in logs and histories
