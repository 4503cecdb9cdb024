"""Carries the scheduler's word to the workflows of jobs, as signals."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import timedelta

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.ports import PortError
from activities.scheduling_facts import Message
from workflows.job import JobWorkflow

AT_ONCE = 32
EACH_WITHIN = timedelta(seconds=10)
log = logging.getLogger(__name__)


class TemporalJobs:
    """The JobSignals port, for a thread beside the loop that the client belongs to."""

    def __init__(self, client: Client, loop: asyncio.AbstractEventLoop) -> None:
        self._client = client
        self._loop = loop

    def tell(self, messages: Sequence[Message]) -> frozenset[str]:
        return asyncio.run_coroutine_threadsafe(self._tell(messages), self._loop).result()

    async def _tell(self, messages: Sequence[Message]) -> frozenset[str]:
        slots = asyncio.Semaphore(AT_ONCE)
        outcomes = await asyncio.gather(*(self._signal(message, slots) for message in messages), return_exceptions=True)
        faults = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        unforeseen = [fault for fault in faults if not isinstance(fault, RPCError | RuntimeError)]
        if unforeseen:
            raise unforeseen[0]
        if faults and len(faults) == len(messages):
            raise PortError(f"the engine is away: {faults[0]}") from faults[0]
        if faults:
            log.warning("%d jobs could not be told what was decided: %s", len(faults), faults[0])
        told = zip(messages, outcomes, strict=True)
        return frozenset(message.key for message, outcome in told if not isinstance(outcome, BaseException))

    async def _signal(self, message: Message, slots: asyncio.Semaphore) -> None:
        """A job whose workflow has ended needs no word any more."""
        handle = self._client.get_workflow_handle_for(JobWorkflow.run, message.target)
        async with slots:
            try:
                await handle.signal(JobWorkflow.place, message.fact, rpc_timeout=EACH_WITHIN)
            except RPCError as error:
                if error.status is not RPCStatusCode.NOT_FOUND:
                    raise
