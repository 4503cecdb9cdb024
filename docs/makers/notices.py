"""Taints that have a node drained."""

from datetime import timedelta

from docs.makers.markdown import code, table
from policies.node_notices import NOTICES


def block() -> str:
    rows = [[code(notice.key), notice.why, _time(notice.within)] for notice in NOTICES.values()]
    return table(["Taint", "Says", "Time left"], rows)


def _time(within: timedelta | None) -> str:
    return "not told" if within is None else f"{within.total_seconds():g} s"
