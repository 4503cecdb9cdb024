"""What the worker process is put together from: store, runtime, objects, and the loops beside them."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Engine
from temporalio.client import Client

from activities.adapters.arrays import SqlArrays
from activities.adapters.job_ends import SqlJobEnds
from activities.adapters.journal import SqlJournal
from activities.adapters.local import LocalRuntime
from activities.adapters.local.machine import machine
from activities.adapters.pools import SqlPools
from activities.adapters.reservations import SqlReservations
from activities.adapters.schedule_runs import SqlScheduleRuns
from activities.adapters.secrets import SqlSecrets
from activities.ports import Journal, ObjectStore, Runtime
from definitions.cluster import LOCAL_CLUSTER
from store.engine import open_engine
from store.schema import check_engine
from store.sealing import Keys, load_keys
from workers import registry
from workers.end_teller import EndTeller
from workers.job_ender import OperatorEnder
from workers.job_teller import TemporalJobs
from workers.objects import open_objects
from workers.operator import TemporalJobOperator
from workers.pool_waker import PoolWaker
from workers.registry import CONTROL, Queue
from workers.reporter import Reporter
from workers.request_passer import OperatorRequests
from workers.resealer import Resealer
from workers.reservation_waker import ReservationWaker
from workers.run_watcher import RunWatcher
from workers.schedule_backend import TemporalSchedules
from workers.schedule_sync import ScheduleSync
from workers.settings import Settings
from workers.starter import Starter
from workers.sweeper import Sweeper

REQUEST_WITHIN = timedelta(seconds=10)  # how long a job is waited for when its schedule ends it
Loop = Callable[[asyncio.Event], Awaitable[None]]


@dataclass(frozen=True)
class Parts:
    """The ports' adapters, as this process uses them."""

    settings: Settings
    engine: Engine
    objects: ObjectStore
    runtime: Runtime
    journal: Journal
    keys: Keys

    def queues(self, client: Client) -> Sequence[Queue]:
        """What this process serves."""
        operator, runs = TemporalJobOperator(client, REQUEST_WITHIN), SqlScheduleRuns(self.engine)
        arrays, requests = SqlArrays(self.engine), OperatorRequests(operator, client)
        ends = SqlJobEnds(self.engine)
        control = registry.control(
            self.journal, runs, OperatorEnder(operator), ends, arrays, requests, SqlReservations(self.engine)
        )
        pools = SqlPools(self.engine, machine if self.settings.local_jobs else None)
        jobs, chosen = TemporalJobs(client, asyncio.get_running_loop()), self.settings
        scheduler = registry.scheduler(pools, jobs, chosen.resize_every, chosen.compile_from)
        if not self.settings.local_jobs:
            return (control, scheduler)
        here = registry.local_cluster(self.runtime, self.journal)
        return (control, scheduler, here, registry.sessions(LOCAL_CLUSTER, self.runtime))

    def loops(self, client: Client) -> Sequence[Loop]:
        """What runs beside the workers, each until its event is set."""
        starter = Starter(
            self.engine,
            client,
            task_queue=CONTROL,
            heartbeat=self.settings.heartbeat,
            safety_poll=self.settings.safety_poll,
        )
        reporter = Reporter(self.runtime, client)
        watcher = RunWatcher(self.engine, self.runtime, self.journal)
        sweeper = Sweeper(self.engine, self.runtime, self.objects, period=self.settings.sweep)
        resealer = Resealer(self.engine, self.keys, period=self.settings.sweep)
        schedules = ScheduleSync(self.engine, TemporalSchedules(client, CONTROL))
        waker = PoolWaker(self.engine, client, task_queue=CONTROL)
        teller = EndTeller(self.engine, client)
        lives = ReservationWaker(self.engine, client, task_queue=CONTROL)
        jobs = (starter.run, reporter.run, watcher.run, teller.run)
        return (*jobs, sweeper.run, resealer.run, schedules.run, waker.run, lives.run)


@contextmanager
def opened_parts(settings: Settings) -> Iterator[Parts]:
    """The embedded parts: a database, an object store, this machine. Raises PerdureError when one cannot be used."""
    engine = open_engine(settings.database, durable=settings.synchronous == "full")
    try:
        check_engine(engine)
        objects = open_objects(settings)
        keys = load_keys(os.environ, settings.secrets_key_file)
        runtime = LocalRuntime(settings.folder, SqlSecrets(engine, keys), objects)
        yield Parts(settings, engine, objects, runtime, SqlJournal(engine), keys)
    finally:
        engine.dispose()
