"""The termination message: how every rank of a pod ended, in the few bytes that the kubelet keeps of a container.

One JSON object: `v`, `token`, `t` (milliseconds since the epoch, from which the ranks' times count), `ranks`, and
`more`, the number of ranks that found no room: those that ended badly come first. Of a rank only what differs from
"ended with 0" is written. Receipts are those of the shim, in the words of the wire model `RankEvidence`.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSION = 1
MOST = 4096  # bytes that the kubelet reads
DETAILS = (200, 80, 30, 0)  # characters of a rank's detail, less and less until all ranks have room
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


def build(token: str, receipts: list[dict[str, Any]]) -> str:
    """The message for these receipts, at most MOST bytes of ASCII."""
    moments = [_milliseconds(receipt[name]) for receipt in receipts for name in _times(receipt)]
    base = min(moments, default=0)
    ordered = sorted(receipts, key=lambda receipt: (_went_well(receipt), receipt["rank"]))
    for detail in DETAILS:
        text = _dump(token, base, [_short(receipt, base, detail) for receipt in ordered], 0)
        if len(text) <= MOST:
            return text
    entries = [_short(receipt, base, DETAILS[-1]) for receipt in ordered]
    kept = len(entries)
    while len(text) > MOST:
        kept -= 1
        text = _dump(token, base, entries[:kept], len(entries) - kept)
    return text


def parse(text: str) -> tuple[str, dict[int, dict[str, Any]], int]:
    """Token, receipts by rank, and how many ranks are missing. Raises ValueError for what is no such message."""
    try:
        value = json.loads(text)
        if value["v"] != VERSION:
            raise ValueError(f"version {value['v']!r} is not known")
        receipts = [_long(entry, value["t"]) for entry in value["ranks"]]
        return str(value["token"]), {receipt["rank"]: receipt for receipt in receipts}, int(value.get("more", 0))
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"not a termination message: {error!r}") from error


def _dump(token: str, base: int, ranks: list[dict[str, Any]], more: int) -> str:
    value: dict[str, Any] = {"v": VERSION, "token": token, "t": base, "ranks": ranks}
    if more:
        value["more"] = more
    return json.dumps(value, separators=(",", ":"))


def _went_well(receipt: dict[str, Any]) -> bool:
    return receipt.get("exit_code") == 0


def _times(receipt: dict[str, Any]) -> list[str]:
    return [name for name in ("started_at", "ended_at") if receipt.get(name)]


def _short(receipt: dict[str, Any], base: int, detail: int) -> dict[str, Any]:
    written = {
        "r": receipt["rank"],
        "lost": receipt["state"] == "lost",
        "code": receipt.get("exit_code"),
        "sig": receipt.get("signal"),
        "by": receipt.get("stopped_by"),
        "err": receipt.get("start_error"),
        "left": receipt.get("leftovers") or None,
        "re": receipt.get("restarts") or None,
        "oom": receipt.get("oom") if receipt.get("oom") != "none" else None,
        "full": receipt.get("disk_full", False),
        "d": str(receipt.get("detail") or "")[:detail] or None,
    }
    for name, long in (("start", "started_at"), ("end", "ended_at")):
        if receipt.get(long):
            written[name] = _milliseconds(receipt[long]) - base
    return {name: value for name, value in written.items() if value is not None and value is not False}


def _long(entry: dict[str, Any], base: int) -> dict[str, Any]:
    return {
        "rank": int(entry["r"]),
        "state": "lost" if entry.get("lost") else "exited",
        "exit_code": entry.get("code"),
        "signal": entry.get("sig"),
        "started_at": _moment(entry.get("start"), base),
        "ended_at": _moment(entry.get("end"), base),
        "stopped_by": entry.get("by"),
        "start_error": entry.get("err"),
        "oom": entry.get("oom", "none"),
        "disk_full": entry.get("full", False),
        "leftovers": entry.get("left", 0),
        "restarts": entry.get("re", 0),
        "ready": False,
        "detail": entry.get("d", ""),
    }


def _milliseconds(moment: str) -> int:
    return (datetime.strptime(moment, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC) - EPOCH) // MILLISECOND


def _moment(offset: int | None, base: int) -> str | None:
    return None if offset is None else (EPOCH + MILLISECOND * (base + offset)).isoformat().replace("+00:00", "Z")
