"""What the API is put together from. The composition root builds one of these; tests put fakes at the ports."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from fastapi import Request
from sqlalchemy import Engine

from api.ports import (
    BlobReader,
    ClusterAsker,
    Doctor,
    JobOperator,
    LogReader,
    MetricReader,
    PayloadOpener,
    ReservationAsker,
    SessionStarter,
    SnapshotKeeper,
)
from api.sessions import Sessions
from api.settings import ApiSettings
from definitions.cluster import NodeView
from store.sealing import Keys


@dataclass(frozen=True)
class ApiDeps:
    """`now` gives aware UTC; `sleep` takes seconds; `worker_metrics` gives the worker's Prometheus text, or "" .

    `machine`: this machine as a node, or None where no jobs run on it.
    """

    engine: Engine
    operator: JobOperator
    reservations: ReservationAsker
    clusters: ClusterAsker
    blobs: BlobReader
    snapshots: SnapshotKeeper
    logs: LogReader
    metrics: MetricReader
    keys: Keys
    settings: ApiSettings
    now: Callable[[], datetime]
    sleep: Callable[[float], Awaitable[None]]
    worker_metrics: Callable[[], Awaitable[str]]
    session_starter: SessionStarter
    doctor: Doctor
    payloads: PayloadOpener
    machine: Callable[[], NodeView | None] = lambda: None
    sessions: Sessions = field(default_factory=Sessions)


def deps_of(request: Request) -> ApiDeps:
    """The parts of the application that serves this request."""
    deps: ApiDeps = request.app.state.deps
    return deps
