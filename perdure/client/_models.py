"""Generated from docs/openapi.json by `make client-models`. Do not edit."""

from __future__ import annotations

# ruff: noqa: E501, RUF012
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, ConfigDict, Field, SecretStr

from perdure.client.base import Model


class ApplyOutcome(StrEnum):
    CREATED = "created"
    UNCHANGED = "unchanged"


class Array(Model):
    """The same job once per index, told by an environment variable."""

    model_config = ConfigDict(
        extra="forbid",
    )
    first: int = 0
    """First index."""
    last: int
    """Last index."""
    step: int = 1
    """Distance between two indexes."""
    limit: int | None = None
    """How many run at once."""


class ArtifactView(Model):
    """A file that a job left to be kept."""

    path: str
    """Path below the job's artifacts folder."""
    attempt: int
    """Attempt that left it."""
    bytes: int
    """Size."""
    sha256: str
    """Digest of its bytes."""
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    """When it was kept."""


class Artifacts(Model):
    """What becomes of the files that a job leaves in its `artifacts/` folder."""

    model_config = ConfigDict(
        extra="forbid",
    )
    keep_for: Annotated[str | None, Field(alias="keepFor")] = None
    """Deleted so long after the job's end. Left out, kept until deleted."""
    max_bytes: Annotated[str | int, Field(alias="maxBytes")] = 10737418240
    """Most bytes kept of one attempt; what is beyond is named and left."""


class Backend(StrEnum):
    NCCL = "nccl"
    GLOO = "gloo"
    MPI = "mpi"


class Backoff(Model):
    """How long to wait before the next attempt: `initial`, then `factor` times longer each time, never above `max`."""

    model_config = ConfigDict(
        extra="forbid",
    )
    initial: str = "10s"
    """Before the second attempt."""
    max: str = "10m"
    """The longest wait."""
    factor: float = 2.0
    """Growth from one wait to the next."""


class BaseEnv(Model):
    """What of the submitter's own environment a job on the same machine starts with. Nothing else is carried over."""

    model_config = ConfigDict(
        extra="forbid",
    )
    path: Annotated[str | None, Field(alias="PATH")] = None
    """Search path for commands."""
    virtual_env: Annotated[str | None, Field(alias="VIRTUAL_ENV")] = None
    """Folder of the active virtual environment."""
    conda_prefix: Annotated[str | None, Field(alias="CONDA_PREFIX")] = None
    """Folder of the active conda environment."""


class Change(Model):
    """One difference between two documents."""

    path: str
    """Field, from the top of the document."""
    before: Any | None = None
    """Value of the job that is there; null when absent."""
    after: Any | None = None
    """Value in the document sent; null when absent."""


class CheckpointSource(Model):
    """A checkpoint of another job."""

    model_config = ConfigDict(
        extra="forbid",
    )
    job: str
    """Name or id of the job."""
    step: int | None = None
    """Step of the checkpoint. Left out, the newest verified one."""


class CheckpointView(Model):
    """One saved state of a job, as the platform judged it."""

    step: int
    """Step it was saved at."""
    folder: str
    """Folder, below the run folder."""
    attempt: int
    """Attempt that wrote it."""
    token: str
    """Token of that attempt."""
    complete: bool
    """Whether every file of every rank is there with the declared digest."""
    problem: str = ""
    """What is wrong with it, if anything."""
    bytes: int = 0
    """Size of its files."""
    files: int = 0
    """Number of its files."""
    metrics: dict[str, float | None] = {}
    """Metrics written with it; null for what is no finite number."""
    saved_at: Annotated[AwareDatetime | None, Field(alias="savedAt")] = None
    """When the job finished writing it."""
    verified_at: Annotated[AwareDatetime | None, Field(alias="verifiedAt")] = None
    """When the platform judged it."""
    deleted_at: Annotated[AwareDatetime | None, Field(alias="deletedAt")] = None
    """When retention removed it."""


class CloneJob(Model):
    """A new job from the stored document and snapshot of another."""

    model_config = ConfigDict(
        extra="forbid",
    )
    name: str | None = None
    """Name of the new job; the old name when left out."""
    overrides: dict[str, Any] = {}
    """Merged into the document: objects by key, everything else replaced."""
    from_step: Annotated[int | None, Field(alias="fromStep")] = None
    """Begin at the other job's verified checkpoint of this step."""


class CreateSecret(Model):
    """A value to keep. It is encrypted and never shown again."""

    model_config = ConfigDict(
        extra="forbid",
    )
    name: str
    """Name that jobs refer to."""
    value: SecretStr
    """At least 4 characters."""


class CreateTemplate(Model):
    """A Template document, as JSON or as YAML text. A name that is there already gets a new version."""

    model_config = ConfigDict(
        extra="forbid",
    )
    document: dict[str, Any] | None = None
    """As JSON."""
    text: str | None = None
    """As YAML."""
    source: str | None = None
    """File the text came from; used in messages only."""


class Diff(Model):
    """The document sent, against the newest job of that name."""

    job: str | None
    """Id of the job compared with; null when there is none."""
    live: bool
    """Whether that job has not ended."""
    changes: list[Change]
    """Differences, in the order of the document. Empty: the same."""


class Elastic(Model):
    """The sizes that a job can run at, around `nodes`."""

    model_config = ConfigDict(
        extra="forbid",
    )
    min_nodes: Annotated[int, Field(alias="minNodes")]
    """The fewest nodes that it can run on."""
    max_nodes: Annotated[int, Field(alias="maxNodes")]
    """The most nodes that it can use."""


class EnvValue1(Model):
    model_config = ConfigDict(
        extra="forbid",
    )
    secret: str


class ErrorCodeView(Model):
    """One kind of refusal."""

    code: str
    """Stable for ever."""
    title: str
    """In a few words."""
    status: int
    """HTTP status."""
    exit: int
    """Exit code of the command line."""
    why: str
    """When it is given."""
    remedy: str
    """What would help."""
    page: str
    """Path of its page."""


class EventView(Model):
    """One line of a job's history. Never changed."""

    seq: int
    """Grows with time; `Last-Event-ID` of the stream."""
    at: AwareDatetime
    """When it happened."""
    actor: str
    """Who: a person, or a part of the platform."""
    kind: str
    """What kind of event."""
    reason: str
    """What happened, and why."""
    data: dict[str, Any] = {}
    """The numbers behind it."""


class ExtendJob(Model):
    """More running time."""

    model_config = ConfigDict(
        extra="forbid",
    )
    by: str
    """How much longer, as a duration."""
    reason: str = ""
    """Why, in your words; kept in the job's events."""


class FailureClass(StrEnum):
    """
    Why an attempt failed. Retry, back-off and budget are decided from this (policies/failure.py).
    """

    USER_ERROR = "user-error"
    OUT_OF_MEMORY = "out-of-memory"
    SIGNAL = "signal"
    COMMAND_NOT_FOUND = "command-not-found"
    HANG = "hang"
    TIMEOUT = "timeout"
    DISK_FULL = "disk-full"
    INFRASTRUCTURE = "infrastructure"
    NODE_LOST = "node-lost"
    PREEMPTED = "preempted"
    DEPENDENCY = "dependency"
    REPEATED = "repeated"


class Framework(StrEnum):
    PYTORCH = "pytorch"
    TENSORFLOW = "tensorflow"
    HOROVOD = "horovod"
    DEEPSPEED = "deepspeed"
    MEGATRON = "megatron"
    JAX = "jax"
    MPI = "mpi"
    RAY = "ray"


class GitState(Model):
    """Where the submitted folder stood in its git repository."""

    model_config = ConfigDict(
        extra="forbid",
    )
    commit: str | None = None
    """Full commit id; null before the first commit."""
    branch: str | None = None
    """Checked-out branch; null when none."""
    dirty: bool = False
    """Whether tracked files differed from the commit."""


class Health(Model):
    """The API process answers, and its store too."""

    status: str
    """ok, or degraded when a part cannot be reached."""
    pid: int
    """Process id of the API."""
    checks: dict[str, str] = {}
    """State by part."""


class ImagePullPolicy(StrEnum):
    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"
    NEVER = "Never"


class JobLinks(Model):
    """Where more about the job is found."""

    self: str
    """The job itself."""
    logs: str
    """Its logs."""
    workflow: str
    """Its workflow in the engine's web UI."""


class JobType(StrEnum):
    """
    What a job is for. It groups jobs in lists and reports, and changes nothing about how they run.
    """

    TRAINING = "training"
    INFERENCE = "inference"
    FINE_TUNING = "fine-tuning"
    EVALUATION = "evaluation"


class LogLineView(Model):
    """One line as a rank wrote it, secrets masked."""

    attempt: int
    """Attempt."""
    rank: int
    """Rank."""
    at: AwareDatetime | None = None
    """When it was written; left out with `timestamps=false`."""
    text: str
    """The line."""


class LogPage(Model):
    """Log lines, oldest first; several ranks are merged by time. `next` is set while more may come."""

    items: list[LogLineView]
    """The entries of this page."""
    next: str | None = None
    """Give it as `cursor` to go on; null on the last page."""
    ended: bool = False
    """Nothing more will come: the job has ended and all its lines were read."""


class Metadata(Model):
    """What a thing is called and what people have noted on it."""

    model_config = ConfigDict(
        extra="forbid",
    )
    name: str
    """Its name; unique among the project's live things of the kind."""
    project: str = "default"
    """The project it belongs to."""
    labels: dict[str, str] = {}
    """Short facts to select by."""
    annotations: dict[str, str] = {}
    """Notes of any text; nothing selects by them."""


class MetricMode(StrEnum):
    MIN = "min"
    MAX = "max"


class MetricPoint(Model):
    """One value."""

    step: int
    """Step."""
    at: AwareDatetime
    """Time."""
    value: float
    """Value."""


class MetricSeries(Model):
    """What a job reported under one name, by step."""

    name: str
    """Name of the metric."""
    points: list[MetricPoint]
    """Values, oldest first."""


class Mode(StrEnum):
    BATCH = "batch"
    SERVICE = "service"


class Network(StrEnum):
    STANDARD = "standard"
    RDMA = "rdma"
    SRIOV = "sriov"


class NotificationEvent(StrEnum):
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    PREEMPTED = "preempted"


class OomEvidence(StrEnum):
    NONE = "none"
    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"


class Operate(Model):
    """A request to a running job that needs nothing but, perhaps, a reason."""

    model_config = ConfigDict(
        extra="forbid",
    )
    reason: str = ""
    """Why, in your words; kept in the job's events."""


class Outcome(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    FINISHED = "finished"


class ParameterView(Model):
    """One parameter of a template."""

    name: str
    """Name, as given to `--set`."""
    type: str
    """What values look like."""
    required: bool
    """Whether a value must be given."""
    default: Any | None = None
    """Value when none is given."""
    description: str = ""
    """What it does."""
    rules: dict[str, Any] = {}
    """Limits on its values."""


class Phase(StrEnum):
    """
    Where a job is. The reason is a field of its own beside it.
    """

    PENDING = "Pending"
    STARTING = "Starting"
    RUNNING = "Running"
    COLLECTING = "Collecting"
    BACKING_OFF = "BackingOff"
    SUSPENDING = "Suspending"
    SUSPENDED = "Suspended"
    CANCELLING = "Cancelling"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"


class Problem(Model):
    """A refusal (RFC 9457), sent as application/problem+json."""

    type: str
    """Address of the page about this code."""
    title: str
    """In a few words."""
    status: int
    """HTTP status."""
    detail: str
    """What happened here."""
    code: str
    """Stable code."""
    where: str | None = None
    """file:line:column, a field, or a route."""
    remedy: str | None = None
    """What would help."""
    instance: str | None = None
    """Path of the request."""
    request_id: Annotated[str | None, Field(alias="requestId")] = None
    """Also in the server's log."""
    exit_code: Annotated[int, Field(alias="exitCode")] = 8
    """With which the command line ends."""
    data: dict[str, Any] = {}
    """Facts to act on, by kind of refusal."""
    errors: Annotated[list[Problem], Field(validate_default=True)] = []
    """One entry per fault, when there are several."""


class Profiling(Model):
    """Which steps are profiled."""

    model_config = ConfigDict(
        extra="forbid",
    )
    warmup_steps: Annotated[int, Field(alias="warmupSteps")] = 100
    """Steps before it begins."""
    profile_steps: Annotated[int, Field(alias="profileSteps")] = 20
    """Steps that are profiled."""


class Progress(Model):
    """What the job's own reports in `progress.jsonl` are used for."""

    model_config = ConfigDict(
        extra="forbid",
    )
    hang_after: Annotated[str | None, Field(alias="hangAfter")] = None
    """An attempt that reports nothing for so long is ended and counted as hung."""


class ProgressView(Model):
    """The newest line of the job's own progress file, with what follows from the lines before it."""

    step: int | None = None
    """Last step reported."""
    total: int | None = None
    """Steps in all, where the job tells."""
    rate: float | None = None
    """Steps per second, over the last lines."""
    eta: AwareDatetime | None = None
    """When the last step is expected; null when the total is not known."""
    metrics: dict[str, float | None] = {}
    """Newest value by name; null for what is no finite number."""
    at: AwareDatetime | None = None
    """Time of the line."""


class RankState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    EXITED = "exited"
    LOST = "lost"


class Readiness(Model):
    """How to tell that a process of a service is ready. Exactly one of `file`, `tcpPort` and `httpPort`."""

    model_config = ConfigDict(
        extra="forbid",
    )
    file: str | None = None
    """Ready when this file exists in the run folder."""
    tcp_port: Annotated[int | None, Field(alias="tcpPort")] = None
    """Ready when this port accepts."""
    http_port: Annotated[int | None, Field(alias="httpPort")] = None
    """Ready when `httpPath` on this port answers with 2xx."""
    http_path: Annotated[str | None, Field(alias="httpPath")] = None
    """Path to ask for; `/` if left out."""
    initial_delay: Annotated[str, Field(alias="initialDelay")] = "0s"
    """Wait before the first look."""
    period: str = "5s"
    """Time between two looks."""
    failure_threshold: Annotated[int, Field(alias="failureThreshold")] = 3
    """Failed looks in a row until a ready process is no longer so."""


class RenderTemplate(Model):
    """Values for a template's parameters."""

    model_config = ConfigDict(
        extra="forbid",
    )
    values: dict[str, Any] = {}
    """Values by parameter name."""
    version: int | None = None
    """Which version; the newest when left out."""


class Rendered(Model):
    """A document that leaves nothing open."""

    document: dict[str, Any]
    """As JSON, with every default filled in."""
    text: str
    """As YAML, without what is only a default."""


class Resources(Model):
    """What each node of the job gets."""

    model_config = ConfigDict(
        extra="forbid",
    )
    gpus: int = 0
    """GPUs per node."""
    gpu_type: Annotated[str | None, Field(alias="gpuType")] = None
    """Model of GPU."""
    gpu_memory: Annotated[str | int | None, Field(alias="gpuMemory")] = None
    """Least memory of each GPU."""
    cpus: str | float | None = None
    """Processors per node."""
    memory: str | int | None = None
    """Memory per node."""
    ephemeral_storage: Annotated[str | int | None, Field(alias="ephemeralStorage")] = None
    """Scratch space per node."""
    shared_memory: Annotated[str | int | None, Field(alias="sharedMemory")] = None
    """Size of /dev/shm."""


class Restart(Model):
    """How a crashed process of a service is started again in place."""

    model_config = ConfigDict(
        extra="forbid",
    )
    initial: str = "1s"
    """Wait before the first restart."""
    max: str = "1m"
    """The longest wait; waits double."""
    limit: int | None = None
    """Most restarts of a process in one attempt; more fail it."""


class ResumeMode(StrEnum):
    AUTO = "auto"
    NEVER = "never"


class Retry(Model):
    """How often a failed attempt is followed by another. Which failures are worth it depends on their class."""

    model_config = ConfigDict(
        extra="forbid",
    )
    limit: int = 3
    """Most attempts after the first. 0: never retry."""
    backoff: Backoff | None = None
    """The wait before each further attempt."""
    budget: str | None = None
    """No attempt begins later than this after the first one began."""
    rules: dict[str, int] = {}
    """Most retries for single failure classes; 0: never. Classes not named follow the built-in table."""


class RetryPlan(Model):
    """How failures will be met."""

    limit: int
    """Most attempts after the first."""
    first_delay: Annotated[str, Field(alias="firstDelay")]
    """Wait before the second attempt."""
    longest_delay: Annotated[str, Field(alias="longestDelay")]
    """No wait is longer."""
    budget: str | None
    """No attempt begins later than this after the first; null: no limit."""
    by_class: Annotated[dict[str, int], Field(alias="byClass")]
    """Most retries per class of failure; 0: never."""


class RotateSecret(Model):
    """A new value. Attempts that start from now on get it."""

    model_config = ConfigDict(
        extra="forbid",
    )
    value: SecretStr
    """At least 4 characters."""


class ScheduleView(Model):
    """When jobs are submitted by themselves."""

    name: str
    """Name."""
    project: str
    """Project it is in."""
    cron: list[str]
    """Cron lines."""
    calendars: list[dict[str, Any]] = []
    """Times by calendar fields."""
    time_zone: Annotated[str, Field(alias="timeZone")]
    """Zone the cron lines are meant in."""
    overlap: str
    """What happens when the job before still runs."""
    catch_up: Annotated[str, Field(alias="catchUp")]
    """How late a missed run may still start."""
    jitter: str
    """Spread of the start times."""
    paused: bool
    """Whether it starts nothing for now."""
    next_runs: Annotated[list[AwareDatetime], Field(alias="nextRuns")] = []
    """Next start times."""
    last_jobs: Annotated[list[str], Field(alias="lastJobs")] = []
    """Ids of the last jobs it submitted, newest first."""
    owner: str
    """Whose jobs it submits."""
    created_at: Annotated[AwareDatetime | None, Field(alias="createdAt")] = None
    """When it was created; null in a dry run."""
    document: dict[str, Any] | None = None
    """The document; null in lists."""


class SecretFile(Model):
    """A secret that the job reads as a file, private to it and gone when the attempt ends."""

    model_config = ConfigDict(
        extra="forbid",
    )
    secret: str
    """Name of the secret."""
    path: str
    """Where the file lies, inside the folder that `PERDURE_SECRETS_DIR` names."""


class SecretView(Model):
    """That a secret exists. Its value is never shown."""

    name: str
    """Name that jobs refer to."""
    version: int
    """Grows with every rotation."""
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    """When it was created."""
    rotated_at: Annotated[AwareDatetime | None, Field(alias="rotatedAt")] = None
    """When it was last rotated."""


class Service(Model):
    """A long-running job: it has no success, a crashed process restarts in place. Needs `mode: service`."""

    model_config = ConfigDict(
        extra="forbid",
    )
    readiness: Readiness | None = None
    """How to tell that a process is ready. Left out, it is as soon as it runs."""
    restart: Restart | None = None
    """How crashed processes come back."""


class SnapshotView(Model):
    """The bytes of a submitted folder."""

    sha256: str
    """Digest of the manifest: list of files with their digests."""
    bytes: int
    """Size of the files."""
    files: int
    """Number of files."""
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    """When it was first stored."""


class StartError(StrEnum):
    """
    Why a command never ran.
    """

    NOT_FOUND = "not-found"
    NOT_EXECUTABLE = "not-executable"
    WORKDIR = "workdir"
    SECRET = "secret"
    GATE = "gate"


class StoppedBy(StrEnum):
    """
    Who ended a rank before it ended by itself.
    """

    REQUEST = "request"
    TIMEOUT = "timeout"
    HANG = "hang"
    GANG = "gang"
    SHUTDOWN = "shutdown"


class Storage(Model):
    """A volume of the job's own, which outlives it."""

    model_config = ConfigDict(
        extra="forbid",
    )
    class_name: Annotated[str | None, Field(alias="className")] = None
    """Storage class."""
    request: str | int = 107374182400
    """Size of the volume."""


class Submission(Model):
    """Where and how a job was submitted. Kept with the job; a clone starts from the same."""

    model_config = ConfigDict(
        extra="forbid",
    )
    base_env: Annotated[BaseEnv | None, Field(alias="baseEnv")] = None
    """The submitter's PATH and environments."""
    cwd: str | None = None
    """Absolute folder the job was submitted from."""
    git: GitState | None = None
    """State of the folder's git repository, if it has one."""
    snapshot: str | None = None
    """Snapshot of the folder, uploaded beforehand."""


class TemplateUse(Model):
    """A template and the values of its parameters."""

    model_config = ConfigDict(
        extra="forbid",
    )
    name: str
    """Name of the template."""
    version: int | None = None
    """Which version; the newest when left out."""
    values: dict[str, Any] = {}
    """Parameter values by name."""


class TemplateView(Model):
    """A job with holes, and what may fill them."""

    name: str
    """Name."""
    version: int
    """Version, 1 for the first."""
    versions: list[int]
    """Every version there is, oldest first."""
    description: str = ""
    """What it is for."""
    parameters: Annotated[list[ParameterView], Field(validate_default=True)] = []
    """What may be set."""
    jobs: int = 0
    """Jobs submitted from any of its versions."""
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    """When this version was stored."""
    document: dict[str, Any] | None = None
    """The document; null in lists."""


class TolerationOperator(StrEnum):
    EXISTS = "Exists"
    EQUAL = "Equal"


class Topology(Model):
    """How close together the nodes of a job must, or should, be: the name of a level of the cluster's topology."""

    model_config = ConfigDict(
        extra="forbid",
    )
    required: str | None = None
    """All nodes within one such domain, or not at all."""
    preferred: str | None = None
    """Within one such domain if it can be."""


class Validation(Model):
    """A document that would be accepted. One that would not is answered with a problem listing every fault."""

    valid: bool = True
    """Always true."""
    name: str
    """Name the job would have."""
    warnings: list[str] = []
    """What is legal but surprising."""


class Verb(StrEnum):
    """
    What a person may ask of a running job.
    """

    CANCEL = "cancel"
    SUSPEND = "suspend"
    RESUME = "resume"
    EXTEND = "extend"
    CHECKPOINT = "checkpoint"


class Version(Model):
    """What is running."""

    name: str = "perdure"
    """Always perdure."""
    version: str
    """Version of the control plane."""
    api: str = "v1"
    """Version of this API."""
    python: str
    """Version of Python it runs on."""


class Volume(Model):
    """A volume that is there already; `source` is the cluster's own description of it."""

    model_config = ConfigDict(
        extra="forbid",
    )
    name: str
    """Name that `volumeMounts` refers to."""
    source: dict[str, Any]
    """What the volume is."""


class VolumeMount(Model):
    """Where a volume appears inside the job."""

    model_config = ConfigDict(
        extra="forbid",
    )
    name: str
    """Name of the volume."""
    mount_path: Annotated[str, Field(alias="mountPath")]
    """Folder that it appears as."""
    sub_path: Annotated[str | None, Field(alias="subPath")] = None
    """Folder inside the volume."""
    read_only: Annotated[bool, Field(alias="readOnly")] = False
    """Whether the job may only read it."""


class Why(Model):
    """Why a job is where it is: the reason stored with the decision, never worked out afterwards."""

    job: str
    """Id of the job."""
    name: str
    """Name of the job."""
    phase: Phase
    """Where it is."""
    reason: str
    """The stored reason."""
    since: AwareDatetime | None = None
    """When that was decided."""
    failure: FailureClass | None = None
    """Class of the failure."""
    attempt: int = 0
    """Attempt it is about; 0 before the first."""
    first_rank: Annotated[int | None, Field(alias="firstRank")] = None
    """First rank that failed."""
    exit_code: Annotated[int | None, Field(alias="exitCode")] = None
    """Its exit code."""
    signal: int | None = None
    """The signal that ended it."""
    last_lines: Annotated[list[str], Field(alias="lastLines")] = []
    """Last lines of its log."""
    help: list[str] = []
    """What would help."""
    next_at: Annotated[AwareDatetime | None, Field(alias="nextAt")] = None
    """When the next attempt begins, while backing off."""


class WorkdirMode(StrEnum):
    SNAPSHOT = "snapshot"
    LIVE = "live"
    NONE = "none"


class WorkdirPlan(Model):
    """Where the command will run."""

    mode: str
    """snapshot, live or none."""
    sha256: str | None = None
    """Digest of the snapshot."""
    path: str | None = None
    """The folder itself, with `live`."""
    bytes: int | None = None
    """Size of the snapshot's files."""
    files: int | None = None
    """Number of the snapshot's files."""


class WorkloadKind(StrEnum):
    JOB = "job"
    STATEFULSET = "statefulset"


class ArtifactPage(Model):
    """Artifacts by path."""

    items: list[ArtifactView]
    """The entries of this page."""
    next: str | None = None
    """Give it as `cursor` to go on; null on the last page."""


class CheckpointPage(Model):
    """Checkpoints, newest step first."""

    items: list[CheckpointView]
    """The entries of this page."""
    next: str | None = None
    """Give it as `cursor` to go on; null on the last page."""


class CreateSchedule(Model):
    """A Schedule document, as JSON or as YAML text."""

    model_config = ConfigDict(
        extra="forbid",
    )
    document: dict[str, Any] | None = None
    """As JSON."""
    text: str | None = None
    """As YAML."""
    source: str | None = None
    """File the text came from; used in messages only."""
    submission: Submission | None = None
    """Where its jobs come from."""


class Dependency(Model):
    """Another job that has to end before this one begins."""

    model_config = ConfigDict(
        extra="forbid",
    )
    job: str
    """Name or id of the other job."""
    outcome: Outcome = Outcome.SUCCEEDED
    """How it has to end."""


class Distributed(Model):
    """How the processes of a job find and talk to each other."""

    model_config = ConfigDict(
        extra="forbid",
    )
    framework: Framework | None = None
    """Whose environment variables each process gets, beside the common ones."""
    backend: Backend | None = None
    """Library for collective operations, told to the framework."""
    master_port: Annotated[int | None, Field(alias="masterPort")] = None
    """Port that the first process listens on (`MASTER_PORT`). Left out, a free one is chosen."""


class ErrorCodePage(Model):
    """Every code, in order."""

    items: list[ErrorCodeView]
    """The entries of this page."""
    next: str | None = None
    """Give it as `cursor` to go on; null on the last page."""


class EventPage(Model):
    """Events, oldest first."""

    items: list[EventView]
    """The entries of this page."""
    next: str | None = None
    """Give it as `cursor` to go on; null on the last page."""


class JobView(Model):
    """A job: where it is, why, and what became of it so far."""

    id: str
    """26 characters; sorts by time of creation."""
    name: str
    """One live job per name and project."""
    tenant: str
    """Tenant the job belongs to."""
    project: str
    """Project the job belongs to."""
    owner: str
    """Who submitted it."""
    labels: dict[str, str] = {}
    """Labels of the document."""
    mode: Mode
    """Batch jobs end; services do not."""
    type: str | None = None
    """What the job is for."""
    phase: Phase
    """Where the job is."""
    reason: str
    """Why it is there, as decided at the time."""
    failure: FailureClass | None = None
    """Class of the last failure."""
    attempt: int = 0
    """Number of the current or last attempt; 0 before the first."""
    attempts: int = 0
    """How many attempts there have been."""
    exit_code: Annotated[int | None, Field(alias="exitCode")] = None
    """Exit code of the first failing rank, or 0; null when not known."""
    nodes: int
    """Nodes."""
    ranks: int
    """Processes started together."""
    gpus: int = 0
    """GPUs in all."""
    step: int | None = None
    """Last step reported."""
    progress: ProgressView | None = None
    """What the job reports of itself."""
    checkpoint_step: Annotated[int | None, Field(alias="checkpointStep")] = None
    """Step of the newest verified checkpoint."""
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    """When it was accepted."""
    started_at: Annotated[AwareDatetime | None, Field(alias="startedAt")] = None
    """When its first attempt began."""
    ended_at: Annotated[AwareDatetime | None, Field(alias="endedAt")] = None
    """When it reached a final phase."""
    deadline: AwareDatetime | None = None
    """When the current attempt will be ended for its timeout."""
    wake_at: Annotated[AwareDatetime | None, Field(alias="wakeAt")] = None
    """When the next attempt begins, while backing off."""
    snapshot: str | None = None
    """Digest of the submitted folder."""
    git: GitState | None = None
    """State of the submitted folder's git repository."""
    template: str | None = None
    """Template and version it was rendered from."""
    schedule: str | None = None
    """Schedule that submitted it."""
    cloned_from: Annotated[str | None, Field(alias="clonedFrom")] = None
    """Job it was cloned from."""
    generation: int
    """Grows with every change; the ETag of the job."""
    links: JobLinks
    """Where more is found."""
    spec: dict[str, Any] | None = None
    """The document as accepted, defaults filled in; null in lists."""


class KeepBest(Model):
    """Which checkpoints count as the best, by a metric that the job reports when it saves."""

    model_config = ConfigDict(
        extra="forbid",
    )
    metric: str
    """Name of the metric."""
    mode: MetricMode = MetricMode.MIN
    """Whether less or more is better."""
    count: int = 1
    """How many to keep."""


class MetricPage(Model):
    """Metrics by name."""

    items: list[MetricSeries]
    """The entries of this page."""
    next: str | None = None
    """Give it as `cursor` to go on; null on the last page."""


class Notification(Model):
    """Who is told when something happens to the job."""

    model_config = ConfigDict(
        extra="forbid",
    )
    channel: str
    """Name of a channel."""
    events: list[NotificationEvent] = [NotificationEvent.SUCCEEDED, NotificationEvent.FAILED]
    """What they are told of."""


class Operation(Model):
    """The answer to a request such as cancel."""

    request_id: Annotated[str, Field(alias="requestId")]
    """Identity of the request; repeating it changes nothing."""
    verb: Verb
    """What was asked."""
    job: str
    """Id of the job."""
    settled: bool = True
    """False: handed over, and not answered in time; look at the job."""
    phase: Phase
    """Where the job is now."""
    message: str
    """What happens next."""


class Plan(Model):
    """What a submit would do. Nothing is written to make one."""

    name: str
    """Name the job would have."""
    project: str
    """Project it would be in."""
    mode: Mode
    """Batch jobs end; services do not."""
    document: dict[str, Any]
    """The document with all defaults filled in."""
    command: list[str]
    """What every rank runs."""
    nodes: int
    """Nodes asked for."""
    ranks: int
    """Processes started together, or not at all."""
    gpus: int
    """GPUs in all."""
    env: list[str]
    """Names of the environment entries set by the document."""
    secrets: list[str]
    """Secrets that will be injected."""
    workdir: WorkdirPlan
    timeout: str | None
    """Running time after which the job is ended; null: no limit."""
    grace: str
    """Time between SIGTERM and SIGKILL."""
    retry: RetryPlan
    checkpoint_every: Annotated[str | None, Field(alias="checkpointEvery")] = None
    """How often the job is asked to save."""
    template: str | None = None
    """Template and version it came from."""
    warnings: list[str] = []
    """What is legal but surprising."""


class RankView(Model):
    """One process of an attempt, as its supervisor saw it."""

    rank: int
    """0 to ranks - 1."""
    node: str
    """Machine it ran on."""
    state: RankState
    """Where it is."""
    exit_code: Annotated[int | None, Field(alias="exitCode")] = None
    """Exit code; null when it ended by a signal, or is not known."""
    signal: int | None = None
    """Signal that ended it."""
    started_at: Annotated[AwareDatetime | None, Field(alias="startedAt")] = None
    """When it started."""
    ended_at: Annotated[AwareDatetime | None, Field(alias="endedAt")] = None
    """When it ended."""
    stopped_by: Annotated[StoppedBy | None, Field(alias="stoppedBy")] = None
    """Who ended it, when it did not end by itself."""
    oom: OomEvidence = OomEvidence.NONE
    """Evidence of the kernel's out-of-memory killer."""
    start_error: Annotated[StartError | None, Field(alias="startError")] = None
    """Why its command never ran."""
    disk_full: Annotated[bool, Field(alias="diskFull")] = False
    """No space was left on the disk of its run folder."""
    restarts: int = 0
    """Restarts in place (services)."""
    ready: bool = True
    """Whether its readiness check passes."""
    detail: str = ""
    """More, in words."""
    last_lines: Annotated[list[str], Field(alias="lastLines")] = []
    """Its last log lines, secrets masked."""


class SchedulePage(Model):
    """Schedules by name."""

    items: list[ScheduleView]
    """The entries of this page."""
    next: str | None = None
    """Give it as `cursor` to go on; null on the last page."""


class SecretPage(Model):
    """Secrets by name."""

    items: list[SecretView]
    """The entries of this page."""
    next: str | None = None
    """Give it as `cursor` to go on; null on the last page."""


class SubmitJob(Model):
    """A job to run: exactly one of `document`, `text` and `template` says what; `submission` says from where."""

    model_config = ConfigDict(
        extra="forbid",
    )
    document: dict[str, Any] | None = None
    """A Job document as JSON."""
    text: str | None = None
    """A Job document as YAML; faults are then reported by line."""
    source: str | None = None
    """File the text came from; used in messages only."""
    template: TemplateUse | None = None
    """A template to render the document from."""
    name: str | None = None
    """Replaces the name in the document."""
    submission: Submission | None = None
    """Where the job comes from."""


class TemplatePage(Model):
    """Templates by name, newest version of each."""

    items: list[TemplateView]
    """The entries of this page."""
    next: str | None = None
    """Give it as `cursor` to go on; null on the last page."""


class Toleration(Model):
    """A node taint that the job puts up with."""

    model_config = ConfigDict(
        extra="forbid",
    )
    key: str | None = None
    """Key of the taint; left out, every key."""
    operator: TolerationOperator = TolerationOperator.EQUAL
    """How to compare."""
    value: str | None = None
    """Value of the taint."""
    effect: str | None = None
    """Effect of the taint; left out, every effect."""
    toleration_seconds: Annotated[int | None, Field(alias="tolerationSeconds")] = None
    """For how long, once it appears."""


class Workdir(Model):
    """Where the command finds its files."""

    model_config = ConfigDict(
        extra="forbid",
    )
    mode: WorkdirMode = WorkdirMode.SNAPSHOT
    """`snapshot`: a copy made at submit, the same bytes for every attempt, clone and fork. `live`: the folder itself, as it is when an attempt starts. `none`: an empty folder."""
    path: str | None = None
    """The folder. The command line takes the present one when this is left out."""
    snapshot: str | None = None
    """Digest of the stored snapshot; filled in at submit."""


class Applied(Model):
    """What an apply came to. A live job of that name with another document is a problem (409) listing the changes."""

    outcome: ApplyOutcome
    """created or unchanged."""
    job: JobView
    """The job of that name."""
    changes: Annotated[list[Change], Field(validate_default=True)] = []
    """Differences from the ended job of that name, if any."""


class AttemptView(Model):
    """One run of all ranks."""

    number: int
    """1 for the first."""
    token: str
    """Fences this attempt's files from those of others."""
    started_at: Annotated[AwareDatetime | None, Field(alias="startedAt")] = None
    """When it was launched."""
    ended_at: Annotated[AwareDatetime | None, Field(alias="endedAt")] = None
    """When all its ranks had ended; null while it runs."""
    failure: FailureClass | None = None
    """Why it failed; null when it did not."""
    reason: str = ""
    """How it ended, in words."""
    exit_code: Annotated[int | None, Field(alias="exitCode")] = None
    """Exit code of the first failing rank, or 0."""
    signal: int | None = None
    """Signal that ended the first failing rank."""
    first_rank: Annotated[int | None, Field(alias="firstRank")] = None
    """First rank that failed."""
    from_step: Annotated[int | None, Field(alias="fromStep")] = None
    """Step of the checkpoint it began from; null: from the start."""
    reached_step: Annotated[int | None, Field(alias="reachedStep")] = None
    """Last step it reported."""
    checkpoint_step: Annotated[int | None, Field(alias="checkpointStep")] = None
    """Step of its newest verified checkpoint."""
    counted: bool = False
    """Whether it used up a retry."""
    nodes: list[str] = []
    """Machines it ran on."""
    ranks: Annotated[list[RankView], Field(validate_default=True)] = []
    """Its processes."""


class Checkpoints(Model):
    """When a job saves, what is kept, and where the next attempt begins."""

    model_config = ConfigDict(
        extra="forbid",
    )
    every: str | None = None
    """How often the job is asked to save (`PERDURE_CHECKPOINT_EVERY`)."""
    keep_last: Annotated[int, Field(alias="keepLast")] = 3
    """How many of the newest complete ones to keep."""
    keep_every: Annotated[int | None, Field(alias="keepEvery")] = None
    """Also keep those whose step is a multiple of this."""
    keep_best: Annotated[KeepBest | None, Field(alias="keepBest")] = None
    """Also keep the best."""
    resume: ResumeMode = ResumeMode.AUTO
    """`auto`: each attempt starts from the newest verified checkpoint. `never`: from the beginning."""
    from_: Annotated[CheckpointSource | None, Field(alias="from")] = None
    """Start from a checkpoint of another job."""
    command: list[str] = []
    """Program that saves, run before a process is stopped."""
    directory: str | None = None
    """Folder that `command` saves into."""
    grace: str | None = None
    """Time for `command`."""


class JobPage(Model):
    """Jobs, newest first."""

    items: list[JobView]
    """The entries of this page."""
    next: str | None = None
    """Give it as `cursor` to go on; null on the last page."""


class Placement(Model):
    """Which nodes a job may run on, and which it would like."""

    model_config = ConfigDict(
        extra="forbid",
    )
    node_selector: Annotated[dict[str, str], Field(alias="nodeSelector")] = {}
    """Labels that a node must have."""
    tolerations: Annotated[list[Toleration], Field(validate_default=True)] = []
    """Taints that the job puts up with."""
    affinity: dict[str, Any] = {}
    """The cluster's own affinity rules."""
    pin: bool = False
    """Stay on the nodes of the first attempt."""
    spread: bool = False
    """At most one node of this job per machine."""
    topology: Topology | None = None
    """How close together."""
    fabric_aware: Annotated[bool, Field(alias="fabricAware")] = False
    """Prefer nodes whose fabric is healthy."""


class AttemptPage(Model):
    """Attempts, first one first."""

    items: list[AttemptView]
    """The entries of this page."""
    next: str | None = None
    """Give it as `cursor` to go on; null on the last page."""


class JobSpec(Model):
    """What to run, on what, and how it should last."""

    model_config = ConfigDict(
        extra="forbid",
    )
    type: JobType = JobType.TRAINING
    """What the job is for; groups it in lists."""
    mode: Mode = Mode.BATCH
    """`batch`: ends by itself, exit code 0 is success. `service`: runs until it is stopped."""
    command: list[str] = []
    """Program and arguments, run as they stand with no shell between. Or give `shell`."""
    args: list[str] = []
    """Further arguments, put after `command`."""
    shell: str | None = None
    """Text that `/bin/sh -c` runs. Its exit status is the shell's own: `false; true` is a success, `false && true` is not. Begin with `set -e` to stop at the first failure."""
    env: Annotated[dict[str, str | EnvValue1], Field(validate_default=True)] = {}
    """Environment variables: text, or `{secret: NAME}`."""
    secret_files: Annotated[list[SecretFile], Field(alias="secretFiles", validate_default=True)] = []
    """Secrets given as files."""
    workdir: Workdir | None = None
    working_dir: Annotated[str | None, Field(alias="workingDir")] = None
    """Folder inside the working directory to start in."""
    nodes: int = 1
    """Machines, or on one machine groups of processes."""
    processes_per_node: Annotated[int, Field(alias="processesPerNode")] = 1
    """Processes on each node."""
    elastic: Elastic | None = None
    """Sizes it can run at."""
    resources: Resources | None = None
    """What each node gets."""
    distributed: Distributed | None = None
    """How its processes find each other."""
    image: str | None = None
    """Container image."""
    image_pull_policy: Annotated[ImagePullPolicy | None, Field(alias="imagePullPolicy")] = None
    """When to pull it."""
    model: str | None = None
    """Model that the job works on."""
    storage: Storage | None = None
    """A volume of the job's own."""
    volumes: Annotated[list[Volume], Field(validate_default=True)] = []
    """Volumes that are there already."""
    volume_mounts: Annotated[list[VolumeMount], Field(alias="volumeMounts", validate_default=True)] = []
    """Where they appear."""
    network: Network = Network.STANDARD
    """Network between the nodes."""
    placement: Placement | None = None
    """Which nodes it may run on."""
    queue: str | None = None
    """Queue that it waits in."""
    priority: int = 0
    """0 to 100; more goes first within a queue."""
    priority_class: Annotated[str | None, Field(alias="priorityClass")] = None
    """Named priority of the cluster."""
    reservation: str | None = None
    """Reservation to run in."""
    team: str | None = None
    """Team that it is accounted to."""
    workload_kind: Annotated[WorkloadKind | None, Field(alias="workloadKind")] = None
    """Which workload carries it."""
    cluster: str | None = None
    """Cluster to run on."""
    federation: str | None = None
    """Federation that chooses the cluster."""
    suspend: bool = False
    """Accept it suspended; it begins when it is resumed."""
    timeout: str | None = None
    """Longest running time over all attempts; suspended time does not count."""
    grace_period: Annotated[str, Field(alias="gracePeriod")] = "30s"
    """Time between asking a process to end (SIGTERM) and ending it (SIGKILL)."""
    retry: Retry | None = None
    """When a failed attempt is followed by another."""
    checkpoints: Checkpoints | None = None
    """Saving and resuming."""
    progress: Progress | None = None
    """Use of the job's own reports."""
    service: Service | None = None
    """Only for `mode: service`."""
    artifacts: Artifacts | None = None
    """What it leaves."""
    ttl_after_finished: Annotated[str | None, Field(alias="ttlAfterFinished")] = None
    """Deleted with all it left so long after its end. Left out, never."""
    array: Array | None = None
    """Run once per index."""
    after: Annotated[list[Dependency], Field(validate_default=True)] = []
    """Jobs to wait for."""
    hooks: list[str] = []
    """Job hooks that hear of it."""
    notifications: Annotated[list[Notification], Field(validate_default=True)] = []
    """Who is told."""
    experiment: str | None = None
    """Experiment that it is a run of."""
    profiling: Profiling | None = None
    """Which steps are profiled."""


class Job(Model):
    """One job, as a document."""

    model_config = ConfigDict(
        extra="forbid",
    )
    api_version: Annotated[Literal["perdure/v1"], Field(alias="apiVersion")]
    """Version of this format."""
    kind: Literal["Job"]
    """The kind of document."""
    metadata: Metadata
    """Name, project, labels."""
    spec: JobSpec
    """What to run."""


Problem.model_rebuild()
