"""Clusters: add, look, check, remove. They are the installation's; everybody may look."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.orm import Session

from api.access import Caller, Needs
from api.body import CLUSTER_BODY, ClusterBody
from api.clusters import ask, check_view, cluster_row, cluster_view, etag, read_cluster
from api.idempotency import Once, Reply, once
from api.job_access import matches
from api.negotiate import Accept, one
from api.parameters import UNCHANGED, ClusterPath, Cursor, DryRun, IfMatch, IfNoneMatch, Limit
from definitions.api_clusters import ClusterCheck, ClusterPage, ClusterRemoved, ClusterView
from definitions.cluster_calls import CheckAsk
from definitions.errors import PerdureError
from definitions.job_document import document_of
from definitions.principal import Action, ResourceKind
from store import clusters
from store.tables import ClusterRow

router = APIRouter(prefix="/v1/clusters", tags=["clusters"])

Lister = Annotated[Caller, Depends(Needs(Action.LIST, ResourceKind.CLUSTER))]
Reader = Annotated[Caller, Depends(Needs(Action.READ, ResourceKind.CLUSTER))]
Creator = Annotated[Caller, Depends(Needs(Action.CREATE, ResourceKind.CLUSTER))]
Updater = Annotated[Caller, Depends(Needs(Action.UPDATE, ResourceKind.CLUSTER))]
Operator = Annotated[Caller, Depends(Needs(Action.OPERATE, ResourceKind.CLUSTER))]
Deleter = Annotated[Caller, Depends(Needs(Action.DELETE, ResourceKind.CLUSTER))]
ADDED: dict[int | str, dict[str, Any]] = {
    200: {"model": ClusterView, "description": "It was there already, and says the same; or `dryRun=true`."}
}


@router.post(
    "",
    name="clusters.create",
    status_code=201,
    response_model=ClusterView,
    openapi_extra=CLUSTER_BODY,
    responses=ADDED,
)
def create(caller: Creator, body: ClusterBody, request: Once, dry_run: DryRun = False) -> Any:
    """Add a cluster. Its worker, which has the credentials, is started beside it or on it."""
    cluster = read_cluster(body)
    name, document = cluster.metadata.name, document_of(cluster)
    if dry_run:
        with caller.reading() as session:
            planned = _planned(caller, name, document)
            return Reply.of(200, cluster_view(caller, session, planned, {})).send()

    def work(session: Session) -> Reply:
        row = clusters.create(session, name, document, caller.principal.name, caller.deps.now())
        if row is not None:
            return Reply.of(201, _whole(caller, session, row), Location=f"/v1/clusters/{name}", ETag=etag(row))
        there = cluster_row(caller, session, name)
        if there.document != document:
            raise PerdureError("PD-2100", f"cluster {name!r} was added by {there.created_by} with other settings")
        return Reply.of(200, _whole(caller, session, there), ETag=etag(there))

    caller.log["cluster"] = name
    return once(caller, request, work).send()


@router.put("/{cluster}", name="clusters.replace", response_model=ClusterView, openapi_extra=CLUSTER_BODY)
def replace(caller: Updater, cluster: ClusterPath, body: ClusterBody, request: Once, if_match: IfMatch = None) -> Any:
    """Describe a cluster anew. Its worker begins anew with that; attempts that run are not touched."""
    parsed = read_cluster(body)
    if parsed.metadata.name != cluster:
        detail = f"the document is about {parsed.metadata.name!r}, the request about {cluster!r}"
        raise PerdureError("PD-2022", detail, where="metadata.name")

    def work(session: Session) -> Reply:
        row = cluster_row(caller, session, cluster, lock=True)
        _check_etag(row, if_match)
        clusters.replace(session, row, document_of(parsed), caller.principal.name, caller.deps.now())
        return Reply.of(200, _whole(caller, session, row), ETag=etag(row))

    caller.log["cluster"] = cluster
    return once(caller, request, work).send()


@router.get("", name="clusters.list", response_model=ClusterPage)
def list_(caller: Lister, limit: Limit = None, cursor: Cursor = None) -> Any:
    """Clusters by name."""
    size = limit or caller.deps.settings.limits.default_page
    with caller.reading() as session:
        page = clusters.page(session, limit=size, after=cursor)
        nodes = clusters.count_nodes(session)
        items = [cluster_view(caller, session, row, nodes, whole=False) for row in page.items]
    return ClusterPage(items=items, next=page.next)


@router.get("/{cluster}", name="clusters.get", response_model=ClusterView, responses=UNCHANGED)
def get(caller: Reader, cluster: ClusterPath, if_none_match: IfNoneMatch = None, accept: Accept = "") -> Any:
    """One cluster, with its worker, its nodes' number and its last check."""
    with caller.reading() as session:
        row = cluster_row(caller, session, cluster)
        tag = {"ETag": etag(row)}
        if if_none_match is not None and matches(etag(row), if_none_match):
            return Response(status_code=304, headers=tag)
        return one(_whole(caller, session, row), accept, tag)


@router.post("/{cluster}:check", name="clusters.check", response_model=ClusterCheck)
async def check(caller: Operator, cluster: ClusterPath) -> Any:
    """Have its worker look at what jobs need there. The answer is kept as the cluster's last check."""
    await run_in_threadpool(_find, caller, cluster)
    answer = await ask(caller, cluster, CheckAsk())
    assert answer.report is not None
    report = answer.report.model_dump(mode="json")
    await run_in_threadpool(caller.writing, lambda session: clusters.record_report(session, cluster, report))
    return check_view(answer.report)


@router.delete("/{cluster}", name="clusters.delete", response_model=ClusterRemoved)
def delete(caller: Deleter, cluster: ClusterPath, if_match: IfMatch = None) -> Any:
    """Forget a cluster. Refused while jobs run there; nothing is done to the cluster itself."""

    def work(session: Session) -> ClusterRemoved:
        row = cluster_row(caller, session, cluster, lock=True)
        _check_etag(row, if_match)
        there = clusters.jobs_there(session, cluster)
        if there.active:
            jobs = f"{there.active} job{'' if there.active == 1 else 's'}"
            raise PerdureError("PD-2102", f"{jobs} on cluster {cluster!r} have not ended", data={"jobs": there.active})
        clusters.remove(session, cluster)
        return ClusterRemoved(name=cluster, kept_jobs=there.kept)

    caller.log["cluster"] = cluster
    return caller.writing(work)


def _find(caller: Caller, cluster: str) -> None:
    with caller.reading() as session:
        cluster_row(caller, session, cluster)


def _whole(caller: Caller, session: Session, row: ClusterRow) -> ClusterView:
    return cluster_view(caller, session, row, clusters.count_nodes(session))


def _planned(caller: Caller, name: str, document: dict[str, Any]) -> ClusterRow:
    """The row that adding would make."""
    now, who = caller.deps.now(), caller.principal.name
    return ClusterRow(
        name=name,
        document=document,
        generation=1,
        created_at=now,
        created_by=who,
        updated_at=now,
        updated_by=who,
        worker_seen_at=None,
        report=None,
    )


def _check_etag(row: ClusterRow, if_match: str | None) -> None:
    if if_match is None or matches(etag(row), if_match):
        return
    detail = f"cluster {row.name!r} is at {etag(row)}, not at {if_match}"
    raise PerdureError("PD-2007", detail, where="If-Match", data={"etag": etag(row)})
