"""How clusters, their nodes, checks and objects are shown."""

from __future__ import annotations

import json
from typing import Any

from perdure.cli.humane import count, size
from perdure.cli.output import Column, Shape
from perdure.cli.shapes import BAD, BUSY, GOOD, ago_now, local, text


def _worker(text: str) -> str:
    return GOOD if text.startswith("up") else BAD


def _yes(text: str) -> str:
    return GOOD if text == "yes" else BAD


def _checked(cluster: Any) -> str:
    if cluster.check is None:
        return "never"
    return f"{'fit' if cluster.check.ok else 'not fit'}, {ago_now(cluster.check.at)}"


def _cluster_lines(cluster: Any) -> list[tuple[str, str]]:
    seen = f", seen {ago_now(cluster.worker_seen_at)}" if cluster.worker_seen_at else ""
    changed = f", changed by {cluster.updated_by} {ago_now(cluster.updated_at)}" if cluster.generation > 1 else ""
    lines = [
        ("name", cluster.name),
        ("description", cluster.description),
        ("worker", f"{cluster.worker}{seen}"),
        ("namespace", cluster.namespace),
        ("nodes", text(cluster.nodes)),
        ("your jobs", text(cluster.jobs)),
        ("check", _checked(cluster)),
        ("", _findings(cluster.check) if cluster.check else ""),
        ("added", f"by {cluster.created_by} {local(cluster.created_at)}{changed}"),
    ]
    return [(name, value) for name, value in lines if value]


def _findings(check: Any) -> str:
    return "\n".join(_finding(each) for each in check.findings if not each.ok)


def _finding(each: Any) -> str:
    return f"{each.what}: {each.detail}{f'; {each.fix}' if each.fix else ''}"


def _check(check: Any) -> list[tuple[str, str]]:
    lines = [("cluster", f"{check.cluster} {check.version}".strip())]
    lines += [(f"{'ok' if each.ok else 'NOT OK'}", _finding(each)) for each in check.findings]
    return [*lines, ("fit for jobs", "yes" if check.ok else "no")]


CLUSTER = Shape(
    columns=(
        Column("NAME", lambda cluster: cluster.name),
        Column("WORKER", lambda cluster: cluster.worker, _worker),
        Column("NODES", lambda cluster: text(cluster.nodes)),
        Column("YOUR JOBS", lambda cluster: text(cluster.jobs)),
        Column("CHECK", _checked),
        Column("NAMESPACE", lambda cluster: cluster.namespace, spare=True),
        Column("DESCRIPTION", lambda cluster: cluster.description, spare=True),
    ),
    name=lambda cluster: cluster.name,
    lines=_cluster_lines,
)
CHECK = Shape(columns=(Column("CLUSTER", lambda check: check.cluster),), name=lambda check: check.cluster, lines=_check)
RBAC = Shape(
    columns=(Column("RBAC", lambda check: check.rbac),),
    name=lambda check: check.cluster,
    text=lambda check: check.rbac,
)
REMOVED = Shape(
    columns=(
        Column("NAME", lambda removed: removed.name),
        Column("JOBS WHOSE VOLUMES STAY", lambda removed: text(removed.kept_jobs)),
    ),
    name=lambda removed: removed.name,
)


def _state(node: Any) -> str:
    state = "ready" if node.ready else "not ready"
    return state if node.schedulable else f"{state}, out of service"


def _state_style(text: str) -> str:
    return GOOD if text == "ready" else BUSY if text.startswith("ready") else BAD


def _why(node: Any) -> str:
    return "; ".join(part for part in (node.reason, node.cordon_reason) if part)


def _gpus(node: Any) -> str:
    if not node.gpus:
        return ""
    memory = f", {size(node.gpu_memory)} each" if node.gpu_memory else ""
    return f"{node.gpus}{f' {node.gpu_type}' if node.gpu_type else ''}{memory}"


def _others(taken: Any) -> str:
    if taken is None:
        return ""
    gpus = f", {count(taken.gpus, 'GPU', 'GPUs')}" if taken.gpus else ""
    return f"{taken.pods}, which ask for {taken.cpus:g} processors, {size(taken.memory)}{gpus}"


def _node_lines(node: Any) -> list[tuple[str, str]]:
    lines = [
        ("name", f"{node.name} of cluster {node.cluster}"),
        ("state", _state(node)),
        ("why", _why(node)),
        ("your jobs", "\n".join(f"{each.name}: {_ranks(each.ranks)}" for each in node.jobs)),
        ("pods of others", _others(node.others)),
        ("processors", f"{node.cpus:g}"),
        ("memory", size(node.memory)),
        ("GPUs", _gpus(node)),
        ("for pods", "\n".join(f"{name} {value}" for name, value in node.allocatable.items())),
        ("taints", "\n".join(_taint(each) for each in node.taints)),
        ("conditions", "\n".join(f"{name} {value}" for name, value in node.conditions.items())),
        ("labels", "\n".join(f"{name}={value}" for name, value in node.labels.items())),
        ("kubelet", node.version),
        ("seen", ago_now(node.seen_at)),
    ]
    return [(name, value) for name, value in lines if value]


def _ranks(ranks: list[int]) -> str:
    return f"rank{'' if len(ranks) == 1 else 's'} {', '.join(map(str, ranks))}"


def _taint(taint: Any) -> str:
    return f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"


NODE = Shape(
    columns=(
        Column("NAME", lambda node: node.name),
        Column("CLUSTER", lambda node: node.cluster),
        Column("STATE", _state, _state_style),
        Column("CPUS", lambda node: f"{node.cpus:g}"),
        Column("MEMORY", lambda node: size(node.memory)),
        Column("GPUS", _gpus),
        Column("TAINTS", lambda node: " ".join(_taint(each) for each in node.taints), spare=True),
        Column("VERSION", lambda node: node.version, spare=True),
        Column("WHY", _why),
    ),
    name=lambda node: node.name,
    lines=_node_lines,
)
NODE_OPERATION = Shape(
    columns=(
        Column("NODE", lambda each: each.node),
        Column("ASKED", lambda each: each.verb),
        Column("DONE", lambda each: "yes" if each.settled else "goes on", _yes),
        Column("MESSAGE", lambda each: each.message),
    ),
    name=lambda each: each.node,
    lines=lambda each: [
        ("node", f"{each.node} of cluster {each.cluster}"),
        ("asked", each.verb),
        ("done" if each.settled else "goes on", each.message),
        ("workflow", each.workflow),
    ],
)
OBJECTS = Shape(
    columns=(Column("OBJECTS", lambda found: found.text),),
    name=lambda found: "\n".join(f"{each['kind']}/{each['metadata']['name']}" for each in found.objects),
    text=lambda found: found.text,
)


def _objects_diff(found: Any) -> str:
    where = f"attempt {found.attempt} on cluster {found.cluster}"
    if not found.changes:
        return f"{where}: everything is as it was made"
    lines = [f"{where}: {count(len(found.changes), 'difference', 'differences')}"]
    for change in found.changes:
        lines += [
            f"  {change.object} {change.path}".rstrip(),
            f"    - {_json(change.made)}",
            f"    + {_json(change.found)}",
        ]
    return "\n".join(lines)


def _json(value: Any) -> str:
    return "(not there)" if value is None else json.dumps(value, ensure_ascii=False)


OBJECTS_DIFF = Shape(
    columns=(Column("JOB", lambda found: found.job),), name=lambda found: found.job, text=_objects_diff
)
