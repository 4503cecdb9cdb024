"""What would help, for each class of failure and each phase in which a job can be stuck. Text, not analysis."""

from definitions.states import FailureClass, Phase

AFTER_FAILURE: dict[FailureClass, tuple[str, ...]] = {
    FailureClass.USER_ERROR: (
        "Read the last lines of the failing rank: the program itself ended with this code.",
        "Correct the program and submit it again; `perdure jobs clone` starts from the same document.",
    ),
    FailureClass.OUT_OF_MEMORY: (
        "Use a smaller batch or fewer processes per node, or a machine with more memory.",
        "Continue from the last checkpoint: perdure jobs clone JOB --from-step STEP.",
    ),
    FailureClass.SIGNAL: (
        "Somebody or something outside the job sent the signal: look who runs on that machine.",
        "Submit it again; it resumes from its newest verified checkpoint.",
    ),
    FailureClass.COMMAND_NOT_FOUND: (
        "Check spec.command, and that the program is on the PATH of the submitted environment.",
        "Check that ignore files do not keep the program out of the snapshot.",
    ),
    FailureClass.HANG: (
        "It reported no step for longer than spec.progress.hangAfter: raise that, or report more often.",
        "Look at the last lines of every rank for one that waits for the others.",
    ),
    FailureClass.TIMEOUT: (
        "Raise spec.timeout, or give more time while it runs: perdure jobs extend JOB --by 1h.",
        "Continue from the last checkpoint: perdure jobs clone JOB --from-step STEP.",
    ),
    FailureClass.DISK_FULL: ("Free space on the disk that holds the run folder, or keep fewer checkpoints.",),
    FailureClass.INFRASTRUCTURE: (
        "It was not the job's doing. Submit it again; look at `perdure status` if it repeats.",
    ),
    FailureClass.NODE_LOST: ("The machine went away. Submit it again once it, or another one, is there.",),
    FailureClass.PREEMPTED: ("The platform took its place for another job. Submit it again.",),
    FailureClass.EVICTED: (
        "Its pod was taken off its node; the reason says by whom, or what the node was short of.",
        "If its node was short of memory or disk, ask for more in spec.resources.",
        "Submit it again; it resumes from its newest verified checkpoint.",
    ),
    FailureClass.IMAGE: (
        "Read the registry's words in the reason: a wrong name or tag, or no right to pull it.",
        "Correct spec.image, or give the cluster's worker the pull secret: perdure clusters show CLUSTER.",
    ),
    FailureClass.CONFIG: (
        "Make the secret, key or volume that the reason names, in the namespace where the cluster's jobs run.",
        "Then submit it again: perdure jobs clone JOB.",
    ),
    FailureClass.DEPENDENCY: (
        "Something the job needs was not there, or another job ended otherwise than it had to; the reason names it.",
        "Once that is mended, submit it again: perdure jobs clone JOB.",
    ),
    FailureClass.REPEATED: (
        "The same failure came three times at the same step: trying again will not help.",
        "Look at what the job does at that step.",
    ),
}

ORDERED = ("It starts by itself when the jobs before it have ended; or end it with `perdure jobs cancel JOB`.",)
IN_PHASE: dict[Phase, tuple[str, ...]] = {
    Phase.PENDING: ("It starts by itself within seconds. If it stays, look at `perdure status`.",),
    Phase.QUEUED: ("It starts by itself once it has places; `perdure queue` and `perdure capacity` tell more.",),
    Phase.BACKING_OFF: ("It starts again by itself; or end it with `perdure jobs cancel`.",),
    Phase.SUSPENDED: ("Let it go on: perdure jobs resume JOB.",),
}


def advice(phase: Phase, failure: FailureClass | None, *, ordered: bool = False) -> tuple[str, ...]:
    """What a person can do about a job in this phase with this last failure. Nothing, when all is well. `ordered`:
    other jobs come first."""
    told = ORDERED if ordered and phase is Phase.PENDING else IN_PHASE.get(phase, ())
    if failure is not None and phase in (Phase.FAILED, Phase.BACKING_OFF):
        told += AFTER_FAILURE[failure]
    return told
