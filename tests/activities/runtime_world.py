"""What the Runtime contract needs of the place that a runtime works in. Each adapter's tests bring one."""

import textwrap
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Protocol

from activities.ports import LogLine, Runtime
from definitions.attempt import AttemptLaunch, AttemptObservation, AttemptRef, RankState, StopRequest, Workdir
from definitions.places import PlacedPod
from tests.support.polling import eventually

PRELUDE = """
import json, os, signal, sys, time
run, rank = os.environ['PERDURE_RUN_DIR'], os.environ['PERDURE_RANK']
"""


class HasRuntime(Protocol):
    @property
    def runtime(self) -> Runtime: ...

    @property
    def patience(self) -> float:
        """Seconds that anything may take on a busy machine."""


class World(HasRuntime, Protocol):
    """One runtime and how to look at what it did without asking it."""

    @property
    def missing_workdir(self) -> Workdir:
        """A working directory that is not there."""

    @property
    def places(self) -> tuple[PlacedPod, PlacedPod]:
        """Two nodes that attempts may be placed on."""

    def set_secret(self, name: str, value: str) -> None:
        """Make a secret of tenant `t`, project `p`."""

    def living(self, marker: str) -> list[int]:
        """Processes that run anywhere in this world with the marker in their command line."""

    def read(self, ref: AttemptRef, path: str) -> str | None:
        """A file of the job's run folder; None when it is not there."""


def new_ref() -> AttemptRef:
    return AttemptRef(tenant="t", project="p", job=f"job-{uuid.uuid4().hex[:12]}", number=1, token=uuid.uuid4().hex)


def python(code: str, *arguments: str) -> tuple[str, ...]:
    """A command that any image with Python can run. The code finds what PRELUDE names."""
    return ("python3", "-u", "-S", "-c", PRELUDE + textwrap.dedent(code), *arguments)


def launch_of(argv: tuple[str, ...], **changes: Any) -> AttemptLaunch:
    return AttemptLaunch(ref=new_ref(), name="train", owner="somebody", argv=argv, **changes)


def until_running(world: HasRuntime, ref: AttemptRef) -> AttemptObservation:
    return _until(world, ref, lambda seen: seen.running, "all ranks are running")


def until_ended(world: HasRuntime, ref: AttemptRef, seconds: float | None = None) -> AttemptObservation:
    return _until(world, ref, lambda seen: seen.ended, "the attempt has ended", seconds)


def run(world: World, launch: AttemptLaunch) -> AttemptObservation:
    """Launch, and wait for the end."""
    world.runtime.launch(launch)
    return until_ended(world, launch.ref)


def end(world: World, launch: AttemptLaunch) -> None:
    """Leave nothing of an attempt behind."""
    world.runtime.stop(launch.ref, StopRequest(reason="test is over", grace=timedelta(0)))
    until_ended(world, launch.ref)


def text_of(world: World, ref: AttemptRef, rank: int = 0) -> list[str]:
    return [line.text for line in lines_of(world, ref, rank)]


def lines_of(world: World, ref: AttemptRef, rank: int = 0, page: int = 1000) -> list[LogLine]:
    """Every line, page by page."""
    found: list[LogLine] = []
    cursor = None
    while some := world.runtime.read_logs(ref, rank, cursor=cursor, limit=page):
        assert len(some) <= page
        found += some
        cursor = some[-1].cursor
    return found


def until_logged(world: World, ref: AttemptRef, text: str, rank: int = 0) -> None:
    eventually(lambda: text in text_of(world, ref, rank), world.patience, f"rank {rank} writes {text!r}")


def _until(
    world: HasRuntime,
    ref: AttemptRef,
    holds: Callable[[AttemptObservation], bool],
    what: str,
    seconds: float | None = None,
) -> AttemptObservation:
    def look() -> AttemptObservation | None:
        seen = world.runtime.observe(ref)
        return seen if holds(seen) else None

    seen = eventually(look, seconds or world.patience, what)
    assert seen is not None
    return seen


def states(observation: AttemptObservation) -> list[RankState]:
    return [rank.state for rank in observation.ranks]
