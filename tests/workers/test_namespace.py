"""The engine's namespace is brought to the form that jobs need."""

from datetime import timedelta

from temporalio.client import Client

from definitions.search_attributes import ALL
from workers.namespace import ensure_namespace, read_retention


async def test_retention_is_set_and_read_back_and_a_repeat_changes_nothing(temporal_client: Client) -> None:
    before = await read_retention(temporal_client)
    assert before != timedelta(days=30)
    await ensure_namespace(temporal_client, timedelta(days=30))
    await ensure_namespace(temporal_client, timedelta(days=30))
    assert await read_retention(temporal_client) == timedelta(days=30)


async def test_workflows_can_be_found_by_every_search_attribute_afterwards(temporal_client: Client) -> None:
    await ensure_namespace(temporal_client, timedelta(days=30))
    for key in ALL:
        counted = await temporal_client.count_workflows(f"{key.name} = 'nothing has this value'")
        assert counted.count == 0
