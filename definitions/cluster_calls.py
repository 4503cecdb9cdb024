"""Questions to a cluster that its worker answers, and what is asked of its nodes."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from definitions.attempt import AttemptLaunch, AttemptRef
from definitions.cluster import ClusterReport
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
    """The lines of a rank that runs, as `api.ports.LogReader.read` has them."""

    kind: Literal["logs"] = "logs"
    ref: AttemptRef
    rank: int
    cursor: str | None = None
    limit: int = 1000
    tail: int | None = None
    since: datetime | None = None


Ask = Annotated[CheckAsk | RenderAsk | CompareAsk | LogsAsk, Field(discriminator="kind")]


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


class Answer(Wire):
    """What the cluster's worker answers: the field that belongs to the question is set."""

    report: ClusterReport | None = None
    objects: tuple[dict[str, Any], ...] = ()
    changes: tuple[ObjectChange, ...] = ()
    lines: tuple[LiveLine, ...] = ()


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
