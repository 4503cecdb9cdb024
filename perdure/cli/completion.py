"""Names for completion in the shell, from the API as it is now. When anything goes wrong there is nothing to offer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perdure.client import Client

TIMEOUT = 1.0  # seconds: whoever presses the key is waiting
MOST = 100


def jobs() -> list[str]:
    return _names(lambda client: (job.name for job in client.jobs.list(limit=MOST).items))


def templates() -> list[str]:
    return _names(lambda client: (each.name for each in client.templates.list(limit=MOST).items))


def secrets() -> list[str]:
    return _names(lambda client: (each.name for each in client.secrets.list(limit=MOST).items))


def schedules() -> list[str]:
    return _names(lambda client: (each.name for each in client.schedules.list(limit=MOST).items))


def clusters() -> list[str]:
    return _names(lambda client: (each.name for each in client.clusters.list(limit=MOST).items))


def nodes() -> list[str]:
    return _names(lambda client: (each.name for each in client.nodes.list(limit=MOST).items))


def queues() -> list[str]:
    return _names(lambda client: (each.name for each in client.queues.list(limit=MOST).items))


def flavors() -> list[str]:
    return _names(lambda client: (each.name for each in client.flavors.list(limit=MOST).items))


def priority_classes() -> list[str]:
    return _names(lambda client: (each.name for each in client.priority_classes.list(limit=MOST).items))


def topologies() -> list[str]:
    return _names(lambda client: (each.name for each in client.topologies.list(limit=MOST).items))


def node_pools() -> list[str]:
    return _names(lambda client: (each.name for each in client.node_pools.list(limit=MOST).items))


def reservations() -> list[str]:
    return _names(lambda client: (each.name for each in client.reservations.list(limit=MOST).items))


def _names(ask: Callable[[Client], Iterable[str]]) -> list[str]:
    from httpx import HTTPError

    from perdure.client import Client
    from perdure.errors import PerdureError

    try:
        with Client.from_env(timeout=TIMEOUT, tries=1) as client:
            return list(dict.fromkeys(ask(client)))
    except (PerdureError, HTTPError):
        return []
