"""What runs where: task queue -> workflows and activities."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from temporalio.client import Client
from temporalio.worker import PollerBehaviorAutoscaling, Worker

from activities.adapters.dialling import WebSocketDialler
from activities.array import ArrayActivities, Arrays, Requests
from activities.clusters import ClusterCalls, NodeActivities
from activities.job import JournalActivities, RuntimeActivities
from activities.job_ends import EndsActivities, JobEnds
from activities.ports import ClusterInspector, ClusterOperator, Journal, Runtime
from activities.reservations import ReservationActivities, Reservations
from activities.schedules import JobEnder, ScheduleActivities, ScheduleRuns
from activities.scheduling import SchedulerActivities
from activities.scheduling_facts import JobSignals, Pools
from activities.sessions import SessionActivities
from definitions.cluster import LOCAL_CLUSTER, cluster_queue, session_queue
from workers.settings import Settings
from workers.workflow_runner import workflow_runner
from workflows.array import ArrayWorkflow
from workflows.cluster_call import ClusterCallWorkflow
from workflows.job import JobWorkflow
from workflows.node import NodeWorkflow
from workflows.reservation import ReservationWorkflow
from workflows.schedule_tick import ScheduleTickWorkflow
from workflows.scheduler import SchedulerWorkflow
from workflows.session import SessionWorkflow

CONTROL = "control"
SCHEDULER = "scheduler"
MOST_SESSIONS = 64  # of one worker at once
AFTER_A_KILL = timedelta(seconds=2)  # how long tasks wait for a worker that was killed, before any other gets them
POLLERS = PollerBehaviorAutoscaling(minimum=1, initial=2, maximum=8)


@dataclass(frozen=True)
class Queue:
    """One task queue and what a worker of it offers."""

    name: str
    workflows: Sequence[type] = ()
    activities: Sequence[Callable[..., Any]] = ()
    slots: int | None = None  # activities at once, in threads of their own; None: the process's setting and threads


def control(
    journal: Journal,
    runs: ScheduleRuns,
    ender: JobEnder,
    ends: JobEnds,
    arrays: Arrays,
    requests: Requests,
    reservations: Reservations,
) -> Queue:
    """The queue beside the store: workflows, and the activities that write into it."""
    windows = ReservationActivities(reservations)
    schedules, of_arrays = ScheduleActivities(runs, ender), ArrayActivities(arrays, requests)
    return Queue(
        CONTROL,
        workflows=(
            JobWorkflow,
            ArrayWorkflow,
            ScheduleTickWorkflow,
            ClusterCallWorkflow,
            NodeWorkflow,
            SessionWorkflow,
            SchedulerWorkflow,
            ReservationWorkflow,
        ),
        activities=(
            JournalActivities(journal).record,
            schedules.submit_run,
            schedules.check_run,
            schedules.end_run,
            EndsActivities(ends).look,
            of_arrays.make_jobs,
            of_arrays.pass_on,
            of_arrays.record_array,
            windows.keep,
            windows.change_window,
        ),
    )


def scheduler(pools: Pools, jobs: JobSignals, resize_every: timedelta | None = None, compile_from: int = 0) -> Queue:
    """The queue of decisions for pools: one at a time, in a thread that keeps what it knows of them."""
    decisions = SchedulerActivities(pools, jobs, resize_every=resize_every, compile_from=compile_from)
    return Queue(SCHEDULER, activities=(decisions.decide,), slots=1)


def local_cluster(runtime: Runtime, journal: Journal) -> Queue:
    """The queue beside this machine's processes. Each further cluster gets one of its own."""
    return Queue(cluster_queue(LOCAL_CLUSTER), activities=_of_jobs(runtime, journal))


def cluster(
    name: str, runtime: Runtime, journal: Journal, inspector: ClusterInspector, operator: ClusterOperator
) -> Queue:
    """The queue of a cluster's own worker: its jobs' attempts, questions about it, and its nodes."""
    calls, nodes = ClusterCalls(inspector, runtime), NodeActivities(operator)
    return Queue(
        cluster_queue(name),
        activities=(
            *_of_jobs(runtime, journal),
            calls.check_cluster,
            calls.render_objects,
            calls.compare_objects,
            calls.read_live_logs,
            calls.read_rank_logs,
            calls.read_metrics,
            nodes.cordon_node,
            nodes.uncordon_node,
            nodes.pods_on_node,
            nodes.evict_pod,
        ),
    )


def sessions(name: str, runtime: Runtime) -> Queue:
    """The queue of a cluster's sessions, served beside its other one."""
    return Queue(
        session_queue(name), activities=(SessionActivities(runtime, WebSocketDialler()).serve,), slots=MOST_SESSIONS
    )


def _of_jobs(runtime: Runtime, journal: Journal) -> tuple[Callable[..., Any], ...]:
    own = RuntimeActivities(runtime, journal)
    return (own.launch, own.stop, own.control, own.poll, own.collect)


def worker(client: Client, queue: Queue, settings: Settings, threads: ThreadPoolExecutor) -> Worker:
    """A worker of one queue. Enter it or drop it never: one that is made and not run harms the process's exit."""
    shared: dict[str, Any] = {
        "task_queue": queue.name,
        "activities": queue.activities,
        "activity_executor": threads if queue.slots is None else ThreadPoolExecutor(queue.slots, queue.name),
        "max_concurrent_activities": queue.slots or settings.activities,
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
