"""The table of timeouts and retries: each activity call splats one of these, none relies on a default."""

from datetime import timedelta

from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityCancellationType, ActivityConfig

from definitions.session import LONGEST_HOURS

STEADY = RetryPolicy(
    initial_interval=timedelta(milliseconds=500), backoff_coefficient=2.0, maximum_interval=timedelta(seconds=20)
)

LONG_ENOUGH = timedelta(days=30)  # for somebody to repair whatever is away


def launch(heartbeat: timedelta) -> ActivityConfig:
    """Snapshot extraction included. After an hour without a start the attempt counts as failed."""
    return ActivityConfig(
        start_to_close_timeout=timedelta(minutes=15),
        schedule_to_close_timeout=timedelta(hours=1),
        heartbeat_timeout=heartbeat,
        retry_policy=STEADY,
        cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    )


def collect(heartbeat: timedelta) -> ActivityConfig:
    """Hashing every checkpoint and moving every log takes its time. Attempts unbounded on purpose, as in `record`:
    giving up would count a success as lost and run it again. What can never work is refused for good and ends at once.
    """
    return ActivityConfig(
        start_to_close_timeout=timedelta(hours=1),
        schedule_to_close_timeout=LONG_ENOUGH,
        heartbeat_timeout=heartbeat,
        retry_policy=STEADY,
        cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    )


def short(heartbeat: timedelta) -> ActivityConfig:
    """Stop, control, poll. When they give up, the next safety poll asks again."""
    return ActivityConfig(
        start_to_close_timeout=timedelta(minutes=1),
        schedule_to_close_timeout=timedelta(minutes=10),
        heartbeat_timeout=heartbeat,
        retry_policy=STEADY,
    )


def record() -> ActivityConfig:
    """Attempts unbounded on purpose: a job's end must reach the store, however long the database is away."""
    return ActivityConfig(
        start_to_close_timeout=timedelta(seconds=15),
        schedule_to_close_timeout=LONG_ENOUGH,
        retry_policy=STEADY,
    )


def decide(queue: str) -> ActivityConfig:
    """One decision of a scheduler. The first one of a process may wait for its loops to be compiled, which takes
    minutes. Attempts unbounded on purpose: a pool is decided for as soon as what is away is back."""
    return ActivityConfig(
        task_queue=queue,
        start_to_close_timeout=timedelta(minutes=15),
        schedule_to_close_timeout=LONG_ENOUGH,
        heartbeat_timeout=timedelta(seconds=10),
        retry_policy=STEADY,
    )


def answer() -> ActivityConfig:
    """Somebody waits for what the store answers; where it is away for longer than that, they ask again."""
    return ActivityConfig(
        start_to_close_timeout=timedelta(seconds=15),
        schedule_to_close_timeout=timedelta(minutes=2),
        retry_policy=STEADY,
    )


def question(queue: str) -> ActivityConfig:
    """Somebody waits for the answer: a worker takes the question within seconds, or the asker is told that none is
    there. Twice at most: the first try may have gone to a worker that was being replaced."""
    return ActivityConfig(
        task_queue=queue,
        schedule_to_start_timeout=timedelta(seconds=10),
        start_to_close_timeout=timedelta(seconds=60),
        heartbeat_timeout=timedelta(seconds=10),
        schedule_to_close_timeout=timedelta(seconds=90),
        retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=500), maximum_attempts=2),
    )


def node(queue: str) -> ActivityConfig:
    """What is done to a node. Tried for an hour, in which the worker of its cluster may come back."""
    return ActivityConfig(
        task_queue=queue,
        start_to_close_timeout=timedelta(minutes=1),
        schedule_to_close_timeout=timedelta(hours=1),
        heartbeat_timeout=timedelta(seconds=10),
        retry_policy=STEADY,
    )


def session() -> ActivityConfig:
    """Somebody waits at a terminal. Tried once: what was typed and printed has gone with the connection."""
    return ActivityConfig(
        schedule_to_start_timeout=timedelta(seconds=15),
        start_to_close_timeout=timedelta(hours=LONGEST_HOURS),
        schedule_to_close_timeout=timedelta(hours=LONGEST_HOURS, minutes=1),
        heartbeat_timeout=timedelta(seconds=10),
        retry_policy=RetryPolicy(maximum_attempts=1),
        cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    )
