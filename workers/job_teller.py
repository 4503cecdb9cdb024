"""Carries word to the workflows of jobs, as signals: of the scheduler about places, and that other jobs have ended."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import timedelta

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.ports import PortError
from activities.scheduling_facts import Message
from definitions.facts import JobEnded
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
        return asyncio.run_coroutine_threadsafe(carry(self._client, messages), self._loop).result()


async def carry(client: Client, messages: Sequence[Message]) -> frozenset[str]:
    """Send each message to its workflow; the keys of those that need not be sent again. May be repeated: what a job is
    told twice has no further effect. Raises PortError when none could be sent."""
    slots = asyncio.Semaphore(AT_ONCE)
    outcomes = await asyncio.gather(*(_signal(client, message, slots) for message in messages), return_exceptions=True)
    faults = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    unforeseen = [fault for fault in faults if not isinstance(fault, RPCError | RuntimeError)]
    if unforeseen:
        raise unforeseen[0]
    if faults and len(faults) == len(messages):
        raise PortError(f"the engine is away: {faults[0]}") from faults[0]
    if faults:
        log.warning("%d jobs could not be told what concerns them: %s", len(faults), faults[0])
    told = zip(messages, outcomes, strict=True)
    return frozenset(message.key for message, outcome in told if not isinstance(outcome, BaseException))


async def _signal(client: Client, message: Message, slots: asyncio.Semaphore) -> None:
    """A job whose workflow has ended needs no word any more."""
    handle = client.get_workflow_handle_for(JobWorkflow.run, message.target)
    async with slots:
        try:
            if isinstance(message.fact, JobEnded):
                await handle.signal(JobWorkflow.heard, message.fact, rpc_timeout=EACH_WITHIN)
            else:
                await handle.signal(JobWorkflow.place, message.fact, rpc_timeout=EACH_WITHIN)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
