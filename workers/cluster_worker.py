"""The worker of one cluster: its jobs' attempts, questions about it, its nodes. It alone has the credentials.

It runs on the cluster, or beside it with a kubeconfig; it needs the engine, the database and the object store.
"""

import asyncio
import logging
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NoReturn

from sqlalchemy import Engine
from temporalio.client import Client

from definitions.errors import PerdureError
from store.engine import open_engine
from store.schema import check_engine
from workers.cluster_loops import find_cluster
from workers.cluster_parts import Opening
from workers.control import connect, loops_until, working
from workers.kubernetes_parts import opened_kubernetes
from workers.process import run
from workers.settings import Settings

log = logging.getLogger(__name__)


def main() -> NoReturn:
    run("cluster", lambda settings: asyncio.run(serve(settings, opened_kubernetes)))


async def serve(settings: Settings, opening: Opening) -> None:
    """Work until SIGTERM; then take no more, let running activities finish, and return.

    Raises PerdureError when there is no such cluster, or it was removed meanwhile.
    """
    if settings.cluster is None:
        raise PerdureError("PD-4012", "PERDURE_CLUSTER says which cluster this worker serves, and it is not set")
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    client = await connect(settings, stop, settings.cluster_metrics_port)
    if client is None:
        return
    with _database(settings) as engine:
        while not stop.is_set():
            await _round(settings, settings.cluster, engine, client, stop, opening)


async def _round(
    settings: Settings, name: str, engine: Engine, client: Client, stop: asyncio.Event, opening: Opening
) -> None:
    """Serve with the settings that the cluster has now, until they change or `stop` is set."""
    over = asyncio.Event()
    stopping = asyncio.create_task(_follow(stop, over))
    # Whoever collects waits for pods to go, and must keep no other job from its start.
    roomy = settings.model_copy(update={"activities": settings.cluster_activities})
    threads = ThreadPoolExecutor(2 * roomy.activities, "activity")
    ready = settings.cluster_ready_file(name)
    try:
        row = await asyncio.to_thread(find_cluster, engine, name)
        with opening(settings, engine, row) as parts:
            async with working(client, parts.queues(), roomy, threads, ready):
                try:
                    await loops_until(over, parts.loops(client, over.set))
                except* PerdureError as refused:
                    raise refused.exceptions[0] from None
    finally:
        stopping.cancel()
        # Not waited for: the worker has drained, and what still hangs ends with the process.
        threads.shutdown(wait=False, cancel_futures=True)


async def _follow(stop: asyncio.Event, over: asyncio.Event) -> None:
    await stop.wait()
    over.set()


@contextmanager
def _database(settings: Settings) -> Iterator[Engine]:
    engine = open_engine(settings.database, durable=settings.synchronous == "full")
    try:
        check_engine(engine)
        yield engine
    finally:
        engine.dispose()
