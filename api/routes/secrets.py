"""Secrets: values go in and never come out."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from sqlalchemy.orm import Session

from api.access import Caller, Needs
from api.idempotency import Once, Reply, once
from api.parameters import Cursor, Limit, NamePath
from api.views import secret_view
from definitions.api_catalog import CreateSecret, RotateSecret, SecretPage, SecretView
from definitions.principal import Action, ResourceKind
from store import secrets

router = APIRouter(prefix="/v1/secrets", tags=["secrets"])

Lister = Annotated[Caller, Depends(Needs(Action.LIST, ResourceKind.SECRET))]
Creator = Annotated[Caller, Depends(Needs(Action.CREATE, ResourceKind.SECRET))]
Rotator = Annotated[Caller, Depends(Needs(Action.UPDATE, ResourceKind.SECRET, owned=True))]
Deleter = Annotated[Caller, Depends(Needs(Action.DELETE, ResourceKind.SECRET, owned=True))]


@router.post("", name="secrets.create", status_code=201, response_model=SecretView)
def create(caller: Creator, body: CreateSecret, request: Once) -> Any:
    """Keep a value, encrypted."""
    value, deps = body.value.get_secret_value(), caller.deps

    def work(session: Session) -> Reply:
        place = (caller.tenant, caller.project, body.name)
        row = secrets.create(session, deps.keys, *place, value, deps.now(), owner=caller.principal.name)
        return Reply.of(201, secret_view(row))

    return once(caller, request, work).send()


@router.get("", name="secrets.list", response_model=SecretPage)
def list_(caller: Lister, limit: Limit = None, cursor: Cursor = None) -> Any:
    """Names of secrets, and when they last changed."""
    size = limit or caller.deps.settings.limits.default_page
    with caller.reading() as session:
        page = secrets.page(session, caller.tenant, caller.project, limit=size, after=cursor)
    return SecretPage(items=[secret_view(row) for row in page.items], next=page.next)


@router.post("/{name}:rotate", name="secrets.rotate", response_model=SecretView)
def rotate(caller: Rotator, name: NamePath, body: RotateSecret, request: Once) -> Any:
    """Replace the value. Attempts that start from now on get the new one."""
    value, deps = body.value.get_secret_value(), caller.deps

    def work(session: Session) -> Reply:
        _require(caller, session, Action.UPDATE, name)
        row = secrets.rotate(session, deps.keys, caller.tenant, caller.project, name, value, deps.now())
        if row is None:
            raise caller.missing(ResourceKind.SECRET, name)
        return Reply.of(200, secret_view(row))

    return once(caller, request, work).send()


@router.delete("/{name}", name="secrets.delete", status_code=204)
def delete(caller: Deleter, name: NamePath) -> None:
    """Remove the value. Jobs that name it can no longer start attempts."""
    now = caller.deps.now()

    def work(session: Session) -> None:
        _require(caller, session, Action.DELETE, name)
        secrets.delete(session, caller.tenant, caller.project, name, now)

    caller.writing(work)


def _require(caller: Caller, session: Session, action: Action, name: str) -> None:
    """The secret must be there, and be one that the caller may change."""
    row = secrets.get(session, caller.tenant, caller.project, name)
    if row is None:
        raise caller.missing(ResourceKind.SECRET, name)
    caller.require(action, ResourceKind.SECRET, owner=row.owner)
