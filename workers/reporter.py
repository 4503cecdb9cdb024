"""Carries what the runtime sees to the workflows: one signal per news of an attempt, repeated until the engine has it.

The runtime reports an end at least once, also after a restart, until the attempt is collected; a job's workflow takes a
repeat as no news. So nothing needs to be remembered here.
"""

import asyncio
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.ports import Runtime
from definitions.attempt import AttemptObservation
from definitions.facts import Observed
from definitions.ids import job_workflow_id
from workflows.job import JobWorkflow

FIRST_PAUSE = 0.2
LONGEST_PAUSE = 5.0
log = logging.getLogger(__name__)


class Reporter:
    """Runs beside the runtime, in the worker of its cluster."""

    def __init__(self, runtime: Runtime, client: Client) -> None:
        self._runtime = runtime
        self._client = client
        self._under_way: dict[str, asyncio.Task[None]] = {}  # attempt token -> its delivery
        self._latest: dict[str, AttemptObservation] = {}  # attempt token -> the newest of what is being delivered

    async def run(self, stop: asyncio.Event) -> None:
        """Report until `stop` is set."""
        loop = asyncio.get_running_loop()
        ended = threading.Event()
        own = ThreadPoolExecutor(1, "reporter")  # it watches for ever: a shared pool would miss the thread
        watching: asyncio.Future[Any] = loop.run_in_executor(own, self._watch, ended, loop)
        stopping: asyncio.Future[Any] = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait([watching, stopping], return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.set()
            stopping.cancel()
            for task in self._under_way.values():
                task.cancel()
            await watching
            own.shutdown()

    def _watch(self, ended: threading.Event, loop: asyncio.AbstractEventLoop) -> None:
        for observation in self._runtime.changes(ended):
            loop.call_soon_threadsafe(self._deliver, observation)

    def _deliver(self, observation: AttemptObservation) -> None:
        """At most one delivery per attempt: what comes meanwhile takes the place of what still waits for its turn."""
        token, news = observation.ref.token, observation.brief()
        under_way = self._latest.get(token)
        self._latest[token] = news
        if under_way is None:
            self._under_way[token] = asyncio.ensure_future(self._tell(token))

    async def _tell(self, token: str) -> None:
        told: AttemptObservation | None = None
        try:
            while not _says_the_same(told, self._latest[token]):
                told = self._latest[token]
                await self._signal(told)
        finally:
            del self._latest[token], self._under_way[token]

    async def _signal(self, observation: AttemptObservation) -> None:
        workflow_id = job_workflow_id(observation.ref.tenant, observation.ref.job)
        handle = self._client.get_workflow_handle_for(JobWorkflow.run, workflow_id)
        news = Observed(observation=observation)
        pause = FIRST_PAUSE
        while True:
            try:
                await handle.signal(JobWorkflow.report, news)
                return
            except RPCError as error:
                if error.status is RPCStatusCode.NOT_FOUND:
                    log.info("no workflow waits for this attempt", extra={"job": observation.ref.job})
                    return
                log.warning("attempt not reported yet: %s", error, extra={"job": observation.ref.job})
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)


def _says_the_same(told: AttemptObservation | None, now: AttemptObservation) -> bool:
    return told is not None and (told.ended, told.running, told.note) == (now.ended, now.running, now.note)
