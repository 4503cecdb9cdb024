"""What a keeper pod is asked, and what it answers. The question lies in a Secret: a grant is a credential."""

from enum import StrEnum

from activities.ports import UploadGrant
from definitions.attempt import ArtifactRecord, AttemptLaunch, CheckpointRecord, RankEvidence
from definitions.progress import ProgressNow
from definitions.wire import Wire


class Task(StrEnum):
    COLLECT = "collect"  # keep logs and artifacts, judge checkpoints, read progress and receipts
    JUDGE = "judge"  # judge checkpoints
    PRUNE = "prune"  # delete checkpoint folders


class Upload(Wire):
    """Leave to store objects whose key begins with `below`; the grant's own prefix may begin with the store's."""

    grant: UploadGrant
    below: str


class KeeperInput(Wire):
    task: Task
    launch: AttemptLaunch | None = None  # of the attempt that is collected
    upload: Upload | None = None  # for `collect`
    folders: tuple[str, ...] = ()  # for `prune`


class KeeperError(Wire):
    code: str
    message: str
    permanent: bool = False


class KeeperOutcome(Wire):
    """`receipts`: of the ranks that left a whole one on the volume. `gone`: pruned folders."""

    error: KeeperError | None = None
    receipts: tuple[RankEvidence, ...] = ()
    checkpoints: tuple[CheckpointRecord, ...] = ()
    reached_step: int | None = None
    progress: ProgressNow | None = None
    artifact_files: tuple[ArtifactRecord, ...] = ()
    log_bytes: int = 0
    problems: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
