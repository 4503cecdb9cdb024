"""Jobs as the API shows them."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from definitions.api_arrays import ArrayView
from definitions.api_base import Document, Page, View, doc
from definitions.api_order import AwaitedNow, AwaitedView
from definitions.api_queueing import HeldPlaces, WhyQueued
from definitions.api_submit import Change, GitState
from definitions.attempt import RankState
from definitions.cluster import LOCAL_CLUSTER
from definitions.facts import Verb
from definitions.states import FailureClass, Mode, Phase

ID = "0k3bw2m4x9t6q8r1s5v7y0z2a4"
TIME = "2026-11-29T16:22:00Z"


class ProgressView(View):
    """The newest line of the job's own progress file, with what follows from the lines before it."""

    step: Annotated[int | None, doc("Last step reported.", 120)] = None
    total: Annotated[int | None, doc("Steps in all, where the job tells.", 500)] = None
    rate: Annotated[float | None, doc("Steps per second, over the last lines.", 4.2)] = None
    eta: Annotated[datetime | None, doc("When the last step is expected; null when the total is not known.", TIME)] = (
        None
    )
    metrics: Annotated[
        dict[str, float | None], doc("Newest value by name; null for what is no finite number.", {"loss": 0.31})
    ] = {}
    at: Annotated[datetime | None, doc("Time of the line.", TIME)] = None


class JobLinks(View):
    """Where more about the job is found."""

    self_: Annotated[str, doc("The job itself.", f"http://127.0.0.1:8642/v1/jobs/{ID}", alias="self")]
    logs: Annotated[str, doc("Its logs.", f"http://127.0.0.1:8642/v1/jobs/{ID}/logs")]
    workflow: Annotated[
        str,
        doc("Its workflow in the engine's web UI.", f"http://127.0.0.1:8233/namespaces/default/workflows/job%2F{ID}"),
    ]


class JobView(View):
    """A job: where it is, why, and what became of it so far."""

    id: Annotated[str, doc("26 characters; sorts by time of creation.", ID)]
    name: Annotated[str, doc("One live job per name and project.", "digits")]
    tenant: Annotated[str, doc("Tenant the job belongs to.", "default")]
    project: Annotated[str, doc("Project the job belongs to.", "default")]
    owner: Annotated[str, doc("Who submitted it.", "admin")]
    labels: Annotated[dict[str, str], doc("Labels of the document.", {"team": "vision"})] = {}
    mode: Annotated[Mode, doc("Batch jobs end; services do not.", "batch")]
    type: Annotated[str | None, doc("What the job is for.", "training")] = None
    phase: Annotated[Phase, doc("Where the job is.", "Running")]
    reason: Annotated[str, doc("Why it is there, as decided at the time.", "all 2 ranks started")]
    failure: Annotated[FailureClass | None, doc("Class of the last failure.", None)] = None
    attempt: Annotated[int, doc("Number of the current or last attempt; 0 before the first.", 1)] = 0
    attempts: Annotated[int, doc("How many attempts there have been.", 1)] = 0
    exit_code: Annotated[int | None, doc("Exit code of the first failing rank, or 0; null when not known.", 0)] = None
    cluster: Annotated[str, doc("Where it runs; `local` is the control plane's own machine.", "local")] = LOCAL_CLUSTER
    nodes: Annotated[int, doc("Nodes; of an elastic job, those of its current or last attempt.", 2)]
    asked_nodes: Annotated[int | None, doc("Of an elastic job: nodes asked for by now.", None)] = None
    ranks: Annotated[int, doc("Processes started together.", 2)]
    gpus: Annotated[int, doc("GPUs in all.", 0)] = 0
    step: Annotated[int | None, doc("Last step reported.", 120)] = None
    progress: Annotated[ProgressView | None, Field(description="What the job reports of itself.")] = None
    checkpoint_step: Annotated[int | None, doc("Step of the newest verified checkpoint.", 100)] = None
    created_at: Annotated[datetime, doc("When it was accepted.", TIME)]
    started_at: Annotated[datetime | None, doc("When its first attempt began.", TIME)] = None
    ended_at: Annotated[datetime | None, doc("When it reached a final phase.", TIME)] = None
    deadline: Annotated[datetime | None, doc("When the current attempt will be ended for its timeout.", TIME)] = None
    wake_at: Annotated[datetime | None, doc("When the next attempt begins, while backing off.", TIME)] = None
    snapshot: Annotated[str | None, doc("Digest of the submitted folder.", "9f86d081" + "0" * 56)] = None
    git: Annotated[GitState | None, Field(description="State of the submitted folder's git repository.")] = None
    template: Annotated[str | None, doc("Template and version it was rendered from.", "finetune@2")] = None
    schedule: Annotated[str | None, doc("Schedule that submitted it.", "nightly")] = None
    cloned_from: Annotated[str | None, doc("Job it was cloned from.", ID)] = None
    array: Annotated[ArrayView | None, Field(description="Of an array: what it is made of; null for other jobs.")] = (
        None
    )
    parent: Annotated[str | None, doc("Array that it is one of, by id.", ID)] = None
    array_index: Annotated[int | None, doc("Its index there.", 7)] = None
    after: Annotated[list[AwaitedView], Field(description="Jobs that it waits for; empty in lists.")] = []
    generation: Annotated[int, doc("Grows with every change; the ETag of the job.", 7)]
    links: Annotated[JobLinks, Field(description="Where more is found.")]
    spec: Annotated[
        Document | None, doc("The document as accepted, defaults filled in; null in lists.", {"kind": "Job"})
    ] = None


class JobPage(Page[JobView]):
    """Jobs, newest first."""


class ApplyOutcome(StrEnum):
    CREATED = "created"  # there was no live job of that name
    UNCHANGED = "unchanged"  # the live job of that name has this very document


class Applied(View):
    """What an apply came to. A live job of that name with another document is a problem (409) listing the changes."""

    outcome: Annotated[ApplyOutcome, doc("created or unchanged.", "created")]
    job: Annotated[JobView, Field(description="The job of that name.")]
    changes: Annotated[list[Change], Field(description="Differences from the ended job of that name, if any.")] = []


class Operation(View):
    """The answer to a request such as cancel."""

    request_id: Annotated[str, doc("Identity of the request; repeating it changes nothing.", "0k3bw2m4x9")]
    verb: Annotated[Verb, doc("What was asked.", "cancel")]
    job: Annotated[str, doc("Id of the job.", ID)]
    settled: Annotated[bool, doc("False: handed over, and not answered in time; look at the job.", True)] = True
    phase: Annotated[Phase, doc("Where the job is now.", "Cancelling")]
    message: Annotated[str, doc("What happens next.", "SIGTERM sent; SIGKILL after 30s")]


class RankPlace(View):
    """A rank that has not ended: where its pod is, and what holds it up."""

    rank: Annotated[int, doc("0 to ranks - 1.", 0)]
    node: Annotated[str, doc("Node of its pod; empty while it has none.", "gpu-7")] = ""
    state: Annotated[RankState, doc("Where it is.", "waiting")]
    note: Annotated[str, doc("The cluster's own words.", "0/8 nodes are available: 8 Insufficient cpu.")] = ""


class Why(View):
    """Why a job is where it is: the reason stored with the decision, never worked out afterwards."""

    job: Annotated[str, doc("Id of the job.", ID)]
    name: Annotated[str, doc("Name of the job.", "digits")]
    phase: Annotated[Phase, doc("Where it is.", "Failed")]
    reason: Annotated[str, doc("The stored reason.", "rank 1 ended with 3 (user-error); not retried")]
    since: Annotated[datetime | None, doc("When that was decided.", TIME)] = None
    failure: Annotated[FailureClass | None, doc("Class of the failure.", "user-error")] = None
    attempt: Annotated[int, doc("Attempt it is about; 0 before the first.", 1)] = 0
    first_rank: Annotated[int | None, doc("First rank that failed.", 1)] = None
    exit_code: Annotated[int | None, doc("Its exit code.", 3)] = None
    signal: Annotated[int | None, doc("The signal that ended it.", None)] = None
    last_lines: Annotated[list[str], doc("Last lines of its log.", ["ValueError: bad shape"])] = []
    help: Annotated[list[str], doc("What would help.", ["Correct the program and submit it again."])] = []
    next_at: Annotated[datetime | None, doc("When the next attempt begins, while backing off.", TIME)] = None
    cluster: Annotated[str, doc("Where it runs.", "north-1")]
    ranks: Annotated[
        list[RankPlace], Field(description="On a cluster: ranks as last seen, those that wait first, 32 at most.")
    ] = []
    warnings: Annotated[list[str], doc("What to mind about its cluster.", [])] = []
    waiting: Annotated[WhyQueued | None, Field(description="While it waits for places: what it lacks.")] = None
    places: Annotated[HeldPlaces | None, Field(description="The places that the scheduler gave it.")] = None
    after: Annotated[list[AwaitedNow], Field(description="Jobs that it waits for, until it begins.")] = []
