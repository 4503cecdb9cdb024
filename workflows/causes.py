"""What the failure of an activity says."""

from typing import Any

from temporalio.exceptions import ActivityError, ApplicationError


def cause_of(error: ActivityError) -> str:
    """The message worth showing."""
    return error.cause.message if isinstance(error.cause, ApplicationError) else str(error.cause or error)


def refusal_in(error: ActivityError) -> dict[str, Any]:
    """The same as fields of a fact, with its code, and whether trying again cannot help."""
    known = error.cause if isinstance(error.cause, ApplicationError) else None
    code, permanent = (known.type or "", known.non_retryable) if known is not None else ("", False)
    return {"message": cause_of(error), "code": code, "permanent": permanent}
