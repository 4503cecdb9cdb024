"""The worker process: workflows, activities, and the loops that start, report, watch and sweep."""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import NoReturn

from temporalio.client import Client
from temporalio.runtime import PrometheusConfig, Runtime, TelemetryConfig
from temporalio.service import RPCError

from workers import registry
from workers.engine import connect_engine
from workers.namespace import ensure_namespace
from workers.parts import Loop, opened_parts
from workers.pausing import pause
from workers.process import run
from workers.registry import Queue
from workers.settings import Settings

RETRY_PAUSE = 0.5
log = logging.getLogger(__name__)


def main() -> NoReturn:
    run("worker", lambda settings: asyncio.run(serve(settings)))


async def serve(settings: Settings) -> None:
    """Work until SIGTERM; then take no more, let running activities finish, and return."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    client = await connect(settings, stop, settings.metrics_port)
    if client is None:
        return
    threads = ThreadPoolExecutor(2 * settings.activities, "activity")
    try:
        with opened_parts(settings) as parts:
            async with working(client, parts.queues(client), settings, threads, settings.worker_ready_file):
                await loops_until(stop, parts.loops(client))
    finally:
        # Not waited for: the workers have drained, and what still hangs ends with the process.
        threads.shutdown(wait=False, cancel_futures=True)


async def connect(settings: Settings, stop: asyncio.Event, metrics_port: int | None) -> Client | None:
    """A client of a namespace that is ready for jobs, however long the engine is away; None when asked to stop.

    Its own numbers are served on `metrics_port`, if one is given.
    """
    runtime = Runtime(telemetry=TelemetryConfig(metrics=_metrics(settings.metrics_host, metrics_port)))
    while not stop.is_set():
        try:
            client = await connect_engine(settings, runtime=runtime)
            await ensure_namespace(client, settings.retention)
            return client
        except (RPCError, RuntimeError, TimeoutError) as error:  # RuntimeError: no connection
            log.info("the engine does not answer yet: %s", error)
        await pause(stop, RETRY_PAUSE)
    return None


@asynccontextmanager
async def working(
    client: Client, queues: Sequence[Queue], settings: Settings, threads: ThreadPoolExecutor, ready: Path
) -> AsyncIterator[None]:
    """Serve every queue while the block runs, and say so in the ready file."""
    async with AsyncExitStack() as stack:
        for queue in queues:
            await stack.enter_async_context(registry.worker(client, queue, settings, threads))
        with _announced(ready):
            log.info("working on %s", ", ".join(queue.name for queue in queues))
            yield
            log.info("draining")


async def loops_until(stop: asyncio.Event, loops: Sequence[Loop]) -> None:
    """Run the loops until `stop`. One that fails ends the process: it starts afresh, and nothing is half alive."""
    async with asyncio.TaskGroup() as group:
        for loop in loops:
            group.create_task(_run(loop, stop))


async def _run(loop: Loop, stop: asyncio.Event) -> None:
    await loop(stop)
    if not stop.is_set():
        raise RuntimeError(f"{loop} ended by itself")


@contextmanager
def _announced(ready: Path) -> Iterator[None]:
    """The file is there while this process serves, and holds its id."""
    ready.write_text(f"{os.getpid()}\n")
    try:
        yield
    finally:
        ready.unlink(missing_ok=True)


def _metrics(host: str, port: int | None) -> PrometheusConfig | None:
    if port is None:
        return None
    return PrometheusConfig(
        bind_address=f"{host}:{port}",
        counters_total_suffix=True,
        unit_suffix=True,
        durations_as_seconds=True,
    )
