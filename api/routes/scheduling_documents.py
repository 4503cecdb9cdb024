"""Queues, flavors, priority classes, topologies, node pools and reservations: the same routes for each kind, and all of
them applied together. They are the installation's; everybody may look."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from sqlalchemy.orm import Session

from api.access import Caller, Needs
from api.body import DOCUMENT_BODY, DOCUMENTS_BODY, DocumentBody, DocumentsBody
from api.idempotency import Once, Reply, once
from api.job_access import matches
from api.negotiate import Accept, one
from api.parameters import UNCHANGED, Cursor, DryRun, IfMatch, IfNoneMatch, Limit, NamePath
from api.scheduling_documents import (
    change_of,
    check_etag,
    check_unused,
    checked,
    document_view,
    etag,
    find,
    put,
    read_documents,
    remove,
)
from definitions.api_scheduling_documents import (
    DocumentChange,
    DocumentChanges,
    SchedulingDocument,
    SchedulingDocumentPage,
)
from definitions.documents import ForScheduler
from definitions.errors import PerdureError
from definitions.principal import Action, ResourceKind
from store import scheduling_documents

Changer = Annotated[Caller, Depends(Needs(Action.UPDATE, ResourceKind.QUEUE))]  # the rule is the same for every kind
Looker = Annotated[Caller, Depends(Needs(Action.READ, ResourceKind.QUEUE))]
Route = Callable[..., Any]
ADDED: dict[int | str, dict[str, Any]] = {201: {"model": DocumentChange, "description": "It was not there before."}}


@dataclass(frozen=True)
class Catalogue:
    """One kind of document. `words`: for many and for one of them. `shown_elsewhere`: with more than the document."""

    kind: str
    noun: str  # of its operations
    path: str
    resource: ResourceKind
    words: tuple[str, str]
    shown_elsewhere: bool = False


CATALOGUES = (
    Catalogue("Queue", "queues", "/v1/queues", ResourceKind.QUEUE, ("Queues", "queue")),
    Catalogue("ResourceFlavor", "flavors", "/v1/flavors", ResourceKind.FLAVOR, ("Flavors of GPU", "flavor")),
    Catalogue(
        "PriorityClass",
        "priorityClasses",
        "/v1/priority-classes",
        ResourceKind.PRIORITY_CLASS,
        ("Priority classes", "priority class"),
    ),
    Catalogue("Topology", "topologies", "/v1/topologies", ResourceKind.TOPOLOGY, ("Topologies", "topology")),
    Catalogue("NodePool", "nodePools", "/v1/node-pools", ResourceKind.NODE_POOL, ("Node pools", "node pool")),
    Catalogue(
        "Reservation",
        "reservations",
        "/v1/reservations",
        ResourceKind.RESERVATION,
        ("Reservations", "reservation"),
        shown_elsewhere=True,
    ),
)
router = APIRouter(tags=["scheduling"])


@router.post(
    "/v1/scheduling-documents:apply",
    name="schedulingDocuments.apply",
    response_model=DocumentChanges,
    openapi_extra=DOCUMENTS_BODY,
)
def apply(caller: Changer, body: DocumentsBody, request: Once, dry_run: DryRun = False) -> Any:
    """Store documents of the scheduler: all of them, or none when anything is wrong.

    They are checked together with all that is stored already.
    """
    sent = read_documents(body)
    if dry_run:
        with caller.reading() as session:
            checked(session, sent, caller.deps.now())
            planned = [change_of(session, kind) for kind in sent.kinds]
        return Reply.of(200, DocumentChanges(applied=False, items=planned)).send()

    def work(session: Session) -> Reply:
        scheduling_documents.lock(session)
        checked(session, sent, caller.deps.now())
        items = [_applied(caller, session, kind) for kind in sent.kinds]
        return Reply.of(200, DocumentChanges(applied=True, items=items))

    return once(caller, request, work).send()


@router.post(
    "/v1/scheduling-documents:diff",
    name="schedulingDocuments.diff",
    response_model=DocumentChanges,
    openapi_extra=DOCUMENTS_BODY,
)
def diff(caller: Looker, body: DocumentsBody) -> Any:
    """Compare documents of the scheduler with what is stored under their names. They are checked as apply would."""
    sent = read_documents(body)
    with caller.reading() as session:
        checked(session, sent, caller.deps.now())
        return DocumentChanges(applied=False, items=[change_of(session, kind) for kind in sent.kinds])


def _add_routes(of: Catalogue) -> None:
    many, single = of.words
    one_path = f"{of.path}/{{name}}"

    def add(path: str, verb: str, method: str, route: Route, text: str, **more: Any) -> None:
        router.add_api_route(path, route, name=f"{of.noun}.{verb}", methods=[method], description=text, **more)

    if not of.shown_elsewhere:
        add(of.path, "list", "GET", _list(of), f"{many} by name.", response_model=SchedulingDocumentPage)
        add(
            one_path,
            "get",
            "GET",
            _get(of),
            f"One {single}, with who changed it last.",
            response_model=SchedulingDocument,
            responses=UNCHANGED,
        )
    add(
        one_path,
        "put",
        "PUT",
        _put(of),
        f"Store a {single}, whether or not there is one of that name. It is checked together with all documents.",
        response_model=DocumentChange,
        responses=ADDED,
        openapi_extra=DOCUMENT_BODY,
    )
    text = f"Forget a {single}. Refused while other documents name it, or jobs need it."
    add(one_path, "delete", "DELETE", _delete(of), text, status_code=204)


def _list(of: Catalogue) -> Route:
    def list_(
        caller: Annotated[Caller, Depends(Needs(Action.LIST, of.resource))], limit: Limit = None, cursor: Cursor = None
    ) -> Any:
        size = limit or caller.deps.settings.limits.default_page
        with caller.reading() as session:
            page = scheduling_documents.page(session, of.kind, limit=size, after=cursor)
        return SchedulingDocumentPage(items=[document_view(row) for row in page.items], next=page.next)

    return list_


def _get(of: Catalogue) -> Route:
    def get(
        caller: Annotated[Caller, Depends(Needs(Action.READ, of.resource))],
        name: NamePath,
        if_none_match: IfNoneMatch = None,
        accept: Accept = "",
    ) -> Any:
        with caller.reading() as session:
            row = find(caller, session, of.kind, name)
        tag = {"ETag": etag(row)}
        if if_none_match is not None and matches(etag(row), if_none_match):
            return Response(status_code=304, headers=tag)
        return one(document_view(row), accept, tag)

    return get


def _put(of: Catalogue) -> Route:
    def put_(
        caller: Annotated[Caller, Depends(Needs(Action.UPDATE, of.resource))],
        name: NamePath,
        body: DocumentBody,
        request: Once,
        if_match: IfMatch = None,
        dry_run: DryRun = False,
    ) -> Any:
        sent = read_documents(body)
        _check_subject(of, name, sent.kinds)

        def look(session: Session) -> None:
            check_etag(of.kind, name, scheduling_documents.get(session, of.kind, name), if_match)
            checked(session, sent, caller.deps.now())

        def work(session: Session) -> Reply:
            scheduling_documents.lock(session)
            look(session)
            change = _applied(caller, session, sent.kinds[0])
            there = {"Location": f"{of.path}/{name}"} if change.outcome == "created" else {}
            return Reply.of(201 if there else 200, change, ETag=f'"{change.generation}"', **there)

        caller.log["document"] = f"{of.kind}/{name}"
        if not dry_run:
            return once(caller, request, work).send()
        with caller.reading() as session:
            look(session)
            return Reply.of(200, change_of(session, sent.kinds[0])).send()

    return put_


def _delete(of: Catalogue) -> Route:
    def delete(
        caller: Annotated[Caller, Depends(Needs(Action.DELETE, of.resource))], name: NamePath, if_match: IfMatch = None
    ) -> None:
        def work(session: Session) -> None:
            scheduling_documents.lock(session)
            check_etag(of.kind, name, find(caller, session, of.kind, name), if_match)
            check_unused(session, of.kind, name)
            remove(caller, session, of.kind, name)

        caller.log["document"] = f"{of.kind}/{name}"
        caller.writing(work)

    return delete


def _applied(caller: Caller, session: Session, kind: ForScheduler) -> DocumentChange:
    """Store one checked document and say what that changed."""
    change = change_of(session, kind)
    put(caller, session, kind)
    return change


def _check_subject(of: Catalogue, name: str, kinds: tuple[ForScheduler, ...]) -> None:
    """Raise PD-2022 unless the document is the one that the request is about."""
    if len(kinds) != 1 or kinds[0].kind != of.kind:
        found = f"it is a {kinds[0].kind}" if len(kinds) == 1 else f"there are {len(kinds)} documents"
        raise PerdureError("PD-2022", f"one {of.kind} is expected, and {found}", where="document.kind")
    if kinds[0].metadata.name != name:
        detail = f"the document is about {kinds[0].metadata.name!r}, the request about {name!r}"
        raise PerdureError("PD-2022", detail, where="metadata.name")


for _catalogue in CATALOGUES:
    _add_routes(_catalogue)
