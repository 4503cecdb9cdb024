"""Error codes: one registry, from which HTTP statuses, exit codes and the docs page of each code come.

A code is stable for ever: it may be retired, never reused.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import Any

from pydantic import BaseModel, ConfigDict


class Exit(IntEnum):
    """Exit codes of the command line."""

    OK = 0
    JOB_FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    AUTH = 4
    QUOTA = 5
    CONFLICT = 6
    TIMEOUT = 7
    SERVER = 8
    INTERRUPTED = 130


class ErrorCode(BaseModel):
    """One kind of refusal. `remedy` says what would make the request pass."""

    model_config = ConfigDict(frozen=True)

    code: str
    title: str
    status: int  # HTTP
    exit: Exit
    why: str
    remedy: str


class Problem(BaseModel):
    """RFC 9457 problem details, with our extensions. `where` is `file:line:column`, a field path, or a route."""

    model_config = ConfigDict(frozen=True)

    type: str
    title: str
    status: int
    detail: str
    code: str
    exit_code: int = int(Exit.SERVER)  # with which the command line ends
    where: str | None = None
    remedy: str | None = None
    instance: str | None = None
    request_id: str | None = None
    errors: tuple["Problem", ...] = ()  # when one request has several faults


class PerdureError(Exception):
    """Raised inside the project with a code of the registry; turned into problem+json or a CLI message at the edge."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        where: str | None = None,
        remedy: str | None = None,
        errors: Iterable["PerdureError"] = (),
        data: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = lookup(code)
        self.detail = detail
        self.where = where
        self.remedy = remedy or self.code.remedy
        self.errors = tuple(errors)
        self.data = data or {}

    def problem(self, *, instance: str | None = None, request_id: str | None = None) -> Problem:
        return Problem(
            type=documentation_path(self.code.code),
            title=self.code.title,
            status=self.code.status,
            detail=self.detail,
            code=self.code.code,
            exit_code=int(self.code.exit),
            where=self.where,
            remedy=self.remedy,
            instance=instance,
            request_id=request_id,
            errors=tuple(e.problem() for e in self.errors),
        )

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.detail} [{self.code.code}]. {self.remedy}"


_REGISTRY: dict[str, ErrorCode] = {}


def register(code: str, title: str, status: int, exit: Exit, why: str, remedy: str) -> ErrorCode:
    """Add a code. Called at import by the error_codes_*.py modules only, each for its own range."""
    if code in _REGISTRY:
        raise ValueError(f"{code} is registered twice")
    entry = ErrorCode(code=code, title=title, status=status, exit=exit, why=why, remedy=remedy)
    _REGISTRY[code] = entry
    return entry


def lookup(code: str) -> ErrorCode:
    _load()
    return _REGISTRY[code]


def all_codes() -> tuple[ErrorCode, ...]:
    _load()
    return tuple(_REGISTRY[code] for code in sorted(_REGISTRY))


def documentation_path(code: str) -> str:
    return f"/errors/{code}"


def _load() -> None:
    """Import the modules that register codes. Late, because they import this one."""
    from definitions import (  # noqa: F401
        error_codes_api,
        error_codes_arrays,
        error_codes_cli,
        error_codes_cluster,
        error_codes_data,
        error_codes_dependencies,
        error_codes_local,
        error_codes_pod,
        error_codes_production,
        error_codes_queueing,
        error_codes_reservations,
        error_codes_run,
        error_codes_scheduling,
        error_codes_spec,
        error_codes_store,
    )
