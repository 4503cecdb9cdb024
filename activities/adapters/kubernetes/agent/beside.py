"""The shim of the local runtime, which lies beside this folder in a pod: one place that knows where it comes from."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from activities.adapters.local.shim import (
        asking,
        cgroups,
        checkpointing,
        files,
        gate,
        identity,
        leftovers,
        logfile,
        masking,
        pair,
        peers,
        procs,
        rank,
        receipt,
        spec,
        stopping,
    )
else:
    from shim import (
        asking,
        cgroups,
        checkpointing,
        files,
        gate,
        identity,
        leftovers,
        logfile,
        masking,
        pair,
        peers,
        procs,
        rank,
        receipt,
        spec,
        stopping,
    )

__all__ = [
    "asking",
    "cgroups",
    "checkpointing",
    "files",
    "gate",
    "identity",
    "leftovers",
    "logfile",
    "masking",
    "pair",
    "peers",
    "procs",
    "rank",
    "receipt",
    "spec",
    "stopping",
]
