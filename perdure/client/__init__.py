"""The Python client: REST only, synchronous and asynchronous, typed by models made from the API's own description."""

from perdure.client.aio import AsyncClient, AsyncRun
from perdure.client.sync import Client, Run

__all__ = ["AsyncClient", "AsyncRun", "Client", "Run"]
