"""What the API says of itself, and how it says no."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from definitions.api_base import Page, View, doc
from definitions.errors import Exit, PerdureError
from definitions.errors import Problem as Fault


class FindingStatus(StrEnum):
    OK = "ok"
    FAILED = "failed"
    UNKNOWN = "unknown"


class Health(View):
    """The API process answers, and its store too."""

    status: Annotated[str, doc("ok, or degraded when a part cannot be reached.", "ok")]
    pid: Annotated[int, doc("Process id of the API.", 4711)]
    checks: Annotated[dict[str, str], doc("State by part.", {"store": "ok"})] = {}


class Version(View):
    """What is running."""

    name: Annotated[str, doc("Always perdure.", "perdure")] = "perdure"
    version: Annotated[str, doc("Version of the control plane.", "0.1.0")]
    api: Annotated[str, doc("Version of this API.", "v1")] = "v1"
    python: Annotated[str, doc("Version of Python it runs on.", "3.11.7")]


class Finding(View):
    """What was found out about one part of a deployment."""

    check: Annotated[str, doc("What was looked at.", "queue control")]
    status: Annotated[FindingStatus, doc("ok, failed, or unknown when it could not be looked at.", "failed")]
    detail: Annotated[str, doc("What was found.", "nobody asks for workflow tasks")]
    code: Annotated[str | None, doc("Code of what is wrong.", "PD-4114")] = None
    remedy: Annotated[str | None, doc("What would help.", "Start the worker: `perdure serve worker`")] = None


class Diagnosis(View):
    """How a deployment is."""

    healthy: Annotated[bool, doc("Whether every finding is ok.", False)]
    findings: Annotated[list[Finding], doc("In the order in which they were looked at.", [])]


class ErrorCodeView(View):
    """One kind of refusal."""

    code: Annotated[str, doc("Stable for ever.", "PD-2004")]
    title: Annotated[str, doc("In a few words.", "Not found")]
    status: Annotated[int, doc("HTTP status.", 404)]
    exit: Annotated[int, doc("Exit code of the command line.", int(Exit.NOT_FOUND))]
    why: Annotated[str, doc("When it is given.", "Nothing of that kind has that name.")]
    remedy: Annotated[str, doc("What would help.", "List what there is.")]
    page: Annotated[str, doc("Path of its page.", "/errors/PD-2004")]


class ErrorCodePage(Page[ErrorCodeView]):
    """Every code, in order."""


class Problem(View):
    """A refusal (RFC 9457), sent as application/problem+json."""

    type: Annotated[str, doc("Address of the page about this code.", "http://127.0.0.1:8642/errors/PD-2004")]
    title: Annotated[str, doc("In a few words.", "Not found")]
    status: Annotated[int, doc("HTTP status.", 404)]
    detail: Annotated[str, doc("What happened here.", "no job `digits` in project `default`")]
    code: Annotated[str, doc("Stable code.", "PD-2004")]
    where: Annotated[str | None, doc("file:line:column, a field, or a route.", "spec.retry.limit")] = None
    remedy: Annotated[str | None, doc("What would help.", "List what there is.")] = None
    instance: Annotated[str | None, doc("Path of the request.", "/v1/jobs/digits")] = None
    request_id: Annotated[str | None, doc("Also in the server's log.", "0k3bw2m4x9")] = None
    exit_code: Annotated[int, doc("With which the command line ends.", int(Exit.NOT_FOUND))] = int(Exit.SERVER)
    data: Annotated[dict[str, Any], doc("Facts to act on, by kind of refusal.", {"phase": "Succeeded"})] = {}
    errors: Annotated[list["Problem"], Field(description="One entry per fault, when there are several.")] = []

    @classmethod
    def of(cls, fault: Fault, public_url: str) -> "Problem":
        """The API's form of a fault; `type` becomes an address that can be opened."""
        fields = fault.model_dump(exclude={"errors", "type"})
        nested = [cls.of(error, public_url) for error in fault.errors]
        return cls(type=public_url.rstrip("/") + fault.type, errors=nested, **fields)

    @classmethod
    def telling(cls, error: PerdureError, public_url: str, *, instance: str, request_id: str) -> "Problem":
        """What one request is told of its refusal, with the facts to act on."""
        problem = cls.of(error.problem(instance=instance, request_id=request_id), public_url)
        return problem.model_copy(update={"data": error.data})
