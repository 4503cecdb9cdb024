"""The API process: puts the API together and serves it."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from typing import NoReturn

import uvicorn
from fastapi import FastAPI
from sqlalchemy import Engine
from temporalio.client import Client

from activities.adapters.local.machine import machine
from api.app import create_app
from api.deps import ApiDeps
from api.settings import ApiSettings, Limits
from definitions.snapshot import SnapshotLimits
from store.engine import open_engine
from store.sealing import load_keys
from workers.api_adapters import StoredBlobs, StoredLogs, StoredSnapshots, WorkerMetrics
from workers.cluster_asking import TemporalClusters
from workers.doctor import DeploymentDoctor
from workers.engine import connect_engine, payload_keys
from workers.objects import open_objects
from workers.operator import TemporalJobOperator
from workers.payloads import StoredPayloads
from workers.process import run
from workers.registry import CONTROL
from workers.reservation_asker import TemporalReservations
from workers.routed_logs import RoutedLogs
from workers.routed_metrics import RoutedMetrics
from workers.session_starter import TemporalSessions
from workers.settings import LOOPBACK, Settings

BACKLOG = 512
STREAMS_END_WITHIN = 5  # seconds for answers under way, once the process is asked to stop
log = logging.getLogger(__name__)


def main() -> NoReturn:
    run("api", lambda settings: asyncio.run(serve(settings)))


async def serve(settings: Settings) -> None:
    """Answer requests until SIGTERM, then finish those under way and return."""
    _ignore_repeats()
    listener = listen(settings.api_host, settings.api_port)
    async with application(settings) as app:
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,  # the API logs each request itself, with its id
                lifespan="off",
                server_header=False,
                timeout_graceful_shutdown=STREAMS_END_WITHIN,
            )
        )
        log.info("serving on %s:%s", settings.api_host, settings.api_port)
        await server.serve(sockets=[listener])


@asynccontextmanager
async def application(settings: Settings) -> AsyncIterator[FastAPI]:
    """The API with its real parts. It serves while the engine is away: what needs the engine says so."""
    engine = open_engine(settings.database, durable=settings.synchronous == "full")
    client = await connect_engine(settings, lazy=True)
    try:
        yield create_app(dependencies(settings, engine, client))
    finally:
        engine.dispose()


def dependencies(settings: Settings, engine: Engine, client: Client) -> ApiDeps:
    objects = open_objects(settings)
    limits = Limits(snapshot=settings.snapshot_max_bytes)
    clusters = TemporalClusters(client, CONTROL, limits.operation)
    loop = asyncio.get_running_loop()
    return ApiDeps(
        engine=engine,
        operator=TemporalJobOperator(client, limits.operation),
        reservations=TemporalReservations(client, limits.operation),
        clusters=clusters,
        blobs=StoredBlobs(objects),
        snapshots=StoredSnapshots(objects, SnapshotLimits()),
        logs=RoutedLogs(engine, StoredLogs(settings.folder, objects), clusters, loop),
        metrics=RoutedMetrics(engine, settings.runs, objects, clusters, loop),
        keys=load_keys(os.environ, settings.secrets_key_file),
        settings=ApiSettings(
            version=version("perdure"),
            public_url=settings.api_url,
            dial_url=settings.dial_url,
            ui_url=settings.ui_url,
            namespace=settings.temporal_namespace,
            operating_tenant=settings.operating_tenant,
            default_cluster=settings.default_cluster,
            local_jobs=settings.local_jobs,
            allowed_hosts=settings.allowed_hosts,
            limits=limits,
        ),
        now=lambda: datetime.now(UTC),
        sleep=asyncio.sleep,
        worker_metrics=WorkerMetrics(f"{LOOPBACK}:{settings.metrics_port}"),
        session_starter=TemporalSessions(client, CONTROL),
        doctor=DeploymentDoctor(settings, engine, client, objects),
        payloads=StoredPayloads(payload_keys(settings)),
        machine=lambda: machine() if settings.local_jobs else None,
    )


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, also while connections of an earlier process are closing down."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=BACKLOG, reuse_port=False)


def _ignore_repeats() -> None:
    """The server takes over SIGTERM while it serves, and raises it again when it is done: that must not end us."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
