"""What a job leaves behind: attempts, events, checkpoints, artifacts, metrics, logs."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from definitions.api_base import Page, View, doc
from definitions.attempt import OomEvidence, RankState, StartError, StoppedBy
from definitions.states import FailureClass

TIME = "2026-11-29T16:22:00Z"
TOKEN = "5d41402abc4b2a76b9719d911017c592"


class RankView(View):
    """One process of an attempt, as its supervisor saw it."""

    rank: Annotated[int, doc("0 to ranks - 1.", 0)]
    node: Annotated[str, doc("Machine it ran on.", "localhost")]
    simulated: Annotated[bool, doc("That machine is made up: another one played it.", False)] = False
    state: Annotated[RankState, doc("Where it is.", "exited")]
    exit_code: Annotated[int | None, doc("Exit code; null when it ended by a signal, or is not known.", 0)] = None
    signal: Annotated[int | None, doc("Signal that ended it.", None)] = None
    started_at: Annotated[datetime | None, doc("When it started.", TIME)] = None
    ended_at: Annotated[datetime | None, doc("When it ended.", TIME)] = None
    stopped_by: Annotated[StoppedBy | None, doc("Who ended it, when it did not end by itself.", None)] = None
    oom: Annotated[OomEvidence, doc("Evidence of the kernel's out-of-memory killer.", "none")] = OomEvidence.NONE
    start_error: Annotated[StartError | None, doc("Why its command never ran.", None)] = None
    disk_full: Annotated[bool, doc("No space was left on the disk of its run folder.", False)] = False
    restarts: Annotated[int, doc("Restarts in place (services).", 0)] = 0
    ready: Annotated[bool, doc("Whether its readiness check passes.", True)] = True
    detail: Annotated[str, doc("More, in words.", "")] = ""
    last_lines: Annotated[list[str], doc("Its last log lines, secrets masked.", ["epoch 3: 0.97"])] = []


class AttemptView(View):
    """One run of all ranks."""

    number: Annotated[int, doc("1 for the first.", 1)]
    token: Annotated[str, doc("Fences this attempt's files from those of others.", TOKEN)]
    started_at: Annotated[datetime | None, doc("When it was launched.", TIME)] = None
    ended_at: Annotated[datetime | None, doc("When all its ranks had ended; null while it runs.", TIME)] = None
    failure: Annotated[FailureClass | None, doc("Why it failed; null when it did not.", None)] = None
    reason: Annotated[str, doc("How it ended, in words.", "all 2 ranks ended with 0")] = ""
    exit_code: Annotated[int | None, doc("Exit code of the first failing rank, or 0.", 0)] = None
    signal: Annotated[int | None, doc("Signal that ended the first failing rank.", None)] = None
    first_rank: Annotated[int | None, doc("First rank that failed.", None)] = None
    from_step: Annotated[int | None, doc("Step of the checkpoint it began from; null: from the start.", 100)] = None
    reached_step: Annotated[int | None, doc("Last step it reported.", 240)] = None
    checkpoint_step: Annotated[int | None, doc("Step of its newest verified checkpoint.", 200)] = None
    counted: Annotated[bool, doc("Whether it used up a retry.", False)] = False
    nodes: Annotated[list[str], doc("Machines it ran on.", ["localhost"])] = []
    ranks: Annotated[list[RankView], Field(description="Its processes.")] = []


class AttemptPage(Page[AttemptView]):
    """Attempts, first one first."""


class EventView(View):
    """One line of a job's history. Never changed."""

    seq: Annotated[int, doc("Grows with time; `Last-Event-ID` of the stream.", 17)]
    at: Annotated[datetime, doc("When it happened.", TIME)]
    actor: Annotated[str, doc("Who: a person, or a part of the platform.", "admin")]
    kind: Annotated[str, doc("What kind of event.", "phase")]
    reason: Annotated[str, doc("What happened, and why.", "all 2 ranks started")]
    data: Annotated[dict[str, Any], doc("The numbers behind it.", {"phase": "Running"})] = {}


class EventPage(Page[EventView]):
    """Events, oldest first."""


class CheckpointView(View):
    """One saved state of a job, as the platform judged it."""

    step: Annotated[int, doc("Step it was saved at.", 100)]
    folder: Annotated[str, doc("Folder, below the run folder.", f"checkpoints/step-0000000100.{TOKEN}")]
    attempt: Annotated[int, doc("Attempt that wrote it.", 1)]
    token: Annotated[str, doc("Token of that attempt.", TOKEN)]
    complete: Annotated[bool, doc("Whether every file of every rank is there with the declared digest.", True)]
    problem: Annotated[str, doc("What is wrong with it, if anything.", "")] = ""
    bytes: Annotated[int, doc("Size of its files.", 1048576)] = 0
    files: Annotated[int, doc("Number of its files.", 4)] = 0
    metrics: Annotated[
        dict[str, float | None], doc("Metrics written with it; null for what is no finite number.", {"loss": 0.31})
    ] = {}
    saved_at: Annotated[datetime | None, doc("When the job finished writing it.", TIME)] = None
    verified_at: Annotated[datetime | None, doc("When the platform judged it.", TIME)] = None
    deleted_at: Annotated[datetime | None, doc("When retention removed it.", None)] = None


class CheckpointPage(Page[CheckpointView]):
    """Checkpoints, newest step first."""


class ArtifactView(View):
    """A file that a job left to be kept."""

    path: Annotated[str, doc("Path below the job's artifacts folder.", "model/weights.npz")]
    attempt: Annotated[int, doc("Attempt that left it.", 2)]
    bytes: Annotated[int, doc("Size.", 65536)]
    sha256: Annotated[str, doc("Digest of its bytes.", "9f86d081" + "0" * 56)]
    created_at: Annotated[datetime, doc("When it was kept.", TIME)]


class ArtifactPage(Page[ArtifactView]):
    """Artifacts by path."""


class MetricPoint(View):
    """One value."""

    step: Annotated[int, doc("Step.", 120)]
    at: Annotated[datetime, doc("Time.", TIME)]
    value: Annotated[float, doc("Value.", 0.31)]


class MetricSeries(View):
    """What a job reported under one name, by step."""

    name: Annotated[str, doc("Name of the metric.", "loss")]
    points: Annotated[list[MetricPoint], Field(description="Values, oldest first.")]


class MetricPage(Page[MetricSeries]):
    """Metrics by name."""


class LogLineView(View):
    """One line as a rank wrote it, secrets masked."""

    attempt: Annotated[int, doc("Attempt.", 1)]
    rank: Annotated[int, doc("Rank.", 0)]
    at: Annotated[datetime | None, doc("When it was written; left out with `timestamps=false`.", TIME)] = None
    text: Annotated[str, doc("The line.", "epoch 3: accuracy 0.97")]


class LogPage(Page[LogLineView]):
    """Log lines, oldest first; several ranks are merged by time. `next` is set while more may come."""

    ended: Annotated[bool, doc("Nothing more will come: the job has ended and all its lines were read.", False)] = False
