"""How simulations are shown."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from perdure.cli.humane import lasting
from perdure.cli.output import Column, Shape


def what_if(found: Mapping[str, Any]) -> str:
    """The answer to a change as a sentence."""
    starts = _moment(found["start"]), _moment(found["changedStart"])
    return f"{found['job']} starts {starts[0]} under {found['policy']}, and {starts[1]} with {found['change']}"


def _moment(seconds: int | None) -> str:
    return "never" if seconds is None else f"at {seconds} s ({_time(seconds)} into the trace)"


def _time(seconds: float) -> str:
    return lasting(timedelta(seconds=seconds))


def _percent(part: float) -> str:
    return f"{100 * part:.1f}%"


OUTCOME = Shape(
    columns=(
        Column("POLICY", lambda each: each["policy"]),
        Column("JOBS", lambda each: str(each["jobs"])),
        Column("WAIT", lambda each: _time(each["wait"]["mean"])),
        Column("P99", lambda each: _time(each["wait"]["p99"])),
        Column("LARGEST", lambda each: _time(each["biggestWait"])),
        Column("DONE", lambda each: _time(each["completion"]["mean"])),
        Column("P99 DONE", lambda each: _time(each["completion"]["p99"])),
        Column("USE", lambda each: _percent(each["useArriving"])),
        Column("RATIO", lambda each: f"{each['ratio']['mean']:.2f}"),
        Column("KEPT", lambda each: _percent(each["promises"]["kept"]), spare=True),
        Column("EVICTED", lambda each: str(each["evictions"]), spare=True),
        Column("LOST", lambda each: f"{each['lostGpuHours']:.1f} GPU h", spare=True),
        Column("NOWHERE", lambda each: str(each["fitsNowhere"]), spare=True),
        Column("UNFINISHED", lambda each: str(each["unfinished"]), spare=True),
    ),
    name=lambda each: each["policy"],
)
SIMULATION = Shape(columns=(), name=lambda found: found["trace"])
