"""From the API's Node objects to what we show of a node."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from definitions.cluster import ClusterSettings, NodeTaint, NodeView
from definitions.kube_quantity import cpu_millis, whole_bytes
from definitions.quantities import QuantityError

CORDON_REASON = "perdure.dev/cordon-reason"  # annotation: why people took the node out of service
MIB = 1024 * 1024
Object = Mapping[str, Any]


def node_view(node: Object, cluster: str, settings: ClusterSettings, now: datetime) -> NodeView:
    """A node as it is now. What cannot be read as a quantity counts as nothing."""
    meta, spec, status = node["metadata"], node.get("spec") or {}, node.get("status") or {}
    labels: dict[str, str] = meta.get("labels") or {}
    allocatable: dict[str, str] = {name: str(value) for name, value in (status.get("allocatable") or {}).items()}
    conditions = {each["type"]: each for each in status.get("conditions") or () if "type" in each}
    ready = conditions.get("Ready", {})
    is_ready = ready.get("status") == "True"
    return NodeView(
        cluster=cluster,
        name=meta["name"],
        ready=is_ready,
        schedulable=not spec.get("unschedulable", False),
        reason="" if is_ready else _why(ready),
        cordon_reason=(meta.get("annotations") or {}).get(CORDON_REASON, ""),
        cpu_millis=_quantity(cpu_millis, allocatable.get("cpu")),
        memory=_quantity(whole_bytes, allocatable.get("memory")),
        gpus=_quantity(whole_bytes, allocatable.get(settings.gpu_resource)),
        gpu_type=labels.get(settings.gpu_type_label, ""),
        gpu_memory=_memory(labels.get(settings.gpu_memory_label, "")),
        allocatable=allocatable,
        labels=labels,
        taints=tuple(_taint(each) for each in spec.get("taints") or ()),
        conditions={name: _said(each) for name, each in conditions.items()},
        version=(status.get("nodeInfo") or {}).get("kubeletVersion", ""),
        seen_at=now,
    )


def _why(ready: Object) -> str:
    if not ready:
        return "its kubelet has not reported yet"
    return ": ".join(filter(None, (ready.get("reason", ""), ready.get("message", ""))))


def _said(condition: Object) -> str:
    return ": ".join(filter(None, (condition.get("status", ""), condition.get("reason", ""))))


def _taint(taint: Object) -> NodeTaint:
    return NodeTaint(key=taint["key"], value=taint.get("value") or "", effect=taint["effect"])


def _memory(label: str) -> int | None:
    return int(label) * MIB if label.isdecimal() else None


def _quantity(read: Any, value: str | None) -> int:
    if value is None:
        return 0
    try:
        return int(read(value))
    except QuantityError:
        return 0
