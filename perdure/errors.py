"""Errors that users of the client see. All carry a stable code, the place, the remedy and an exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perdure.codes import UNREADABLE_ANSWER, Code, Exit

# For answers of proxies and other strangers, which carry no exit code of ours.
BY_STATUS = {
    401: Exit.AUTH,
    403: Exit.AUTH,
    404: Exit.NOT_FOUND,
    409: Exit.CONFLICT,
    412: Exit.CONFLICT,
    429: Exit.QUOTA,
}


class PerdureError(Exception):
    """Base of all errors here.

    `detail` says what is wrong, `where` is a `file:line:column`, a path or a field, `remedy` says what would help.
    """

    def __init__(self, code: Code, detail: str, *, where: str | None = None, remedy: str | None = None) -> None:
        super().__init__(detail)
        self.code = code.code
        self.title = code.title
        self.detail = detail
        self.where = where
        self.why = code.why
        self.remedy = remedy or code.remedy
        self.exit_code = int(code.exit)
        self.errors: tuple[PerdureError, ...] = ()

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.detail} [{self.code}]. {self.remedy}"


class PerdureUnreachable(PerdureError):
    """Nothing answered: no connection, or it broke on every try."""


class PerdureWaitTimeout(PerdureError):
    """The time given for waiting is over; what was waited for goes on."""


class SnapshotRefused(PerdureError):
    """A folder cannot be kept whole. `paths` names what stands in the way, relative to the folder."""

    def __init__(self, code: Code, detail: str, *, where: str, paths: Sequence[str] = ()) -> None:
        super().__init__(code, detail, where=where)
        self.paths = tuple(paths)


class PerdureApiError(PerdureError):
    """The API refused. `code`, `detail`, `where` and `remedy` are the server's own words; `status` is HTTP's.

    `page` is the address of the page about the code; `request_id` finds the request in the server's log.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        where: str | None = None,
        remedy: str | None = None,
        exit_code: int = Exit.SERVER,
        status: int = 0,
        title: str = "",
        request_id: str | None = None,
        page: str | None = None,
        errors: Sequence[PerdureApiError] = (),
    ) -> None:
        super().__init__(Code(code, title or code, Exit.SERVER, "", remedy or ""), detail, where=where)
        self.exit_code = int(exit_code)
        self.status = status
        self.request_id = request_id
        self.page = page
        self.errors = tuple(errors)

    @classmethod
    def from_problem(cls, problem: Mapping[str, Any], status: int) -> PerdureApiError:
        """Read problem+json. What lacks a code is not ours, and becomes PD-2902 with the status that it came with."""
        status = _number(problem.get("status"), status)
        code = str(problem.get("code") or UNREADABLE_ANSWER.code)
        nested = [each for each in problem.get("errors") or () if isinstance(each, Mapping)]
        return cls(
            code,
            str(problem.get("detail") or problem.get("title") or f"HTTP status {status}"),
            where=_text(problem.get("where")),
            remedy=_text(problem.get("remedy"))
            or (UNREADABLE_ANSWER.remedy if code == UNREADABLE_ANSWER.code else None),
            exit_code=_number(problem.get("exitCode"), BY_STATUS.get(status, _by_class(status))),
            status=status,
            title=str(problem.get("title") or ""),
            request_id=_text(problem.get("requestId")),
            page=_text(problem.get("type")),
            errors=[cls.from_problem(each, status) for each in nested],
        )


def _by_class(status: int) -> Exit:
    return Exit.USAGE if 400 <= status < 500 else Exit.SERVER


def _number(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) else otherwise


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
