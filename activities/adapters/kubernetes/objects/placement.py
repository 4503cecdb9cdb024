"""Where a pod may run: the job's own wishes, and ours added to each of them so that all hold."""

import itertools
import json
from typing import Any

from activities.adapters.kubernetes.naming import PLACES, TOKEN
from activities.adapters.kubernetes.objects.resources import mig_profile
from activities.ports import PortError
from definitions.attempt import AttemptLaunch
from definitions.cluster import ClusterSettings, NetworkRule
from definitions.pod_needs import PodNeeds, PodToleration

MIB = 1024**2
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ANY = "any"  # a GPU type that asks for none in particular
Json = dict[str, Any]


def placement(launch: AttemptLaunch, needs: PodNeeds, settings: ClusterSettings, rule: NetworkRule) -> Json:
    """`nodeSelector`, `affinity`, `tolerations` and `priorityClassName` of a pod, as far as there are any.

    Which GPUs its node has, and that it is not one to avoid, is the scheduler's to see to where it gives the places: it
    knows models by further names, and memory that no label tells.
    """
    if launch.placement is not None:
        launch = launch.model_copy(update={"avoid_nodes": ()})
        needs = needs.model_copy(update={"gpu_type": None, "gpu_memory": None})
    found: Json = {
        "nodeSelector": _node_selector(needs, settings, rule),
        "affinity": _affinity(launch, needs, settings),
        "tolerations": [_toleration(each) for each in needs.tolerations],
        "priorityClassName": needs.priority_class,
    }
    return {name: value for name, value in found.items() if value}


def gates(launch: AttemptLaunch) -> Json:
    """`schedulingGates` of pods that have places: until one is narrowed to its own, it may go nowhere."""
    return {} if launch.placement is None else {"schedulingGates": [{"name": PLACES}]}


def places(launch: AttemptLaunch) -> dict[str, str]:
    """The annotation of a Job whose pods have places."""
    if launch.placement is None:
        return {}
    return {PLACES: json.dumps([pod.node for pod in launch.placement.pods], separators=(",", ":"))}


def is_gated(pod: Json) -> bool:
    return any(gate.get("name") == PLACES for gate in (pod.get("spec") or {}).get("schedulingGates") or ())


def narrowed(spec: Json, node: str) -> Json:
    """What to change of a gated pod so that it may go to this node and to no other.

    Servers let a gated pod's terms be added to, and nothing be taken from them: its own wishes hold too.
    """
    own = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED) or {}
    only = _name("In", node)
    terms = [
        _term(term.get("matchExpressions", []), [*term.get("matchFields", []), only])
        for term in own.get("nodeSelectorTerms") or [{}]
    ]
    others = [gate for gate in spec.get("schedulingGates") or () if gate.get("name") != PLACES]
    return {
        "affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}},
        "schedulingGates": others or None,
    }


def _node_selector(needs: PodNeeds, settings: ClusterSettings, rule: NetworkRule) -> dict[str, str]:
    ours = dict(rule.node_selector)
    if needs.gpu_type and needs.gpu_type != ANY and mig_profile(needs.gpu_type) is None:
        ours[settings.gpu_type_label] = needs.gpu_type
    for key, value in needs.node_selector.items():
        if ours.setdefault(key, value) != value:
            text = f"the node selector asks for {key}={value}, and what else the job needs for {key}={ours[key]}"
            raise PortError(text, permanent=True, code="PD-3151")
    return ours


def _affinity(launch: AttemptLaunch, needs: PodNeeds, settings: ClusterSettings) -> Json:
    merged: Json = {name: dict(part) for name, part in needs.affinity.items() if isinstance(part, dict)}
    node = merged.get("nodeAffinity", {})
    if terms := _node_terms(launch, needs, settings, node):
        merged["nodeAffinity"] = {**node, REQUIRED: {"nodeSelectorTerms": terms}}
    if needs.spread:
        apart = merged.get("podAntiAffinity", {})
        ours = {
            "labelSelector": {"matchLabels": {TOKEN: launch.ref.token}},
            "topologyKey": "kubernetes.io/hostname",
        }
        merged["podAntiAffinity"] = {**apart, REQUIRED: [*apart.get(REQUIRED, []), ours]}
    return merged


def _node_terms(launch: AttemptLaunch, needs: PodNeeds, settings: ClusterSettings, node: Json) -> list[Json]:
    """Terms are alternatives: each of the job's is joined with all that we ask, once per node where nodes are named.

    A field's expression takes one value, hence an expression per avoided node and a term per wanted one.
    """
    theirs = (node.get(REQUIRED) or {}).get("nodeSelectorTerms") or []
    labels = _gpu_memory(needs, settings)
    avoided = [_name("NotIn", name) for name in sorted(set(launch.avoid_nodes))]
    wanted = [[_name("In", name)] for name in sorted(set(needs.nodes))] or [[]]
    if not (labels or avoided or needs.nodes):
        return list(theirs)
    return [
        _term(term.get("matchExpressions", []) + labels, term.get("matchFields", []) + avoided + name)
        for term, name in itertools.product(theirs or [{}], wanted)
    ]


def _gpu_memory(needs: PodNeeds, settings: ClusterSettings) -> list[Json]:
    """Labels say whole MiB, and the operator is `Gt`: one less than what is asked for, rounded up."""
    if needs.gpu_memory is None:
        return []
    more_than = -(-needs.gpu_memory // MIB) - 1
    return [{"key": settings.gpu_memory_label, "operator": "Gt", "values": [str(more_than)]}]


def _name(operator: str, name: str) -> Json:
    return {"key": "metadata.name", "operator": operator, "values": [name]}


def _term(expressions: list[Json], fields: list[Json]) -> Json:
    term = {"matchExpressions": expressions, "matchFields": fields}
    return {name: value for name, value in term.items() if value}


def _toleration(each: PodToleration) -> Json:
    found = {
        "key": each.key,
        "operator": each.operator,
        "value": each.value,
        "effect": each.effect,
        "tolerationSeconds": each.toleration_seconds,
    }
    return {name: value for name, value in found.items() if value is not None}
