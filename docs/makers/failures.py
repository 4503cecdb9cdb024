"""The table of failure classes, from policies/retry.py, and what counts as proof of each."""

from definitions.states import FailureClass, Phase
from docs.makers.markdown import code, table
from policies.requests import ALLOWED
from policies.retry import SAME_FAILURE_LIMIT, TABLE, UNCOUNTED_LIMIT, Rule

# How policies/failure.py comes to a class. A test wants an entry for every class.
PROOF: dict[FailureClass, str] = {
    FailureClass.USER_ERROR: "exit code other than 0 that no class below explains; a secret that it names is missing; "
    "a service that ended by itself with 0",
    FailureClass.OUT_OF_MEMORY: "its own control group counted an OOM kill; or it was killed by SIGKILL while the "
    "kernel's count of OOM kills grew (then the reason says *suspected*); or the kubelet says `OOMKilled`. "
    "Exit code 137 alone is no proof",
    FailureClass.SIGNAL: "ended by a signal that the platform did not send, or exit code 128 + n, as shells report it",
    FailureClass.COMMAND_NOT_FOUND: "the program does not exist or is not executable",
    FailureClass.HANG: "no progress reported within `progress.hangAfter`",
    FailureClass.TIMEOUT: "`timeout` was reached; or the cluster says `DeadlineExceeded`",
    FailureClass.DISK_FULL: "it failed, and the file system of its run folder had no space left; or its "
    "pod was evicted because it used more scratch space than it may",
    FailureClass.INFRASTRUCTURE: "both supervisors of a rank are gone without a receipt; it could not be started; "
    "the working directory is missing or damaged; the other ranks did not come up in time; its pod could "
    "not be prepared, or its node did not accept it; its pod is gone and nothing says how; another pod of its "
    "gang was not heard any more",
    FailureClass.NODE_LOST: "its machine went down or was restarted, or its service manager took it down; "
    "the cluster says that its node is not ready, for longer than the cluster's `patience.node`, or gone",
    FailureClass.PREEMPTED: "its cluster's scheduler took its place for a pod of higher priority "
    "(`PreemptionByScheduler`)",
    FailureClass.EVICTED: "the cluster says that its pod was taken off its node: `Evicted` by a node short of memory, "
    "disk or process ids, a drain (`EvictionByEvictionAPI`), a taint (`DeletionByTaintManager`), or a deletion",
    FailureClass.IMAGE: "the kubelet says that the image cannot be had (`ErrImagePull`, `ErrImageNeverPull`, "
    "`InvalidImageName`) for longer than the cluster's `image_patience`",
    FailureClass.CONFIG: "the kubelet says that the container cannot be made (`CreateContainerConfigError`, "
    "`StartError`), or that a volume is not there, for longer than the cluster's `config_patience`",
    FailureClass.DEPENDENCY: "a job that it waits for did not end as it has to (`after`); a run of a schedule could "
    "not be accepted",
    FailureClass.REPEATED: f"the same class, exit code, signal and step {SAME_FAILURE_LIMIT} times in a row",
}


def proofs() -> str:
    return table(["Class", "What proves it"], ([code(failure), PROOF[failure]] for failure in FailureClass))


def failure_table() -> str:
    head = ["Class", "Retried", "Counts against `retry.limit`", "Wait", "Avoids the node", "Why"]
    return table(head, (_row(failure, TABLE[failure]) for failure in FailureClass))


def limits() -> str:
    return (
        f"The same class, exit code, signal and step {SAME_FAILURE_LIMIT} times in a row ends the job as `repeated`. "
        "What the job cannot help (`node-lost`, `preempted`, `infrastructure`) is never taken for that, "
        "and a signal or an eviction only when the job reports steps. "
        f"Attempts that do not count are limited to {UNCOUNTED_LIMIT}."
    )


def verbs_by_phase() -> str:
    """Which request is possible in which phase, from policies/requests.py."""
    verbs = sorted(ALLOWED)
    rows = [[code(phase), *("yes" if phase in ALLOWED[verb] else "" for verb in verbs)] for phase in Phase]
    return table(["Phase", *(code(verb) for verb in verbs)], rows)


def _row(failure: FailureClass, rule: Rule) -> list[str]:
    if not rule.retried:
        return [code(failure), "no", "", "", "", rule.why]
    retried = "yes" if rule.limit is None else f"at most {rule.limit}×"
    wait = "back-off" if rule.delay_factor == 1 else f"{rule.delay_factor:g} × back-off"
    counts, avoids = ("yes" if flag else "no" for flag in (rule.counted, rule.avoid_node))
    return [code(failure), retried, counts, wait, avoids, rule.why]
