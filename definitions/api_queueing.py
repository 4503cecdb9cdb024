"""What waits, what there is, and what was decided, as the API shows it. A tenant sees of others' jobs amounts only."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from definitions.api_base import Page, View, doc

ID = "0k3bw2m4x9t6q8r1s5v7y0z2a4"
TIME = "2026-11-29T16:22:00Z"
LATER = "2026-11-29T18:00:00Z"
DIGEST = "9f86d081" + "0" * 56
YOURS = "Null where it is not yours to see."


class Confidence(StrEnum):
    """How sure a start is."""

    PROMISE = "promise"  # kept, by the limits that jobs have declared
    ESTIMATE = "estimate"  # leans on run times that were learnt
    NONE = "none"  # no start is known


class PodAsk(View):
    """What some nodes of a job ask for, all alike."""

    count: Annotated[int, doc("How many nodes.", 4)]
    gpus: Annotated[int, doc("GPUs, or slices of such, of each.", 8)] = 0
    gpu_type: Annotated[str | None, doc("Model or slice that it must be; null: any.", "H100")] = None
    cpus: Annotated[float, doc("Processors of each.", 32)] = 0
    memory: Annotated[int, doc("Memory of each, in bytes.", 274877906944)] = 0


class Shortage(View):
    """The resource that keeps a job waiting. Amounts are in `unit`, as the decision found them."""

    resource: Annotated[str, doc("`cpu`, `memory`, `gpu`, `gpu/MODEL`, `slice/PROFILE` or `pods`.", "gpu/H100")]
    unit: Annotated[str, doc("Unit of the amounts.", "GPUs")]
    needed: Annotated[float, doc("What it needs.", 32)]
    free: Annotated[float, doc("What was free or allowed of that.", 24)]
    limit: Annotated[float | None, doc("The limit, or all that there is.", 64)] = None
    at: Annotated[str, doc("Queue, domain or level that it is about.", "research")] = ""
    words: Annotated[str, doc("The same in words.", "needs 32 GPUs of H100, 24 of 64 free")]


class JobInQueue(View):
    """Whose places or waiting it is. Of jobs that are not yours to see nothing but that they are there."""

    job: Annotated[str | None, doc(f"Id of the job. {YOURS}", ID)] = None
    name: Annotated[str | None, doc(f"Name of the job. {YOURS}", "digits")] = None
    project: Annotated[str | None, doc(f"Its project. {YOURS}", "default")] = None
    yours: Annotated[bool, doc("Whether it is a job that you may see.", True)] = False


class WaitingJob(JobInQueue):
    """A job that waits for places."""

    position: Annotated[int | None, doc("In its pool's order, from 1; null before the first decision.", 3)] = None
    pool: Annotated[str, doc("Cluster whose nodes it waits for.", "north-1")]
    queue: Annotated[str, doc("Queue that it waits in.", "research")]
    priority_class: Annotated[str | None, doc("Its priority class.", "production")] = None
    priority: Annotated[int, doc("What it is ordered by: that of its class, then its own.", 101050)] = 0
    asks: Annotated[list[PodAsk], Field(description="What its nodes ask for.")] = []
    nodes: Annotated[int, doc("Nodes in all.", 4)] = 0
    gpus: Annotated[float, doc("GPUs in all.", 32)] = 0
    since: Annotated[datetime, doc("Since when it waits.", TIME)]
    overdue: Annotated[
        int, doc("By how many seconds it has waited longer than the longest queue time of its class.", 1200)
    ] = 0
    cause: Annotated[
        str | None, doc("Why it does not start, in a word; null before the first decision.", "no-room")
    ] = None
    reason: Annotated[str, doc("The same as a sentence, as it was decided. Empty where it is not yours.", "")] = ""
    shortage: Annotated[Shortage | None, Field(description="The resource that is lacking, with numbers.")] = None
    start_at: Annotated[datetime | None, doc("When it starts, as far as that is known.", LATER)] = None
    end_at: Annotated[datetime | None, doc("When it then ends at the latest.", LATER)] = None
    confidence: Annotated[Confidence, doc("How sure that start is.", "promise")] = Confidence.NONE
    decision: Annotated[int | None, doc("The decision of its pool that said so.", 1742)] = None


class WaitingPage(Page[WaitingJob]):
    """Jobs that wait, in order."""


class WhyQueued(WaitingJob):
    """Why a job waits, from what was stored with the decision."""

    domain: Annotated[str, doc("The domain of the topology that comes closest.", "hall-2-rack-3")] = ""
    can_ever: Annotated[
        bool | None,
        doc("Whether it could start were all others gone, with these queues and nodes; null: not known.", True),
    ] = None
    would_help: Annotated[
        list[str],
        doc("What would let it start now, each by itself.", ["8 GPUs more, free on nodes that it may be on."]),
    ] = []
    decided_at: Annotated[datetime | None, doc("When that decision was made.", TIME)] = None


class HeldNode(View):
    """A node that a job holds, by its rank within the job."""

    rank: Annotated[int, doc("Rank of the node within the job.", 0)]
    node: Annotated[str, doc("Its name.", "gpu-7")]
    devices: Annotated[list[int], doc("Which of its GPUs.", [0, 1, 2, 3])] = []
    simulated: Annotated[bool, doc("Nothing is there: the node is made up.", False)] = False


class HeldPlaces(View):
    """The places that a job holds."""

    pool: Annotated[str, doc("Cluster whose nodes they are.", "north-1")]
    queue: Annotated[str, doc("Queue that they count in.", "research")]
    since: Annotated[datetime | None, doc("When it got them.", TIME)] = None
    decision: Annotated[int | None, doc("The decision of its pool that said so.", 1742)] = None
    leaving: Annotated[bool, doc("It was told to give them up, and saves first.", False)] = False
    leaves_for: Annotated[str | None, doc(f"Name of the job that gets them. {YOURS}", "tuned")] = None
    nodes: Annotated[list[HeldNode], Field(description="Node by node, in order of rank.")] = []


class NodeCapacity(View):
    """A node: what it has, and what jobs hold of it."""

    pool: Annotated[str, doc("Its cluster; `local` is this machine, or nodes that are made up.", "north-1")]
    name: Annotated[str, doc("Its name.", "gpu-7")]
    simulated: Annotated[bool, doc("The node is made up.", False)] = False
    ready: Annotated[bool, doc("Whether it can run anything.", True)] = True
    schedulable: Annotated[bool, doc("Whether anything new may start there.", True)] = True
    gpu_type: Annotated[str, doc("Model of its GPUs.", "H100")] = ""
    gpus: Annotated[int, doc("GPUs.", 8)] = 0
    gpus_used: Annotated[float, doc("Of them held by jobs; a shared one counts as the part that is held.", 6.5)] = 0
    gpus_free: Annotated[int, doc("Whole ones that a new job could get.", 1)] = 0
    cpus: Annotated[float, doc("Processors.", 128)] = 0
    cpus_used: Annotated[float, doc("Of them held by jobs.", 96)] = 0
    memory: Annotated[int, doc("Memory, in bytes.", 1099511627776)] = 0
    memory_used: Annotated[int, doc("Of it held by jobs.", 824633720832)] = 0


class GpuCapacity(View):
    """GPUs of one model, or of several of which jobs would take any, in one pool."""

    pool: Annotated[str, doc("Their cluster.", "north-1")]
    gpu_types: Annotated[list[str], doc("The models. Several: for jobs that take any of them.", ["H100"])]
    total: Annotated[int, doc("How many there are.", 64)]
    used: Annotated[float, doc("Held by jobs.", 48)]
    free: Annotated[int, doc("Whole ones that a new job could get.", 8)]
    out_of_service: Annotated[int, doc("Free ones on nodes where nothing new may start.", 8)] = 0
    demand: Annotated[float, doc("What waiting jobs ask for that take no others.", 40)] = 0
    waiting: Annotated[int, doc("How many jobs those are.", 3)] = 0
    shortfall: Annotated[float, doc("Of that demand, what is more than is free.", 32)] = 0
    words: Annotated[str, doc("How the free ones lie.", "8 free but on 8 nodes, 1 on each")]


class CapacityPage(Page[NodeCapacity]):
    """Nodes by pool and name."""

    gpus: Annotated[list[GpuCapacity], Field(description="GPUs by pool and model; the same on every page.")] = []


class QueueShare(View):
    """What a queue has of another one's guarantee."""

    queue: Annotated[str, doc("Name of the queue.", "research")]
    amount: Annotated[float, doc("How much of it.", 8)]


class QueueUse(View):
    """One resource of a queue, with all queues below it. Amounts are in `unit`."""

    queue: Annotated[str, doc("Name of the queue.", "production")]
    parent: Annotated[str | None, doc("The queue above it.", "all")] = None
    resource: Annotated[str, doc("`cpu`, `memory`, `gpu` for all, or `gpu/MODEL`.", "gpu/H100")]
    unit: Annotated[str, doc("Unit of the amounts.", "GPUs")]
    guaranteed: Annotated[float, doc("What it always gets back.", 32)] = 0
    limit: Annotated[float | None, doc("What it never exceeds; null: there is no limit.", 64)] = None
    used: Annotated[float, doc("What jobs hold.", 40)] = 0
    borrowed: Annotated[float, doc("What of that is above the guarantee.", 8)] = 0
    lent: Annotated[float, doc("What others have of its guarantee.", 0)] = 0
    lent_to: Annotated[list[QueueShare], Field(description="Which queues have it.")] = []
    waiting: Annotated[float, doc("What waiting jobs ask for.", 16)] = 0


class QueueUsePage(Page[QueueUse]):
    """Queues with their resources, each queue after the one above it."""


class DecisionView(View):
    """One decision of a pool's scheduler."""

    pool: Annotated[str, doc("The pool: a cluster, or `local`.", "north-1")]
    number: Annotated[int, doc("Counts from 1 in each pool.", 1742)]
    at: Annotated[datetime, doc("When it was made.", TIME)]
    token: Annotated[int, doc("Whose turn it was: only the holder of the newest token may decide.", 12)]
    digest: Annotated[str, doc("Digest of all that it was made from.", DIGEST)]
    placed: Annotated[int, doc("Jobs that got places.", 2)] = 0
    displaced: Annotated[int, doc("Jobs that were told to give theirs up.", 1)] = 0
    waiting: Annotated[int, doc("Jobs that wait afterwards.", 3)] = 0
    causes: Annotated[dict[str, int], doc("How many wait for which cause.", {"no-room": 2, "limit": 1})] = {}


class DecisionPage(Page[DecisionView]):
    """Decisions of a pool, newest first."""


class DecidedPlaced(JobInQueue):
    """A job that got places."""

    queue: Annotated[str, doc("Its queue.", "research")]
    attempt: Annotated[int, doc("Attempt that they are for.", 1)]
    count: Annotated[int, doc("How many places.", 4)]
    gpus: Annotated[float, doc("GPUs in all.", 32)]
    places: Annotated[list[HeldNode], Field(description="Place by place. Empty where it is not yours.")] = []
    dropped: Annotated[bool, doc("It had changed meanwhile, and got nothing.", False)] = False


class DecidedDisplaced(JobInQueue):
    """A job that was told to give its places up."""

    leaves_for: Annotated[str | None, doc(f"Name of the job that gets them. {YOURS}", "tuned")] = None
    reason: Annotated[str, doc("Why. Empty where it is not yours.", "")] = ""
    lost: Annotated[int, doc("Seconds of work times GPUs that no checkpoint holds.", 2400)] = 0
    keeps: Annotated[int | None, doc("Places that an elastic job goes on with.", 2)] = None
    dropped: Annotated[bool, doc("It had changed meanwhile, and was told nothing.", False)] = False


class DecidedGrown(JobInQueue):
    """A job that gets further places, when it has saved."""

    before: Annotated[int, doc("Places that it has.", 2)]
    after: Annotated[int, doc("Places that it goes on with.", 4)]
    dropped: Annotated[bool, doc("It had changed meanwhile, and keeps its size.", False)] = False


class DecidedRefused(JobInQueue):
    """A job that goes on waiting, and why."""

    position: Annotated[int | None, doc("In the pool's order.", 3)] = None
    cause: Annotated[str | None, doc("Why, in a word.", "no-room")] = None
    reason: Annotated[str, doc("Why. Empty where it is not yours.", "")] = ""


class WholeDecision(DecisionView):
    """A decision with what it says of jobs."""

    gangs_placed: Annotated[list[DecidedPlaced], Field(description="Who got places.")] = []
    gangs_displaced: Annotated[list[DecidedDisplaced], Field(description="Who has to go, and for whom.")] = []
    gangs_grown: Annotated[list[DecidedGrown], Field(description="Who goes on with more places.")] = []
    gangs_refused: Annotated[
        list[DecidedRefused], Field(description="Of whom it says anew why they wait: the first of the order.")
    ] = []
    nodes: Annotated[int, doc("Nodes that it looked at.", 64)] = 0
    running: Annotated[int, doc("Jobs that held places.", 12)] = 0
