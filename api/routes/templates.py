"""Templates: jobs with parameters."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query
from sqlalchemy.orm import Session

from api.access import Caller, Needs
from api.body import TEMPLATE_BODY, TemplateBody
from api.idempotency import Once, Reply, once
from api.negotiate import Accept, one
from api.parameters import Cursor, DryRun, Limit, NamePath
from api.views import rendered, template_view
from definitions import documents
from definitions.api_catalog import CreateTemplate, RenderTemplate, TemplatePage, TemplateView
from definitions.api_submit import Rendered
from definitions.errors import PerdureError
from definitions.job_document import digest_of, document_of
from definitions.principal import Action, ResourceKind
from definitions.template import Template, render
from store import jobs, templates
from store.base import Document
from store.tables import TemplateRow

router = APIRouter(prefix="/v1/templates", tags=["templates"])

Lister = Annotated[Caller, Depends(Needs(Action.LIST, ResourceKind.TEMPLATE))]
Reader = Annotated[Caller, Depends(Needs(Action.READ, ResourceKind.TEMPLATE))]
Creator = Annotated[Caller, Depends(Needs(Action.CREATE, ResourceKind.TEMPLATE))]
Deleter = Annotated[Caller, Depends(Needs(Action.DELETE, ResourceKind.TEMPLATE))]
Version = Annotated[int | None, Query(description="Which version; the newest when left out.", examples=[2], ge=1)]
Values = Annotated[RenderTemplate | None, Body()]
PREVIEW: dict[int | str, dict[str, Any]] = {
    200: {"model": TemplateView, "description": "With `dryRun=true`: the version it would be."}
}


@router.post(
    "",
    name="templates.create",
    status_code=201,
    response_model=TemplateView,
    openapi_extra=TEMPLATE_BODY,
    responses=PREVIEW,
)
def create(caller: Creator, body: TemplateBody, request: Once, dry_run: DryRun = False) -> Any:
    """Store a template.

    A changed document under a name that is there becomes its next version; the same one changes nothing.
    """
    template = _parsed(body, caller.deps.settings.default_cluster)
    name = template.metadata.name
    document = document_of(template)
    digest = digest_of(document)
    if dry_run:
        with caller.reading() as session:
            return Reply.of(200, _planned(caller, session, name, document, digest)).send()

    def work(session: Session) -> Reply:
        row = templates.put(session, caller.tenant, caller.project, name, document, digest, caller.deps.now())
        view = _whole(caller, session, row)
        return Reply.of(201, view, Location=f"/v1/templates/{name}?project={caller.project}")

    return once(caller, request, work).send()


@router.get("", name="templates.list", response_model=TemplatePage)
def list_(caller: Lister, limit: Limit = None, cursor: Cursor = None) -> Any:
    """Templates by name, the newest version of each."""
    size = limit or caller.deps.settings.limits.default_page
    with caller.reading() as session:
        page = templates.page(session, caller.tenant, caller.project, limit=size, after=cursor)
        counts = jobs.count_by_template(session, caller.tenant, caller.project)
        items = [
            template_view(row, _versions(caller, session, row), counts.get(row.name, 0), whole=False)
            for row in page.items
        ]
    return TemplatePage(items=items, next=page.next)


@router.get("/{name}", name="templates.get", response_model=TemplateView)
def get(caller: Reader, name: NamePath, version: Version = None, accept: Accept = "") -> Any:
    """One template, with its parameters and the versions there are."""
    with caller.reading() as session:
        return one(_whole(caller, session, _find(caller, session, name, version)), accept)


@router.delete("/{name}", name="templates.delete", status_code=204)
def delete(caller: Deleter, name: NamePath) -> None:
    """Remove every version. Jobs that came from it keep their documents."""
    now = caller.deps.now()
    if not caller.writing(lambda session: templates.delete(session, caller.tenant, caller.project, name, now)):
        raise caller.missing(ResourceKind.TEMPLATE, name)


@router.post("/{name}:render", name="templates.render", response_model=Rendered)
def render_(caller: Reader, name: NamePath, body: Values = None) -> Any:
    """The job document that these values give."""
    wanted = body or RenderTemplate()
    with caller.reading() as session:
        row = _find(caller, session, name, wanted.version)
    job = render(Template.model_validate(row.document), wanted.values, caller.deps.settings.default_cluster)
    return rendered(job)


def _parsed(body: CreateTemplate, cluster: str) -> Template:
    if body.text is not None:
        return documents.parse_one(body.text, body.source or "document", Template, cluster=cluster)
    found = documents.from_data(body.document, source=body.source or "", cluster=cluster)
    if not isinstance(found, Template):
        raise PerdureError("PD-2022", f"one Template is expected, and it is a {found.kind}", where="document.kind")
    return found


def _find(caller: Caller, session: Session, name: str, version: int | None) -> TemplateRow:
    row = templates.get(session, caller.tenant, caller.project, name, version)
    if row is None:
        raise caller.missing(ResourceKind.TEMPLATE, name if version is None else f"{name}@{version}")
    return row


def _planned(caller: Caller, session: Session, name: str, document: Document, digest: str) -> TemplateView:
    """What storing the document would answer."""
    tenant, project = caller.tenant, caller.project
    version = templates.planned_version(session, tenant, project, name, digest)
    row = TemplateRow(name=name, version=version, document=document, created_at=caller.deps.now())
    there = templates.versions(session, tenant, project, name)
    count = jobs.count_by_template(session, tenant, project).get(name, 0)
    return template_view(row, sorted({*there, version}), count)


def _whole(caller: Caller, session: Session, row: TemplateRow) -> TemplateView:
    count = jobs.count_by_template(session, caller.tenant, caller.project).get(row.name, 0)
    return template_view(row, _versions(caller, session, row), count)


def _versions(caller: Caller, session: Session, row: TemplateRow) -> list[int]:
    return templates.versions(session, caller.tenant, caller.project, row.name)
