"""What the engine's namespace must have before any workflow starts: retention and search attributes."""

import asyncio
import logging
from datetime import timedelta

from google.protobuf.duration_pb2 import Duration
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.namespace.v1 import NamespaceConfig
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, UpdateNamespaceRequest
from temporalio.client import Client

from definitions.search_attributes import ALL

PAUSE = 0.2
WITHIN = 60.0
log = logging.getLogger(__name__)


async def ensure_namespace(client: Client, retention: timedelta) -> None:
    """Bring the client's namespace to the wanted form and return once it reads so. Safe to repeat.

    A short retention would let the engine forget ended jobs: their links die and their ids no longer keep a second
    start out. Raises RPCError when the engine refuses, TimeoutError when it agrees and does nothing.
    """
    if await read_retention(client) != retention:
        config = NamespaceConfig(workflow_execution_retention_ttl=_duration(retention))
        await client.workflow_service.update_namespace(
            UpdateNamespaceRequest(namespace=client.namespace, config=config)
        )
        log.info("retention of namespace %s set to %s", client.namespace, retention)
    missing = await _missing(client)
    if missing:
        keyword = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
        await client.operator_service.add_search_attributes(
            AddSearchAttributesRequest(
                namespace=client.namespace, search_attributes=dict.fromkeys(sorted(missing), keyword)
            )
        )
    # Both are cached inside the engine: a start that names a new attribute is refused until the cache is renewed.
    async with asyncio.timeout(WITHIN):
        while await read_retention(client) != retention or await _missing(client):  # noqa: ASYNC110 - a remote fact
            await asyncio.sleep(PAUSE)


async def read_retention(client: Client) -> timedelta:
    """How long the namespace keeps ended workflows."""
    described = await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    found: timedelta = described.config.workflow_execution_retention_ttl.ToTimedelta()
    return found


async def _missing(client: Client) -> set[str]:
    listed = await client.operator_service.list_search_attributes(
        ListSearchAttributesRequest(namespace=client.namespace)
    )
    return {key.name for key in ALL} - set(listed.custom_attributes)


def _duration(value: timedelta) -> Duration:
    duration = Duration()
    duration.FromTimedelta(value)
    return duration
