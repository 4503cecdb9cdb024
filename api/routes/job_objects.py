"""The very objects of a job on a cluster: as they would be made, and as they are."""

import secrets as random
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.concurrency import run_in_threadpool

from api.access import Caller, Needs
from api.arrays import plain_row
from api.body import JOB_BODY, JobBody
from api.clusters import ask
from api.negotiate import Accept, one
from api.parameters import JobPath
from api.prepare import Prepared, prepare, read_job
from definitions.api_clusters import ClusterObjects, ObjectDifference, ObjectsDiff
from definitions.attempt import AttemptLaunch, AttemptRef
from definitions.cluster import LOCAL_CLUSTER
from definitions.cluster_calls import CompareAsk, RenderAsk
from definitions.errors import PerdureError
from definitions.ids import new_id
from definitions.principal import Action, ResourceKind
from definitions.yaml_writer import dump
from policies.job_plan import JobIds, initial_state
from policies.job_steps import attempt_launch, attempt_token
from policies.lifecycle import begin
from store.tables import JobRow

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])
Reader = Annotated[Caller, Depends(Needs(Action.READ, ResourceKind.JOB))]
Creator = Annotated[Caller, Depends(Needs(Action.CREATE, ResourceKind.JOB))]


@router.post(":objects", name="jobs.objects", response_model=ClusterObjects, openapi_extra=JOB_BODY)
async def objects(
    caller: Creator,
    body: JobBody,
    cluster: Annotated[
        str | None, Query(description="Cluster of a job that names none.", examples=["north-1"], max_length=63)
    ] = None,
    accept: Accept = "",
) -> Any:
    """The objects that a document would be on its cluster, which is asked whether it would take them."""
    job = await run_in_threadpool(_prepared, caller, body, cluster)
    named = job.job.spec.cluster or LOCAL_CLUSTER
    if cluster is not None and named != cluster:
        detail = f"the document says cluster {named!r}, the request {cluster!r}"
        raise PerdureError("PD-2022", detail, where="query.cluster")
    cluster = named
    if cluster == LOCAL_CLUSTER:
        raise PerdureError("PD-2104", "the job names no cluster: on this machine it is processes", where="spec.cluster")
    answer = await ask(caller, cluster, RenderAsk(launch=_first_launch(caller, job)))
    made = list(answer.objects)
    return one(ClusterObjects(cluster=cluster, objects=made, text="---\n".join(map(dump, made))), accept)


@router.get("/{job}/objects", name="jobs.objectsDiff", response_model=ObjectsDiff)
async def objects_diff(caller: Reader, job: JobPath, accept: Accept = "") -> Any:
    """In what the objects of the job's present attempt differ from what was made."""
    row = await run_in_threadpool(_find, caller, job)
    if row.cluster == LOCAL_CLUSTER:
        raise PerdureError("PD-2104", f"job {row.name!r} runs on this machine: it is processes")
    if not row.attempt:
        raise PerdureError("PD-2011", f"job {row.name!r} has not begun: nothing was made of it yet")
    token = attempt_token(row.seed, row.attempt)
    ref = AttemptRef(tenant=row.tenant, project=row.project, job=row.id, number=row.attempt, token=token)
    answer = await ask(caller, row.cluster, CompareAsk(ref=ref))
    changes = [ObjectDifference.model_validate(change.model_dump()) for change in answer.changes]
    return one(ObjectsDiff(cluster=row.cluster, job=row.id, attempt=row.attempt, changes=changes), accept)


def _prepared(caller: Caller, body: JobBody, cluster: str | None) -> Prepared:
    with caller.reading() as session:
        return prepare(caller, session, read_job(caller, body, cluster), body, uploaded=False, open_snapshot=True)


def _find(caller: Caller, job: str) -> JobRow:
    with caller.reading() as session:
        return plain_row(caller, session, job)


def _first_launch(caller: Caller, job: Prepared) -> AttemptLaunch:
    """What the first attempt would be launched with. The id is made up: it is a part of the objects' names."""
    who = JobIds(
        tenant=caller.tenant,
        project=job.project,
        job=new_id(),
        owner=caller.principal.name,
        seed=random.token_hex(16),
    )
    return attempt_launch(begin(initial_state(job.job, who, job.submission), caller.deps.now()).state)
