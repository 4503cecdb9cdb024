"""Bodies that may be JSON or YAML text."""

from typing import Annotated, Any, TypeVar

from fastapi import Depends, Header, Request
from pydantic import BaseModel, ValidationError

from api.problems import invalid
from definitions.api_catalog import CreateSchedule, CreateTemplate
from definitions.api_clusters import PutCluster
from definitions.api_scheduling_documents import ApplySchedulingDocuments, PutSchedulingDocument
from definitions.api_submit import SubmitJob
from definitions.errors import PerdureError

B = TypeVar("B", bound=BaseModel)
YAML_TYPES = frozenset({"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"})
Source = Annotated[
    str | None,
    Header(
        alias="Perdure-Source",
        description="Name of the file that YAML text came from.",
        examples=["job.yaml"],
        max_length=255,
    ),
]


def _described(model: str, example: str) -> dict[str, Any]:
    """For the description: routes read these bodies themselves, so the framework does not know them."""
    return {
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": {"$ref": f"#/components/schemas/{model}"}},
                "application/yaml": {"schema": {"type": "string"}, "example": example},
            },
        }
    }


JOB_BODY = _described("SubmitJob", "apiVersion: perdure/v1\nkind: Job\nmetadata:\n  name: digits\n")
TEMPLATE_BODY = _described("CreateTemplate", "apiVersion: perdure/v1\nkind: Template\n")
SCHEDULE_BODY = _described("CreateSchedule", "apiVersion: perdure/v1\nkind: Schedule\n")


CLUSTER_BODY = _described("PutCluster", "apiVersion: perdure/v1\nkind: Cluster\nmetadata:\n  name: north-1\n")
DOCUMENT_BODY = _described(
    "PutSchedulingDocument", "apiVersion: perdure/v1\nkind: Queue\nmetadata:\n  name: research\n"
)
DOCUMENTS_BODY = _described(
    "ApplySchedulingDocuments", "apiVersion: perdure/v1\nkind: Queue\nmetadata:\n  name: research\n"
)


async def _job(request: Request, source: Source = None) -> SubmitJob:
    return await read_body(request, SubmitJob, source)


async def _template(request: Request, source: Source = None) -> CreateTemplate:
    return await read_body(request, CreateTemplate, source)


async def _schedule(request: Request, source: Source = None) -> CreateSchedule:
    return await read_body(request, CreateSchedule, source)


async def _cluster(request: Request, source: Source = None) -> PutCluster:
    return await read_body(request, PutCluster, source)


async def _document(request: Request, source: Source = None) -> PutSchedulingDocument:
    return await read_body(request, PutSchedulingDocument, source)


async def _documents(request: Request, source: Source = None) -> ApplySchedulingDocuments:
    return await read_body(request, ApplySchedulingDocuments, source)


JobBody = Annotated[SubmitJob, Depends(_job)]
TemplateBody = Annotated[CreateTemplate, Depends(_template)]
ScheduleBody = Annotated[CreateSchedule, Depends(_schedule)]
ClusterBody = Annotated[PutCluster, Depends(_cluster)]
DocumentBody = Annotated[PutSchedulingDocument, Depends(_document)]
DocumentsBody = Annotated[ApplySchedulingDocuments, Depends(_documents)]


async def read_body(request: Request, model: type[B], source: str | None) -> B:
    """JSON is the model itself; YAML is its `text`. Raises PD-2014, PD-2015 or PD-2022 naming each field."""
    raw = await request.body()
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    try:
        if kind in YAML_TYPES:
            return model.model_validate({"text": _text(raw), "source": source})
        if kind == "application/json" or kind.endswith("+json"):
            return model.model_validate_json(raw)
    except ValidationError as error:
        raise invalid(error, "body") from None
    raise PerdureError("PD-2015", f"{kind[:100]!r} is neither JSON nor YAML", where="Content-Type")


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise PerdureError("PD-2014", f"byte {error.start} of the body is not UTF-8") from None
