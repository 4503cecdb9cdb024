"""From the options of `perdure reservations create` to a document. Pure; the API judges what it is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from perdure.codes import USAGE
from perdure.errors import PerdureError


@dataclass(frozen=True)
class Wanted:
    """What was given to `reservations create`. What was left out is None, or an empty list, and left to the API."""

    queue: str | None = None
    cluster: str | None = None
    pool: str | None = None
    nodes: int | None = None
    gpus: int | None = None
    flavor: str | None = None
    node: Sequence[str] = ()
    start: str | None = None
    end: str | None = None
    length: str | None = None
    time_zone: str | None = None
    repeat: str | None = None
    on: Sequence[str] = ()
    times: int | None = None
    until: str | None = None
    lead: str | None = None
    drain: bool | None = None
    at_end: str | None = None
    grace: str | None = None
    allow: Sequence[str] = ()
    extendable: str | None = None
    extend_notice: str | None = None
    extends_itself: bool | None = None
    cancel_notice: str | None = None
    charge_idle: bool | None = None
    description: str | None = None


def document(name: str, wanted: Wanted) -> dict[str, Any]:
    """The document that says what the options say, and nothing else. Raises PerdureError PD-2901."""
    spec = {
        "description": wanted.description,
        "queue": wanted.queue,
        "cluster": wanted.cluster,
        "pool": wanted.pool,
        "capacity": _said(nodes=wanted.nodes, gpus=wanted.gpus, flavor=wanted.flavor, nodeNames=_listed(wanted.node)),
        "start": wanted.start,
        "end": wanted.end,
        "length": wanted.length,
        "timeZone": wanted.time_zone,
        "repeat": _repeat(wanted),
        "lead": _said(time=wanted.lead, mode="drain" if wanted.drain else None),
        "atEnd": wanted.at_end,
        "grace": wanted.grace,
        "users": _said(queues=_listed(wanted.allow)),
        "extension": _said(most=wanted.extendable, notice=wanted.extend_notice, automatic=wanted.extends_itself),
        "cancellation": _said(notice=wanted.cancel_notice),
        "chargeIdle": wanted.charge_idle,
    }
    return {
        "apiVersion": "perdure/v1",
        "kind": "Reservation",
        "metadata": {"name": name},
        "spec": {key: value for key, value in spec.items() if value is not None},
    }


def options_given(wanted: Wanted) -> list[str]:
    """Options that say something, as they are written."""
    said = [each.name for each in fields(wanted) if getattr(wanted, each.name) not in (None, ())]
    return [f"--{name.replace('_', '-')}" for name in said]


def _repeat(wanted: Wanted) -> dict[str, Any] | None:
    """`weekly`, or `weekly:2` for every second week."""
    if wanted.repeat is None:
        given = {"--on": wanted.on, "--times": wanted.times, "--until": wanted.until}
        for option, value in given.items():
            if value:
                raise PerdureError(USAGE, "says how it comes again, and --repeat is not given", where=option)
        return None
    frequency, sign, every = wanted.repeat.partition(":")
    if sign and not every.isdecimal():
        raise PerdureError(USAGE, f"{wanted.repeat!r} is not written weekly, or weekly:2", where="--repeat")
    days = [day.strip() for each in wanted.on for day in each.split(",") if day.strip()]
    interval = int(every) if sign else None
    return _said(frequency=frequency, interval=interval, days=_listed(days), count=wanted.times, until=wanted.until)


def _listed(values: Sequence[str]) -> list[str] | None:
    return list(values) or None


def _said(**values: Any) -> dict[str, Any] | None:
    """What of an object is given; None when nothing is."""
    return {key: value for key, value in values.items() if value is not None} or None
