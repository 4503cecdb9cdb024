"""Whether, when and where a failed attempt is followed by another. The table here is the one that the docs print."""

from datetime import datetime, timedelta

from definitions.facts import AttemptSummary
from definitions.job_state import JobState, RetryRules
from definitions.states import FailureClass
from definitions.wire import Wire

SAME_FAILURE_LIMIT = 3  # the same failure at the same step this often in a row: another attempt would only cost money
UNCOUNTED_LIMIT = 20  # attempts that are not the job's own fault are free, but not for ever


class Rule(Wire):
    """The default for one class of failure."""

    retried: bool
    counted: bool = True  # uses up retry.limit
    delay_factor: float = 1.0  # times the job's back-off
    avoid_node: bool = False
    limit: int | None = None  # most retries for this class, below retry.limit
    why: str


TABLE: dict[FailureClass, Rule] = {
    FailureClass.USER_ERROR: Rule(retried=False, why="the command's own answer would only repeat itself"),
    FailureClass.COMMAND_NOT_FOUND: Rule(retried=False, why="it will not be there next time either"),
    FailureClass.OUT_OF_MEMORY: Rule(
        retried=True, limit=1, avoid_node=True, why="once, in case neighbours took the memory"
    ),
    FailureClass.SIGNAL: Rule(retried=True, why="somebody or something outside ended it"),
    FailureClass.HANG: Rule(retried=True, avoid_node=True, why="a stuck network or device often works after a restart"),
    FailureClass.TIMEOUT: Rule(
        retried=False, why="the declared time is used up; `jobs extend` gives more while it runs"
    ),
    FailureClass.DISK_FULL: Rule(retried=True, delay_factor=6, avoid_node=True, why="space may be freed meanwhile"),
    FailureClass.INFRASTRUCTURE: Rule(retried=True, why="not the command's fault"),
    FailureClass.NODE_LOST: Rule(
        retried=True, counted=False, avoid_node=True, why="not the job's fault, and not counted"
    ),
    FailureClass.PREEMPTED: Rule(retried=True, counted=False, why="the platform took it away, so it is not counted"),
    FailureClass.EVICTED: Rule(
        retried=True, counted=False, avoid_node=True, why="the cluster or a person took its place, so it is not counted"
    ),
    FailureClass.IMAGE: Rule(
        retried=True,
        limit=1,
        delay_factor=6,
        avoid_node=True,
        why="once, later and elsewhere: a registry may answer again, another node may have the image",
    ),
    FailureClass.CONFIG: Rule(retried=False, why="what it names will not be there until somebody makes it"),
    FailureClass.DEPENDENCY: Rule(retried=False, why="what it depends on failed"),
    FailureClass.REPEATED: Rule(retried=False, why="the same failure at the same step three times"),
}


class RetryVerdict(Wire):
    """The answer, with the sentence that explains it."""

    retry: bool
    why: str
    delay: timedelta = timedelta(0)
    counted: bool = True
    avoid: tuple[str, ...] = ()
    repeated: bool = False


def decide(state: JobState, failed: AttemptSummary, now: datetime) -> RetryVerdict:
    """Decide about the attempt that just failed; `state.attempts` already ends with it."""
    if failed.failure is None:
        raise ValueError("an attempt that did not fail is not retried")
    rule = TABLE[failed.failure]
    if state.launch_refused:
        return RetryVerdict(retry=False, why="not retried: it can never start as asked")
    if _is_repetition(state.attempts):
        return RetryVerdict(retry=False, repeated=True, why=_repetition_sentence(failed))
    allowed = state.retry.classes.get(failed.failure)
    if not (allowed if allowed is not None else rule.retried):
        return RetryVerdict(retry=False, why=f"not retried: {rule.why} (retry.rules.{failed.failure} would allow it)")
    return _within_budget(state, failed, rule, allowed, now)


def delay_before(rules: RetryRules, retries: int, factor: float = 1.0) -> timedelta:
    """Exponential back-off: the `retries`-th retry (from 0) waits first_delay x factor^retries, capped."""
    capped = min(retries, 60)  # the power itself must not overflow
    seconds = rules.first_delay.total_seconds() * min(rules.factor**capped, 1e9) * factor
    return min(timedelta(seconds=min(seconds, 1e9)), rules.longest_delay)


def _within_budget(
    state: JobState, failed: AttemptSummary, rule: Rule, allowed: int | None, now: datetime
) -> RetryVerdict:
    of_class = sum(1 for a in state.attempts if a.failure is failed.failure and not a.resized)
    most = allowed if allowed is not None else rule.limit
    if most is not None and of_class > most:
        return RetryVerdict(retry=False, why=_used_up(most, f" for {failed.failure}"))
    free = [a for a in state.attempts if a.failure is not None and not TABLE[a.failure].counted and not a.displaced]
    if not rule.counted and len(free) >= UNCOUNTED_LIMIT:
        return RetryVerdict(retry=False, why=f"no retries left: {UNCOUNTED_LIMIT} times {failed.failure}")
    if rule.counted and state.retries_used >= state.retry.limit:
        return RetryVerdict(retry=False, why=_used_up(state.retry.limit))
    delay = delay_before(state.retry, state.retries_used, rule.delay_factor)
    if _over_budget(state, now + delay):
        return RetryVerdict(retry=False, why=f"the retry budget of {state.retry.budget} is used up")
    avoid = failed.nodes if rule.avoid_node else ()
    return RetryVerdict(
        retry=True, delay=delay, counted=rule.counted, avoid=avoid, why=f"next attempt in {_spell(delay)}: {rule.why}"
    )


def _used_up(limit: int, what: str = "") -> str:
    if limit == 0:
        return f"not retried: its limit of retries{what} is 0"
    return f"the one retry{what} is used up" if limit == 1 else f"all {limit} retries{what} are used up"


def _over_budget(state: JobState, then: datetime) -> bool:
    if state.retry.budget is None or state.started_at is None:
        return False
    return then > state.started_at + state.retry.budget


def _is_repetition(attempts: tuple[AttemptSummary, ...]) -> bool:
    """The last three attempts ended the same way at the same step.

    What the job cannot help (lost nodes, preemption, infrastructure) never counts, and a signal or an eviction only
    with a step: random kills of a job that reports no step prove nothing about it.
    """
    last = attempts[-SAME_FAILURE_LIMIT:]
    if len(last) < SAME_FAILURE_LIMIT:
        return False
    first = last[0]
    if first.failure in (FailureClass.NODE_LOST, FailureClass.PREEMPTED, FailureClass.INFRASTRUCTURE):
        return False
    if first.failure in (FailureClass.SIGNAL, FailureClass.EVICTED) and first.reached_step is None:
        return False
    return all(_signature(a) == _signature(first) for a in last)


def _signature(attempt: AttemptSummary) -> tuple[object, ...]:
    return attempt.failure, attempt.exit_code, attempt.signal, attempt.reached_step


def _repetition_sentence(failed: AttemptSummary) -> str:
    step = "with no step reported" if failed.reached_step is None else f"at step {failed.reached_step}"
    return f"not retried: the same failure {step} {SAME_FAILURE_LIMIT} times in a row"


def _spell(delay: timedelta) -> str:
    seconds = delay.total_seconds()
    return f"{seconds:g} s" if seconds < 120 else f"{seconds / 60:g} min"
