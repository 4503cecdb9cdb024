"""Where a job was submitted from, as its row keeps it."""

from definitions.array_state import ArrayPlace
from definitions.attempt import SeedCheckpoint
from definitions.job_order import Awaited
from definitions.places import Ticket
from definitions.wire import Wire


class GitFacts(Wire):
    """Where the submitted folder stood in its repository."""

    commit: str | None = None
    branch: str | None = None
    dirty: bool = False


class JobSubmission(Wire):
    """What the document does not say and still decides what runs. `seed_checkpoint` was found at acceptance."""

    base_env: dict[str, str] = {}
    cwd: str | None = None
    git: GitFacts | None = None
    snapshot: str | None = None
    seed_checkpoint: SeedCheckpoint | None = None
    ticket: Ticket | None = None  # found at acceptance; None: it starts without waiting for a place
    after: tuple[Awaited, ...] = ()  # found at acceptance
    array: ArrayPlace | None = None  # of a job that an array made
