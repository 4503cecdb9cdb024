"""What the engine's namespace must have before any workflow starts: retention and search attributes."""

import asyncio
import logging
from datetime import timedelta

from google.protobuf.duration_pb2 import Duration
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.namespace.v1 import NamespaceConfig
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, RegisterNamespaceRequest, UpdateNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from definitions.search_attributes import ALL

PAUSE = 0.2
WITHIN = 60.0
log = logging.getLogger(__name__)


async def ensure_namespace(client: Client, retention: timedelta) -> None:
    """Bring the client's namespace to the wanted form and return once it reads so. Safe to repeat.

    A short retention would let the engine forget ended jobs: their links die and their ids no longer keep a second
    start out. Raises RPCError when the engine refuses, TimeoutError when it agrees and does nothing.
    """
    if not await _exists(client):
        await _register(client, retention)
    elif await read_retention(client) != retention:
        config = NamespaceConfig(workflow_execution_retention_ttl=_duration(retention))
        await client.workflow_service.update_namespace(
            UpdateNamespaceRequest(namespace=client.namespace, config=config)
        )
        log.info("retention of namespace %s set to %s", client.namespace, retention)
    if missing := await missing_attributes(client):
        keyword = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
        await client.operator_service.add_search_attributes(
            AddSearchAttributesRequest(
                namespace=client.namespace, search_attributes=dict.fromkeys(sorted(missing), keyword)
            )
        )
    # All are cached inside the engine: a start that names a new attribute is refused until the cache is renewed.
    async with asyncio.timeout(WITHIN):
        while await read_retention(client) != retention or await missing_attributes(client):  # noqa: ASYNC110 - a remote fact
            await asyncio.sleep(PAUSE)


async def read_retention(client: Client) -> timedelta:
    """How long the namespace keeps ended workflows."""
    described = await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    found: timedelta = described.config.workflow_execution_retention_ttl.ToTimedelta()
    return found


async def missing_attributes(client: Client) -> set[str]:
    """Names of our search attributes that the namespace does not have."""
    listed = await client.operator_service.list_search_attributes(
        ListSearchAttributesRequest(namespace=client.namespace)
    )
    return {key.name for key in ALL} - set(listed.custom_attributes)


async def _exists(client: Client) -> bool:
    try:
        await read_retention(client)
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        return False
    return True


async def _register(client: Client, retention: timedelta) -> None:
    """Make the namespace. The engine's own parts learn of it within seconds; until then they refuse calls."""
    request = RegisterNamespaceRequest(
        namespace=client.namespace,
        description="Jobs of Perdure",
        workflow_execution_retention_period=_duration(retention),
    )
    try:
        await client.workflow_service.register_namespace(request)
        log.info("namespace %s made", client.namespace)
    except RPCError as error:
        if error.status is not RPCStatusCode.ALREADY_EXISTS:  # another worker was faster
            raise
    async with asyncio.timeout(WITHIN):
        while not await _exists(client):  # noqa: ASYNC110 - a remote fact
            await asyncio.sleep(PAUSE)


def _duration(value: timedelta) -> Duration:
    duration = Duration()
    duration.FromTimedelta(value)
    return duration
