"""Clusters and nodes: from bodies to rows, from rows to what is shown, and questions to their workers."""

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from api.access import Caller
from api.ports import ClusterSilent, EngineAway
from definitions import documents
from definitions.api_clusters import (
    ClusterCheck,
    ClusterNode,
    ClusterView,
    FindingView,
    NodeJob,
    OthersOnNode,
    PutCluster,
    TaintView,
)
from definitions.cluster import ClusterReport, ClusterSettings, NodeView
from definitions.cluster_calls import Answer, Ask, ClusterCall
from definitions.cluster_document import Cluster, settings_of
from definitions.errors import PerdureError
from definitions.principal import ResourceKind
from policies.clusters import silence
from store import clusters, jobs
from store.tables import ClusterRow, JobRow, NodeRow


def read_cluster(body: PutCluster) -> Cluster:
    """Parse a Cluster document. Raises SpecError with every fault and its place."""
    if body.text is not None:
        return documents.parse_one(body.text, body.source or "document", Cluster)
    found = documents.from_data(body.document, source=body.source or "")
    if not isinstance(found, Cluster):
        raise PerdureError("PD-2022", f"one Cluster is expected, and it is a {found.kind}", where="document.kind")
    return found


def cluster_row(caller: Caller, session: Session, name: str, *, lock: bool = False) -> ClusterRow:
    """The cluster of that name. Raises PD-2004."""
    row = clusters.get(session, name, lock=lock)
    if row is None:
        raise caller.missing(ResourceKind.CLUSTER, name)
    return row


def etag(row: ClusterRow) -> str:
    return f'"{row.generation}"'


def settings_of_row(row: ClusterRow) -> ClusterSettings:
    return settings_of(Cluster.model_validate(row.document))


def warnings_of(row: ClusterRow | None, now: datetime) -> tuple[str, ...]:
    """What to mind about the cluster of a job now; None is this machine."""
    note = silence(row.name, row.worker_seen_at, now) if row is not None else None
    return (note,) if note else ()


async def ask(caller: Caller, cluster: str, question: Ask) -> Answer:
    """Ask a cluster. Raises PD-2040, PD-2103, or what the cluster itself refuses with."""
    try:
        return await caller.deps.clusters.ask(ClusterCall(cluster=cluster, ask=question))
    except EngineAway:
        raise PerdureError("PD-2040", "the cluster was not asked: the workflow engine is away") from None
    except ClusterSilent:
        raise PerdureError("PD-2103", f"the worker of cluster {cluster!r} gave no answer") from None


def cluster_view(
    caller: Caller, session: Session, row: ClusterRow, nodes: dict[str, int], *, whole: bool = True
) -> ClusterView:
    """A cluster; without document and findings unless `whole`."""
    spec = Cluster.model_validate(row.document).spec
    report = ClusterReport.model_validate(row.report) if row.report else None
    return ClusterView(
        name=row.name,
        description=spec.description,
        namespace=spec.namespace,
        worker=_worker(row, caller.deps.now()),
        worker_seen_at=row.worker_seen_at,
        nodes=nodes.get(row.name, 0),
        jobs=jobs.count_active(session, caller.tenant, row.name),
        check=check_view(report, whole=whole) if report else None,
        created_at=row.created_at,
        created_by=row.created_by,
        updated_at=row.updated_at,
        updated_by=row.updated_by,
        generation=row.generation,
        document=row.document if whole else None,
    )


def check_view(report: ClusterReport, *, whole: bool = True) -> ClusterCheck:
    """A check; without what it says line by line unless `whole`."""
    return ClusterCheck(
        cluster=report.cluster,
        ok=all(finding.ok for finding in report.findings),
        version=report.version,
        at=report.at,
        findings=[FindingView.model_validate(finding.model_dump()) for finding in report.findings] if whole else [],
        storage_classes=list(report.storage_classes),
        gpus=report.gpus,
        nodes=report.nodes,
        rbac=report.rbac if whole else "",
    )


def node_view(row: NodeRow, *, whole: bool = True, there: list[NodeJob] | None = None) -> ClusterNode:
    """A node; without labels, conditions and the like unless `whole`."""
    seen = NodeView.model_validate(row.view)
    more: dict[str, Any] = {}
    if whole:
        more = {"allocatable": seen.allocatable, "labels": seen.labels, "conditions": seen.conditions}
    return ClusterNode(
        cluster=row.cluster,
        name=row.name,
        ready=seen.ready,
        schedulable=seen.schedulable,
        reason=seen.reason,
        cordon_reason=seen.cordon_reason,
        cpus=seen.cpu_millis / 1000,
        memory=seen.memory,
        gpus=seen.gpus,
        gpu_type=seen.gpu_type,
        gpu_memory=seen.gpu_memory,
        version=seen.version,
        taints=[TaintView.model_validate(taint.model_dump()) for taint in seen.taints],
        others=_others(seen),
        jobs=there or [],
        seen_at=row.seen_at,
        **more,
    )


def _others(seen: NodeView) -> OthersOnNode | None:
    taken = seen.others
    if taken is None:
        return None
    return OthersOnNode(pods=taken.pods, cpus=taken.cpu_millis / 1000, memory=taken.memory, gpus=taken.gpus)


def jobs_on_node(caller: Caller, session: Session, cluster: str, node: str) -> list[NodeJob]:
    """Running jobs that the caller may see and that were last seen with ranks there."""
    found = []
    for job, evidence in jobs.placed(session, caller.tenant, caller.principal.projects, cluster):
        ranks = [int(each["rank"]) for each in evidence if each.get("node") == node]
        if ranks:
            found.append(_node_job(job, ranks))
    return found


def _node_job(job: JobRow, ranks: list[int]) -> NodeJob:
    return NodeJob(job=job.id, name=job.name, ranks=sorted(ranks))


def _worker(row: ClusterRow, now: datetime) -> str:
    if row.worker_seen_at is None:
        return "never seen"
    return "silent" if silence(row.name, row.worker_seen_at, now) else "up"
