"""A cluster that does what a test's script says: its inspector, its operator, and a runtime's log."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from activities.ports import LogLine, PortError, Runtime
from definitions.attempt import AttemptLaunch, AttemptRef
from definitions.cluster import ClusterReport, NodeView
from definitions.cluster_calls import NodePod, ObjectChange
from definitions.progress import ProgressPoint

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def pod(name: str, **changes: Any) -> NodePod:
    return NodePod.model_validate({"name": name, "uid": f"uid-{name}", "job": "j", **changes})


@dataclass
class ScriptedCluster:
    """`pods_there`: who is on the node at each look, the last for ever. `budget`: how many evictions are forbidden at
    first. `fails`: raised by every question.
    """

    pods_there: list[tuple[NodePod, ...]] = field(default_factory=lambda: [()])
    budget: int = 0
    fails: PortError | None = None
    nodes_seen: tuple[NodeView, ...] = ()
    done: list[str] = field(default_factory=list)  # what was done to nodes, in order
    looks: int = 0  # how often the nodes were asked for

    def check(self) -> ClusterReport:
        if self.fails is not None:
            raise self.fails
        return ClusterReport(cluster="north", at=NOW, version="v1.34.4")

    def render(self, launch: AttemptLaunch) -> tuple[dict[str, Any], ...]:
        return ({"kind": "Job", "metadata": {"name": launch.name}},)

    def compare(self, ref: AttemptRef) -> tuple[ObjectChange, ...]:
        return (ObjectChange(object=f"Job/{ref.job}", path="spec.parallelism", made=2, found=1),)

    def nodes(self) -> tuple[NodeView, ...]:
        self.looks += 1
        if self.fails is not None:
            raise self.fails
        return self.nodes_seen

    def cordon(self, node: str, reason: str) -> None:
        self.done.append(f"cordon {node}: {reason}")

    def uncordon(self, node: str) -> None:
        self.done.append(f"uncordon {node}")

    def pods(self, node: str) -> tuple[NodePod, ...]:
        return self.pods_there.pop(0) if len(self.pods_there) > 1 else self.pods_there[0]

    def evict(self, pod: NodePod) -> bool:
        if self.budget:
            self.budget -= 1
            return False
        self.done.append(f"evict {pod.name}")
        return True


class ScriptedLog:
    """A runtime of which only what ranks wrote can be read: of each, `lines` lines and points, a second apart.

    `text`: what follows the number of each line. `reads`: how often it was asked for lines.
    """

    def __init__(self, lines: int, text: str = "") -> None:
        self._lines = lines
        self._text = text
        self.reads = 0

    def progress(self, ref: AttemptRef) -> list[ProgressPoint]:
        return [
            ProgressPoint(step=number, at=NOW + timedelta(seconds=number), attempt=ref.number, metrics={"loss": number})
            for number in range(self._lines)
        ]

    def read_logs(self, ref: AttemptRef, rank: int, *, cursor: str | None, limit: int) -> list[LogLine]:
        self.reads += 1
        first = int(cursor or 0)
        return [
            LogLine(
                attempt=ref.number,
                rank=rank,
                at=NOW + timedelta(seconds=number),
                text=f"line {number}{self._text}",
                cursor=str(number + 1),
            )
            for number in range(first, min(first + limit, self._lines))
        ]


def runtime_with_log(lines: int) -> Runtime:
    return cast(Runtime, ScriptedLog(lines))
