"""Who may ask: every route declares its verb and kind here, once, and gets back who is calling."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Annotated, TypeVar

from fastapi import Query, Request, Security, WebSocket
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.orm import Session

from api.deps import ApiDeps, deps_of
from definitions.errors import PerdureError
from definitions.ids import DEFAULT_PROJECT
from definitions.principal import OF_THE_INSTALLATION, Action, Principal, Resource, ResourceKind
from definitions.spec_types import Name
from policies.access import may
from store import tokens
from store.engine import reading, transaction

T = TypeVar("T")
BEARER = HTTPBearer(auto_error=False, bearerFormat="pd_live_...", description="An API key.")
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)]
ProjectQuery = Annotated[
    Name | None,
    Query(description="Project to work in; `default` when left out.", examples=[DEFAULT_PROJECT]),
]


@dataclass(frozen=True)
class Caller:
    """An authenticated request. `project` is one that the principal may use; `named`: the request named it.

    What is put into `log` stands in the request's line of the log.
    """

    principal: Principal
    project: str
    named: bool
    deps: ApiDeps
    request_id: str
    log: dict[str, str] = field(default_factory=dict)

    @property
    def tenant(self) -> str:
        return self.principal.tenant

    def require(
        self, action: Action, kind: ResourceKind, *, project: str | None = None, owner: str | None = None
    ) -> None:
        """Raise PD-2002 unless the caller may do this to such a thing of its own tenant, or of the installation."""
        tenant = self.deps.settings.operating_tenant if kind in OF_THE_INSTALLATION else self.tenant
        resource = Resource(kind=kind, tenant=tenant, project=project or self.project, owner=owner)
        verdict = may(self.principal, action, resource)
        if not verdict.allowed:
            raise PerdureError("PD-2002", f"{self.principal.name} may not {action} this {kind}: {verdict.reason}")

    def missing(self, kind: ResourceKind | str, reference: str) -> PerdureError:
        """The one answer for what is not there, whether nobody has it or another tenant does."""
        place = "" if kind in OF_THE_INSTALLATION else f" in project {self.project!r}"
        return PerdureError("PD-2004", f"there is no {kind} {reference!r}{place}")

    def reading(self) -> AbstractContextManager[Session]:
        return reading(self.deps.engine)

    def writing(self, work: Callable[[Session], T]) -> T:
        """Run `work` in one write transaction; it may run again when another transaction had to go first."""
        return transaction(self.deps.engine, work)


class Needs:
    """Dependency: the caller must be allowed `action` on things of `kind`. A test reads both off every route.

    `owned`: it depends on whose the thing is, which only its row tells. The caller is let in as if it were their own,
    and the route asks again (`Caller.require`) with the owner.
    """

    def __init__(self, action: Action, kind: ResourceKind, *, owned: bool = False) -> None:
        self.action = action
        self.kind = kind
        self.owned = owned

    def __call__(self, request: Request, credentials: Credentials, project: ProjectQuery = None) -> Caller:
        deps = deps_of(request)
        dry = request.query_params.get("dryRun") == "true"
        principal = authenticate(deps, credentials.credentials if credentials else None, note_use=not dry)
        caller = Caller(
            principal=principal,
            project=project or _usual_project(principal),
            named=project is not None,
            deps=deps,
            request_id=request.scope["request_id"],
            log=request.scope["log"],
        )
        caller.log.update(tenant=principal.tenant, principal=principal.name, project=caller.project)
        caller.require(self.action, self.kind, owner=principal.name if self.owned else None)
        return caller


class Public:
    """Dependency: anybody may ask. Only for what the system says of itself."""

    action = Action.READ
    kind = ResourceKind.SYSTEM

    def __call__(self, request: Request) -> ApiDeps:
        return deps_of(request)


def caller_of(socket: WebSocket, project: str | None, request_id: str, *, action: Action, kind: ResourceKind) -> Caller:
    """Who opens a connection, allowed to do this. Raises PerdureError as `Needs` does."""
    deps: ApiDeps = socket.app.state.deps
    scheme, _, key = socket.headers.get("authorization", "").partition(" ")
    principal = authenticate(deps, key if scheme.lower() == "bearer" else None, note_use=True)
    caller = Caller(principal, project or _usual_project(principal), project is not None, deps, request_id)
    caller.require(action, kind)
    return caller


def authenticate(deps: ApiDeps, key: str | None, *, note_use: bool) -> Principal:
    """Who holds this key. Raises PD-2001, with the same words whatever is wrong with it.

    A dry run does not even note that the key was used.
    """
    now = deps.now()
    with reading(deps.engine) as session:
        row = tokens.find(session, key, now) if key else None
    if row is None:
        raise PerdureError("PD-2001", "a valid API key is needed: Authorization: Bearer pd_live_...")
    if note_use and tokens.use_is_news(row, now):
        transaction(deps.engine, lambda session: tokens.mark_used(session, row.tenant, row.id, now))
    return tokens.principal(row)


def _usual_project(principal: Principal) -> str:
    if not principal.projects or DEFAULT_PROJECT in principal.projects:
        return DEFAULT_PROJECT
    return principal.projects[0]
