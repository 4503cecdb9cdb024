"""How the worker's loops wait between two rounds."""

import asyncio


async def pause(stop: asyncio.Event, seconds: float) -> None:
    """Return after so many seconds, or at once when `stop` is set."""
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return
