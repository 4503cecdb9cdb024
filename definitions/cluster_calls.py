"""Questions to a cluster that its worker answers, and what is asked of its nodes."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from definitions.attempt import AttemptLaunch, AttemptRef
from definitions.cluster import ClusterReport
from definitions.progress import MetricQuery, MetricsFound
from definitions.wire import Wire


class CheckAsk(Wire):
    """What is missing for jobs to run there?"""

    kind: Literal["check"] = "check"


class RenderAsk(Wire):
    """Which objects would an attempt be? The cluster itself is asked whether it would take them."""

    kind: Literal["render"] = "render"
    launch: AttemptLaunch


class CompareAsk(Wire):
    """In what do the objects of a running attempt differ from what was made?"""

    kind: Literal["compare"] = "compare"
    ref: AttemptRef


class LogsAsk(Wire):
    """The lines of one rank that runs. Asked of workers that do not know `RankLogsAsk` yet."""

    kind: Literal["logs"] = "logs"
    ref: AttemptRef
    rank: int
    cursor: str | None = None
    limit: int = 1000
    tail: int | None = None
    since: datetime | None = None


class RankPlace(Wire):
    """How far one rank's log has been read: on after `cursor`; without one, the last `tail` lines, or all of them."""

    rank: int
    cursor: str | None = None
    tail: int | None = None


class RankLogsAsk(Wire):
    """The next `limit` lines of several ranks of a running attempt, merged by time; none older than `since`."""

    kind: Literal["rank-logs"] = "rank-logs"
    ref: AttemptRef
    ranks: tuple[RankPlace, ...]
    limit: int = 1000
    since: datetime | None = None


class MetricsAsk(Wire):
    """What has a running job reported of itself so far?"""

    kind: Literal["metrics"] = "metrics"
    ref: AttemptRef
    query: MetricQuery


Ask = Annotated[CheckAsk | RenderAsk | CompareAsk | LogsAsk | RankLogsAsk | MetricsAsk, Field(discriminator="kind")]
PASSING = (LogsAsk, RankLogsAsk, MetricsAsk)  # what a job wrote: neither asked nor answered to be kept by the engine


class ClusterCall(Wire):
    """Input of the workflow that carries one question to one cluster."""

    cluster: str
    ask: Ask


class ObjectChange(Wire):
    """One difference between an object as it was made and as it is. `path` from its top; None: not there."""

    object: str  # Kind/name
    path: str
    made: JsonValue = None
    found: JsonValue = None


class LiveLine(Wire):
    """One line of a log; `cursor` continues after it."""

    at: datetime
    text: str
    cursor: str


class RankLine(LiveLine):
    """One line among those of several ranks."""

    rank: int


class Answer(Wire):
    """What the cluster's worker answers: the fields that belong to the question are set.

    `more`: the rank lines were cut off where the answer was full; of no rank later lines are among them.
    """

    report: ClusterReport | None = None
    objects: tuple[dict[str, Any], ...] = ()
    changes: tuple[ObjectChange, ...] = ()
    lines: tuple[LiveLine, ...] = ()
    rank_lines: tuple[RankLine, ...] = ()
    more: bool = False
    metrics: MetricsFound | None = None


class NodeVerb(StrEnum):
    CORDON = "cordon"
    UNCORDON = "uncordon"
    DRAIN = "drain"


class NodeOrder(Wire):
    """What people ask of a node, and why."""

    cluster: str
    node: str
    verb: NodeVerb
    reason: str = ""
    actor: str


class NodePod(Wire):
    """A pod of ours on a node. `job` is None for a helper pod, which is no job's rank."""

    name: str
    uid: str
    tenant: str = ""
    project: str = ""
    job: str | None = None
    leaving: bool = False  # it has been asked to end already


class NodeDone(Wire):
    """What was done to a node, in words."""

    message: str


def cluster_call_id(cluster: str, unique: str) -> str:
    """Workflow id of one question."""
    return f"call/{cluster}/{unique}"


def node_workflow_id(cluster: str, node: str) -> str:
    """Workflow id of what is being done to a node: one thing at a time."""
    return f"node/{cluster}/{node}"
