"""Numbers for Prometheus: what this process has seen of requests, and what the store knows of a tenant's jobs.

What is true of jobs is counted in the store at each scrape, so it is right after a restart and with several API
processes. Buckets of times are counted there too.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from sqlalchemy import Engine

from api.queue_times import classes_with_a_longest_wait, latest_since
from policies.scheduling.documents import Priority
from store import figures, pools, queue_figures
from store.engine import reading

CONTENT_TYPE = CONTENT_TYPE_LATEST
LATENCY = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
QUEUE_TIME = (1, 2, 5, 10, 30, 60, 300, 1800, 7200)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
RUN_TIME = (10, 60, 300, 1800, 3600, 14400, 43200, 86400, 604800)


class RequestMetrics:
    """What one API process counts itself."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._seconds = Histogram(
            "perdure_api_request_seconds",
            "Time until an answer was complete.",
            ("route", "method", "status"),
            buckets=LATENCY,
            registry=registry,
        )
        self._submits = Counter("perdure_submits", "Submits by what became of them.", ("outcome",), registry=registry)

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one answered request. Streams count with their whole life."""
        named = method if method in METHODS else "other"  # a caller may make up any number of them
        self._seconds.labels(route, named, str(status)).observe(seconds)
        if method == "POST" and route in ("/v1/jobs", "/v1/jobs:apply"):
            self._submits.labels("accepted" if status == 201 else "refused" if status >= 400 else "nothing new").inc()


def scrape(registry: CollectorRegistry, engine: Engine, tenant: str, now: datetime) -> bytes:
    """This process's numbers, then the tenant's from the store. No tenant sees another one's.

    Of the scheduler everybody sees how often each pool was decided for, and of waiting jobs the tenant's own.
    """
    jobs = CollectorRegistry(auto_describe=False)
    jobs.register(_Jobs(engine, tenant))
    jobs.register(_Waiting(engine, tenant, now))
    return generate_latest(registry) + generate_latest(jobs)


class _Jobs(Collector):
    def __init__(self, engine: Engine, tenant: str) -> None:
        self._engine = engine
        self._tenant = tenant

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        with reading(self._engine) as session:
            jobs = figures.jobs_by_phase(session, self._tenant)
            attempts = figures.attempts_by_failure(session, self._tenant)
            queued = figures.queue_times(session, self._tenant, QUEUE_TIME)
            ran = figures.run_times(session, self._tenant, RUN_TIME)
        yield self._jobs(jobs)
        yield self._attempts(attempts)
        yield self._times("perdure_job_queue_seconds", "From acceptance to the first start.", queued)
        yield self._times("perdure_job_run_seconds", "From the first start to the end.", ran)

    def _jobs(self, rows: list[figures.JobCount]) -> Metric:
        family = GaugeMetricFamily(
            "perdure_jobs", "Jobs that are not deleted.", labels=("tenant", "project", "phase", "failure")
        )
        for row in rows:
            family.add_metric((self._tenant, row.project, row.phase, row.failure or ""), row.count)
        return family

    def _attempts(self, rows: list[figures.AttemptCount]) -> Metric:
        family = CounterMetricFamily(
            "perdure_attempts", "Ended attempts by class of failure.", labels=("tenant", "project", "failure")
        )
        for row in rows:
            family.add_metric((self._tenant, row.project, row.failure or ""), row.count)
        return family

    def _times(self, name: str, text: str, rows: list[figures.Times]) -> Metric:
        family = HistogramMetricFamily(name, text, labels=("tenant", "project"))
        for row in rows:
            bounds = [*(str(bound) for bound in row.bounds), "+Inf"]
            counts = [*row.cumulative, row.count]
            family.add_metric((self._tenant, row.project), list(zip(bounds, counts, strict=True)), row.seconds)
        return family


class _Waiting(Collector):
    """Jobs that wait for places, and what was decided about them."""

    def __init__(self, engine: Engine, tenant: str, now: datetime) -> None:
        self._engine = engine
        self._tenant = tenant
        self._now = now

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        with reading(self._engine) as session:
            waiting = queue_figures.waiting(session, self._tenant)
            decided = [(row.name, row.decision, row.decided_at) for row in pools.every(session)]
            classes = classes_with_a_longest_wait(session)
            late = queue_figures.overdue(session, self._tenant, latest_since(classes, self._now))
        labels = ("tenant", "pool", "queue")
        count = GaugeMetricFamily("perdure_queue_waiting", "Jobs that wait for places.", labels=labels)
        oldest = GaugeMetricFamily(
            "perdure_queue_oldest_wait_seconds", "How long the first of them has been waiting.", labels=labels
        )
        for queue in waiting:
            key = (self._tenant, queue.pool, queue.queue)
            count.add_metric(key, queue.count)
            oldest.add_metric(key, max(0.0, (self._now - queue.oldest).total_seconds()))
        yield from (count, oldest, self._missed(late, classes), *self._decided(decided))

    def _missed(self, late: list[queue_figures.Overdue], classes: Mapping[str, Priority]) -> Metric:
        labels = ("tenant", "pool", "queue", "priority_class", "alert")
        text = "Waiting jobs that have waited longer than the longest queue time of their class."
        family = GaugeMetricFamily("perdure_queue_time_missed", text, labels=labels)
        for row in late:
            alert = "true" if classes[row.priority_class].alert else "false"
            family.add_metric((self._tenant, row.pool, row.queue, row.priority_class, alert), row.count)
        return family

    def _decided(self, pools: list[tuple[str, int, datetime | None]]) -> Iterator[Metric]:
        made = CounterMetricFamily("perdure_scheduler_decisions", "Decisions that changed something.", labels=("pool",))
        last = GaugeMetricFamily(
            "perdure_scheduler_last_decision_timestamp_seconds", "When the last one was made.", labels=("pool",)
        )
        for name, number, at in pools:
            made.add_metric((name,), number)
            if at is not None:
                last.add_metric((name,), at.timestamp())
        yield from (made, last)
