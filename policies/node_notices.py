"""Notices that a node is about to go, which clouds and autoscalers write as taints: its jobs are to leave while they
can still save. A taint that only describes a node (a spot machine as such) is no notice.
"""

from collections.abc import Collection, Iterable
from datetime import timedelta

from definitions.cluster import NodeView
from definitions.cluster_calls import NodeOrder, NodeVerb
from definitions.wire import Wire
from policies.job_steps import SYSTEM


class Notice(Wire):
    """Why a node is about to go, and how soon; None: whoever takes it waits for its pods to leave, or does not say."""

    key: str
    why: str
    within: timedelta | None = None


# By key of the taint. Times are what the platforms promise at least.
NOTICES: dict[str, Notice] = {
    notice.key: notice
    for notice in (
        Notice(
            key="aws-node-termination-handler/spot-itn",
            why="its spot machine is taken back",
            within=timedelta(minutes=2),
        ),
        Notice(key="aws-node-termination-handler/asg-lifecycle-termination", why="its group of machines shrinks"),
        Notice(key="aws-node-termination-handler/scheduled-maintenance", why="its machine is to be maintained"),
        Notice(
            key="cloud.google.com/impending-node-termination",
            why="its machine is about to be taken back or maintained",
            within=timedelta(seconds=30),
        ),
        Notice(
            key="remediator.kubernetes.azure.com/unschedulable",
            why="its machine is about to be taken back or maintained",
            within=timedelta(seconds=30),
        ),
        Notice(key="karpenter.sh/disrupted", why="the autoscaler removes it"),
        Notice(key="karpenter.sh/disruption", why="the autoscaler removes it"),
        Notice(key="ToBeDeletedByClusterAutoscaler", why="the autoscaler removes it"),
    )
}


def notice_of(node: NodeView) -> Notice | None:
    """The notice of a node that is about to go, the most urgent one when there are several; None when it stays."""
    found = [NOTICES[taint.key] for taint in node.taints if taint.key in NOTICES]
    return min(found, key=_urgency, default=None)


def orders(nodes: Iterable[NodeView], heeded: Collection[tuple[str, str]]) -> tuple[NodeOrder, ...]:
    """Drains that notices call for, the most urgent first. `heeded`: (node, key of the taint) of notices that were
    acted upon: people may put a node back although the taint is still there, and theirs is the last word."""
    due = [(node, notice) for node in nodes if (notice := notice_of(node)) and (node.name, notice.key) not in heeded]
    due.sort(key=lambda one: (_urgency(one[1]), one[0].name))
    return tuple(
        NodeOrder(
            cluster=node.cluster,
            node=node.name,
            verb=NodeVerb.DRAIN,
            reason=f"{notice.why} (taint {notice.key})",
            actor=SYSTEM,
        )
        for node, notice in due
    )


def _urgency(notice: Notice) -> tuple[timedelta, str]:
    return notice.within or timedelta.max, notice.key
