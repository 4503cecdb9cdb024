"""From the API's objects to facts: what a cluster says of a pod, in our words, and nothing concluded from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from activities.adapters.kubernetes.naming import INDEX, KEEPER
from activities.adapters.kubernetes.objects.pod import MAIN, PREPARE
from definitions.pod import ContainerFacts, ContainerState, PodFacts

Object = Mapping[str, Any]


@dataclass(frozen=True)
class NodeFacts:
    """`ready` is None where nothing is known of the node."""

    ready: bool | None = None
    gone: bool = False
    heard: datetime | None = None  # where it is not ready: since when


@dataclass(frozen=True)
class Seen:
    """What an observer knows of a pod beside its object: times at which it looked."""

    gone: bool = False
    at: datetime | None = None  # last proof of life
    waiting: Mapping[str, datetime] | None = None  # container -> since when it waits with one reason
    warning: str = ""


def is_up(pod: Object) -> bool:
    """Whether the cluster tells that the ranks' container runs."""
    return main_state(pod) is ContainerState.RUNNING


def may_be_up(pod: Object) -> bool:
    """Whether the pod is on its node and not told to be up: it may be already, since nodes tell that late."""
    on_node = (pod.get("spec") or {}).get("nodeName") is not None
    return on_node and not is_over(pod) and main_state(pod) is ContainerState.WAITING


def pod_facts(pod: Object, node: NodeFacts, seen: Seen, container: str = MAIN) -> PodFacts:
    """`container`: the name of the one that counts."""
    meta, status = pod["metadata"], pod.get("status") or {}
    spec = pod.get("spec") or {}
    conditions = {each.get("type"): each for each in status.get("conditions") or ()}
    scheduled, disruption = conditions.get("PodScheduled", {}), conditions.get("DisruptionTarget", {})
    disrupted = disruption.get("status") == "True"
    refused = scheduled.get("status") == "False" and scheduled.get("reason") == "Unschedulable"
    waiting = seen.waiting or {}
    main = _container(status.get("containerStatuses"), container, waiting)
    prepare = _container(status.get("initContainerStatuses"), PREPARE, waiting)
    return PodFacts(
        name=meta["name"],
        uid=meta["uid"],
        index=pod_index(pod),
        node=spec.get("nodeName"),
        phase=status.get("phase", "Pending"),
        reason=status.get("reason", ""),
        message=status.get("message", ""),
        created_at=_time(meta.get("creationTimestamp")),
        started_at=_time(status.get("startTime")),
        deleting=meta.get("deletionTimestamp") is not None,
        deleted_at=_deleted_at(meta),
        scheduled=scheduled.get("status") == "True" or bool(spec.get("nodeName")),
        unschedulable=scheduled.get("message", "") if refused else "",
        disruption=disruption.get("reason", "") if disrupted else "",
        disruption_message=disruption.get("message", "") if disrupted else "",
        disruption_at=_time(disruption.get("lastTransitionTime")) if disrupted else None,
        init=() if prepare is None else (prepare,),
        main=main,
        warning=seen.warning,
        gone=seen.gone,
        last_seen=node.heard or seen.at,
        node_ready=node.ready,
        node_gone=node.gone,
    )


def node_facts(node: Object | None, name: str | None, *, known: bool) -> NodeFacts:
    """`node`: the object, None when there is none of that name; `known`: whether the nodes were looked at at all."""
    if name is None or not known:
        return NodeFacts()
    if node is None:
        return NodeFacts(gone=True)
    for condition in (node.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Ready":
            ready = condition.get("status") == "True"
            # Not the heartbeat: a healthy kubelet writes that every five minutes only, and a lease in between.
            return NodeFacts(ready=ready, heard=None if ready else _time(condition.get("lastTransitionTime")))
    return NodeFacts()


def pod_index(pod: Object) -> int:
    """The node rank in the gang; -1 for a pod that no Indexed Job made."""
    meta = pod["metadata"]
    text = (meta.get("annotations") or {}).get(INDEX) or (meta.get("labels") or {}).get(INDEX, "")
    return int(text) if text.isdecimal() else -1


def termination_messages(pod: Object) -> list[str]:
    """What the container with the ranks left when it ended."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    ended = [(each.get("state") or {}).get("terminated") for each in statuses if each.get("name") == MAIN]
    return [each["message"] for each in ended if each and each.get("message")]


def waiting_reasons(pod: Object) -> dict[str, str]:
    """By container: why it waits, as far as the kubelet gives a reason."""
    status = pod.get("status") or {}
    statuses = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    found = {each["name"]: ((each.get("state") or {}).get("waiting") or {}).get("reason", "") for each in statuses}
    return {name: reason for name, reason in found.items() if reason}


def main_state(pod: Object) -> ContainerState:
    """Of the container with the ranks; waiting where the kubelet says nothing of it yet."""
    main = _container((pod.get("status") or {}).get("containerStatuses"), MAIN, {})
    return ContainerState.WAITING if main is None else main.state


def is_over(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def keeper_ended_at(pod: Object) -> datetime | None:
    """When a keeper ended; None while it has not, or where nobody has seen when."""
    status = pod.get("status") or {}
    main = _container(status.get("containerStatuses"), KEEPER, {})
    return main.ended_at if is_over(pod) and main is not None else None


def _container(statuses: Any, name: str, waiting: Mapping[str, datetime]) -> ContainerFacts | None:
    status = next((each for each in statuses or () if each.get("name") == name), None)
    if status is None:
        return None
    state = status.get("state") or {}
    kind = next((each for each in ContainerState if each.value in state), ContainerState.WAITING)
    said = state.get(kind.value) or {}
    ready = bool(status.get("ready")) and kind is ContainerState.RUNNING
    return ContainerFacts(
        name=name,
        state=kind,
        ready=ready,
        restarts=status.get("restartCount", 0),
        reason=said.get("reason", ""),
        message=said.get("message", ""),
        waiting_since=waiting.get(name) if kind is ContainerState.WAITING else None,
        exit_code=said.get("exitCode"),
        signal=said.get("signal") or None,
        started_at=_time(said.get("startedAt")),
        ended_at=_time(said.get("finishedAt")),
    )


def _deleted_at(meta: Object) -> datetime | None:
    at = _time(meta.get("deletionTimestamp"))
    return None if at is None else at - timedelta(seconds=meta.get("deletionGracePeriodSeconds") or 0)


def _time(text: str | None) -> datetime | None:
    return None if not text else datetime.fromisoformat(text)
