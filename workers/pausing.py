"""How the worker's loops go round: the same again after a pause, whatever is away meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable

Round = Callable[[], Awaitable[object]]
Faults = tuple[type[Exception], ...]


async def rounds(
    stop: asyncio.Event,
    seconds: float,
    once: Round,
    faults: Faults,
    complain: Callable[[Exception], None],
    *,
    after_fault: float | None = None,
) -> None:
    """Do it once now, and again after every pause of `seconds`, until `stop` is set.

    One of the `faults` is handed to `complain`, and the next round tries again, after `after_fault` seconds if that is
    given. Any other exception ends the loop.
    """
    while not stop.is_set():
        wait = seconds
        try:
            await once()
        except faults as error:
            complain(error)
            wait = seconds if after_fault is None else after_fault
        await pause(stop, wait)


async def pause(stop: asyncio.Event, seconds: float) -> None:
    """Return after so many seconds, or at once when `stop` is set."""
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return
