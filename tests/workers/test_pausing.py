"""Loops go round until they are told to stop, and nothing that is away for a while ends them."""

import asyncio

import pytest

from workers.pausing import rounds

LONG = 3600.0  # seconds: a test that waits for this never ends


async def play(*ends: Exception | None, seconds: float = 0, after_fault: float | None = None) -> list[str]:
    """One round per end, the last of which stops the loop; the faults that were told."""
    stop = asyncio.Event()
    left = list(ends)
    told: list[str] = []

    async def once() -> None:
        end = left.pop(0)
        if not left:
            stop.set()
        if end is not None:
            raise end

    await rounds(stop, seconds, once, (OSError,), lambda error: told.append(str(error)), after_fault=after_fault)
    assert left == []
    return told


async def test_a_fault_is_told_and_the_next_round_comes() -> None:
    assert await play(OSError("away"), None, OSError("away again"), None) == ["away", "away again"]


async def test_another_exception_ends_the_loop() -> None:
    with pytest.raises(ValueError, match="ours"):
        await play(None, ValueError("ours"), None)


async def test_a_stop_is_heeded_at_once_however_long_the_pause() -> None:
    assert await play(None, seconds=LONG) == []


async def test_the_pause_after_a_fault_may_be_another() -> None:
    assert await play(OSError("away"), None, seconds=LONG, after_fault=0) == ["away"]


async def test_a_loop_that_is_stopped_before_it_begins_does_nothing() -> None:
    stop = asyncio.Event()
    stop.set()
    done: list[str] = []

    async def once() -> None:
        done.append("a round")

    await rounds(stop, 0, once, (OSError,), lambda _: None)
    assert done == []
