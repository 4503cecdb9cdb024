"""What runs where: task queue -> workflows and activities."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from temporalio.client import Client
from temporalio.worker import PollerBehaviorAutoscaling, Worker

from activities.job import JournalActivities, RuntimeActivities
from activities.ports import Journal, Runtime
from activities.schedules import JobEnder, ScheduleActivities, ScheduleRuns
from workers.settings import Settings
from workers.workflow_runner import workflow_runner
from workflows.job import JobWorkflow
from workflows.schedule_tick import ScheduleTickWorkflow

CONTROL = "control"
LOCAL_CLUSTER = "cluster-local"
AFTER_A_KILL = timedelta(seconds=2)  # how long tasks wait for a worker that was killed, before any other gets them
POLLERS = PollerBehaviorAutoscaling(minimum=1, initial=2, maximum=8)


@dataclass(frozen=True)
class Queue:
    """One task queue and what a worker of it offers."""

    name: str
    workflows: Sequence[type] = ()
    activities: Sequence[Callable[..., Any]] = ()


def control(journal: Journal, runs: ScheduleRuns, ender: JobEnder) -> Queue:
    """The queue beside the store: workflows, and the activities that write into it."""
    schedules = ScheduleActivities(runs, ender)
    return Queue(
        CONTROL,
        workflows=(JobWorkflow, ScheduleTickWorkflow),
        activities=(
            JournalActivities(journal).record,
            schedules.submit_run,
            schedules.check_run,
            schedules.end_run,
        ),
    )


def local_cluster(runtime: Runtime, journal: Journal) -> Queue:
    """The queue beside this machine's processes. Each further cluster gets one of its own."""
    own = RuntimeActivities(runtime, journal)
    return Queue(LOCAL_CLUSTER, activities=(own.launch, own.stop, own.control, own.poll, own.collect))


def worker(client: Client, queue: Queue, settings: Settings, threads: ThreadPoolExecutor) -> Worker:
    """A worker of one queue. Enter it or drop it never: one that is made and not run harms the process's exit."""
    shared: dict[str, Any] = {
        "task_queue": queue.name,
        "activities": queue.activities,
        "activity_executor": threads,
        "max_concurrent_activities": settings.activities,
        "activity_task_poller_behavior": POLLERS,
        "graceful_shutdown_timeout": settings.drain,
    }
    if not queue.workflows:
        return Worker(client, **shared)
    return Worker(
        client,
        workflows=queue.workflows,
        workflow_runner=workflow_runner(),
        max_concurrent_workflow_tasks=settings.workflow_tasks,
        max_cached_workflows=settings.cached_workflows,
        sticky_queue_schedule_to_start_timeout=AFTER_A_KILL,
        workflow_task_poller_behavior=POLLERS,
        **shared,
    )
