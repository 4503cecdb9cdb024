"""One attempt of a job: what is launched, and what a runtime can know about it.

Evidence and judgement are different types: a runtime reports `RankEvidence`, policies/failure.py judges it.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

from definitions.places import Placement
from definitions.pod import PodCause
from definitions.pod_needs import PodNeeds
from definitions.progress import ProgressNow
from definitions.states import Mode
from definitions.wire import Wire


class AttemptRef(Wire):
    """Names one attempt everywhere. Its `token` (32 hex digits) keeps what an earlier attempt still does apart."""

    tenant: str
    project: str
    job: str
    number: int
    token: str


class SecretRef(Wire):
    """A secret by name; its value never enters a workflow, a row of the job or a log."""

    secret: str


class SecretFile(Wire):
    secret: str
    path: str  # relative to $PERDURE_SECRETS_DIR


class RestartRule(Wire):
    """How a crashed rank of a service is restarted in place."""

    first_delay: timedelta = timedelta(seconds=1)
    longest_delay: timedelta = timedelta(minutes=1)
    limit: int | None = None  # restarts per rank and attempt; None: no limit


class Readiness(Wire):
    """Exactly one of file, tcp_port, http_port is set."""

    file: str | None = None  # relative to the run folder
    tcp_port: int | None = None
    http_port: int | None = None
    http_path: str = "/"
    initial_delay: timedelta = timedelta(seconds=0)
    period: timedelta = timedelta(seconds=5)
    failure_threshold: int = 3


class Workdir(Wire):
    """Where the command runs: the stored bytes `sha256`, the live folder `path` itself, or an empty folder."""

    mode: Literal["snapshot", "live", "none"] = "none"
    sha256: str | None = None
    path: str | None = None
    subfolder: str = "."


class SeedCheckpoint(Wire):
    """A verified checkpoint of another job, copied into the run folder before the first start."""

    job: str
    folder: str
    step: int


class AttemptLaunch(Wire):
    """Everything a runtime needs to start an attempt. Holds no secret value."""

    ref: AttemptRef
    name: str
    owner: str
    mode: Mode = Mode.BATCH
    argv: tuple[str, ...]
    env: dict[str, str | SecretRef] = {}
    secret_files: tuple[SecretFile, ...] = ()
    base_env: dict[str, str] = {}  # PATH, VIRTUAL_ENV, CONDA_PREFIX of the submitter (local runtime only)
    workdir: Workdir = Workdir()
    nodes: int = 1
    processes_per_node: int = 1
    framework: str | None = None
    backend: str | None = None
    master_port: int | None = None  # None: the runtime chooses a free one
    deadline: datetime | None = None  # enforced by the runtime itself, even while the control plane is away
    # Instead of a deadline, for an attempt with `pod`: it counts from when all its ranks run (the gate opens), since
    # its pods may have waited for hours. Enforced in the pods; `Runtime.control` moves it by giving a deadline.
    time_limit: timedelta | None = None
    grace: timedelta = timedelta(seconds=30)
    hang_after: timedelta | None = None
    checkpoint_every: timedelta | None = None
    resume_from: str | None = None  # folder of a verified checkpoint, relative to the run folder
    resume_step: int | None = None
    seed_checkpoint: SeedCheckpoint | None = None
    artifacts_max_bytes: int | None = None  # most bytes kept of what the attempt leaves in its artifacts folder
    restart: RestartRule | None = None  # services only
    readiness: Readiness | None = None
    avoid_nodes: tuple[str, ...] = ()
    pod: PodNeeds | None = None  # None: processes of one machine
    placement: Placement | None = (
        None  # the scheduler's places, which the attempt gets and no others; None: no scheduler
    )

    @property
    def ranks(self) -> int:
        return self.nodes * self.processes_per_node


class RankState(StrEnum):
    WAITING = "waiting"  # not started yet: behind the gate, or nothing is there
    RUNNING = "running"
    EXITED = "exited"  # there is a receipt: exit code or signal is known
    LOST = "lost"  # gone without a receipt: how it ended cannot be known


class StoppedBy(StrEnum):
    """Who ended a rank before it ended by itself."""

    REQUEST = "request"  # cancel or suspend
    TIMEOUT = "timeout"
    HANG = "hang"
    GANG = "gang"  # another rank of the attempt had ended badly
    SHUTDOWN = "shutdown"  # the machine, or its service manager, took it down
    SEVERED = "severed"  # another part of its gang was not heard any more, whether it was gone or only cut off


class OomEvidence(StrEnum):
    NONE = "none"
    SUSPECTED = "suspected"  # SIGKILL while the kernel's count of OOM kills grew
    CONFIRMED = "confirmed"  # counted by the rank's own cgroup


class StartError(StrEnum):
    """Why a command never ran."""

    NOT_FOUND = "not-found"
    NOT_EXECUTABLE = "not-executable"
    WORKDIR = "workdir"  # snapshot or folder missing or damaged
    SECRET = "secret"
    GATE = "gate"  # the other ranks did not come up in time


class RankEvidence(Wire):
    """What a runtime saw of one rank. Times are aware UTC."""

    rank: int
    node: str
    state: RankState
    exit_code: int | None = None
    signal: int | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    stopped_by: StoppedBy | None = None
    start_error: StartError | None = None
    oom: OomEvidence = OomEvidence.NONE
    disk_full: bool = False  # the file system that holds the run folder had no space left when the rank ended
    simulated: bool = False  # its node is made up: the rank really ran on the machine that played it
    node_lost: bool = False  # LOST because its machine went down or was restarted
    leftovers: int = 0  # descendants that were alive after the command had ended, and were killed
    restarts: int = 0
    ready: bool = True
    lost_peer: bool = False  # it ended with no more than a code or a signal when it may have lost a rank of its gang
    cause: PodCause | None = None  # what the cluster says ended it, or keeps it from starting; `detail` is its sentence
    cause_at: datetime | None = None  # when that began, where it was before the rank's end (a drain gives time to save)
    detail: str = ""
    last_lines: tuple[str, ...] = ()  # at most 20, secrets masked


class AttemptObservation(Wire):
    """A runtime's view of one attempt at `at`. `ended`: every rank has exited or is lost and no descendant is left."""

    ref: AttemptRef
    at: datetime
    exists: bool = True
    ranks: tuple[RankEvidence, ...] = ()
    ended: bool = False
    note: str = ""  # why it does not run yet, in the words of whoever holds it up
    running_since: datetime | None = None  # set where `ranks` are left out, see `brief`

    @property
    def running(self) -> bool:
        return self.running_since is not None or self._all_run

    @property
    def waits(self) -> bool:
        """Whether it was launched and some rank is not running yet."""
        return not self.ended and any(r.state is RankState.WAITING for r in self.ranks)

    @property
    def _all_run(self) -> bool:
        return bool(self.ranks) and all(r.state is RankState.RUNNING for r in self.ranks)

    def brief(self) -> "AttemptObservation":
        """The news without the ranks: a gang of a thousand must not be a thousand entries of a workflow's history.
        The collection brings the evidence."""
        started = [r.started_at for r in self.ranks if r.started_at is not None]
        since = self.running_since or (max(started, default=self.at) if self._all_run else None)
        return self.model_copy(update={"ranks": (), "running_since": since})


class StopRequest(Wire):
    """Ask an attempt to end: perhaps a checkpoint first, SIGTERM, grace, SIGKILL. The runtime does it on its own."""

    reason: str
    checkpoint_first: bool = False
    checkpoint_within: timedelta = timedelta(minutes=2)
    grace: timedelta = timedelta(seconds=30)


class CheckpointRecord(Wire):
    """One checkpoint folder as the platform judged it. `folder` is relative to the run folder."""

    step: int
    token: str
    attempt: int
    folder: str
    complete: bool
    problem: str = ""  # e.g. "rank 1: weights.npz has 512 of 1024 bytes"
    bytes: int = 0
    files: int = 0
    saved_at: datetime | None = None
    metrics: dict[str, float] = {}


class ArtifactRecord(Wire):
    """One file that an attempt left in its artifacts folder, as it lies in the object store."""

    path: str  # relative to the artifacts folder
    bytes: int
    sha256: str
    object_key: str


class Collected(Wire):
    """What was kept of an ended attempt: verified checkpoints, last step, log objects, artifacts."""

    observation: AttemptObservation
    checkpoints: tuple[CheckpointRecord, ...] = ()
    reached_step: int | None = None
    progress: ProgressNow | None = None  # what the attempt reported last
    artifacts: int = 0
    artifact_files: tuple[ArtifactRecord, ...] = ()  # for the journal; dropped before this enters a workflow's history
    log_bytes: int = 0
    problems: tuple[str, ...] = ()
