"""What a job asks of the scheduler: from its document to a text that is stored, and from the text to a request.

shape_of(spec)             the text; equal texts are equal shapes, and it names nothing that only one pool knows
limit_of(spec, used)       seconds after which it has stopped by itself
amounts_of(shape, models)  what its nodes ask of quotas, the fewest that it can run on
Shapes(words)              texts to requests, in the words of one pool
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from definitions.job import JobSpec
from definitions.job_resources import Network
from policies.scheduling.affinity import NODE_NAME, Condition, holds, node_terms
from policies.scheduling.demands import demand
from policies.scheduling.documents import Priority
from policies.scheduling.mig import mig_slice
from policies.scheduling.model import FAR, Expression, Near, Operator, Request, Role, Shape, Tolerated, Where
from policies.scheduling.sizes import fewest

ANY = "any"  # a type of GPU that asks for none in particular
NOWHERE = "-"  # no node is called so
STEPS = 101  # priorities within a class: 0 to 100
ROLE = "node"
SECOND = timedelta(seconds=1)
ORDINARY = Priority("")


@dataclass(frozen=True, slots=True)
class Words:
    """What words of a shape mean in one pool.

    `models`: every word for a model of GPU to the one that is counted. `levels`: of the topology, to node labels.
    `networks`: labels that nodes with such a network have. `nodes`: the labels of each node.
    """

    models: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, str] = field(default_factory=dict)
    networks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    nodes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asked:
    """A gang as it is stored. `priority`: 0 to 100, within its class. `submitted`: seconds since 1970."""

    job: str
    queue: str
    shape: str
    priority: int = 0
    submitted: int = 0
    limit: int | None = None
    reservation: str | None = None


def shape_of(spec: JobSpec, *, nodes: Sequence[str] = (), avoid: Sequence[str] = ()) -> str:
    """Canonical JSON of what the nodes of a job ask for. `nodes`: on these only, as a pinned job's later attempts.
    `avoid`: on none of these, after they failed it."""
    resources, placement = spec.resources, spec.placement
    role = {
        "name": ROLE,
        "count": spec.nodes,
        "least": spec.elastic.min_nodes if spec.elastic else None,
        "most": spec.elastic.max_nodes if spec.elastic else None,
        "cpu": resources.cpus,
        "memory": resources.memory,
        "gpus": resources.gpus,
        "gpuType": None if resources.gpu_type == ANY else resources.gpu_type,
        "gpuMemory": resources.gpu_memory,
        "spread": placement.spread,
        "where": _where_of(spec, nodes, avoid),
    }
    topology = placement.topology
    near = {} if topology is None else {"required": topology.required, "preferred": topology.preferred}
    return json.dumps(_slim({"roles": [_slim(role)], "near": _slim(near)}), sort_keys=True, separators=(",", ":"))


def limit_of(spec: JobSpec, used: timedelta = timedelta(0)) -> int | None:
    """Seconds after which an attempt of it has gone, by its timeout and what a stop needs; None: it is endless.

    `used`: running time of the attempts before.
    """
    if spec.timeout is None:
        return None
    return math.ceil((max(spec.timeout - used, timedelta(0)) + spec.grace_period) / SECOND)


def amounts_of(shape: str, models: Mapping[str, str]) -> dict[str, int]:
    """What a gang of this shape asks of quotas at its smallest size, by resource (`demands`). `models`: words for
    models of GPU."""
    request = Shapes(Words(models=models)).request(Asked("", "", shape))
    return demand(request, fewest(request))


class Shapes:
    """Requests from stored texts. Each text is read once."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._known: dict[str, tuple[tuple[Role, ...], Near, str]] = {}

    def request(self, asked: Asked, priority_class: Priority = ORDINARY) -> Request:
        """Raises ValueError for a text that `shape_of` did not make."""
        known = self._known.get(asked.shape)
        if known is None:
            known = self._known[asked.shape] = self._read(json.loads(asked.shape))
        roles, near, apart = known
        return Request(
            id=asked.job,
            queue=asked.queue,
            roles=roles,
            submitted=asked.submitted,
            priority=priority_class.value * STEPS + asked.priority,
            near=near,
            limit=asked.limit,
            reservation=asked.reservation,
            preemptible=priority_class.preemptible,
            apart=apart,
            displaces=priority_class.displaces,
        )

    def _read(self, found: Mapping[str, Any]) -> tuple[tuple[Role, ...], Near, str]:
        return tuple(map(self._role, found["roles"])), self._near(found.get("near", {})), found.get("apart", "")

    def _role(self, role: Mapping[str, Any]) -> Role:
        sizes = role.get("least"), role.get("most")
        return Role(role["name"], role["count"], self._shape(role), *sizes, spread=role.get("spread", False))

    def _shape(self, role: Mapping[str, Any]) -> Shape:
        gpus, word = role.get("gpus", 0), role.get("gpuType")
        profile = mig_slice(word)
        model = self._words.models.get(word, word) if profile is None and word and gpus else None
        return Shape(
            cpu=role.get("cpu", 0),
            memory=role.get("memory", 0),
            gpus=0 if profile else gpus,
            gpu_models=() if model is None else (model,),
            gpu_memory=role.get("gpuMemory", 0) if gpus else 0,
            slices=((profile, gpus),) if profile and gpus else (),
            where=self._where(role.get("where", {})),
        )

    def _near(self, near: Mapping[str, str]) -> Near:
        if not near:
            return FAR
        labels = {how: self._words.levels.get(level, level) for how, level in near.items()}
        return Near(labels.get("required"), labels.get("preferred"))

    def _where(self, where: Mapping[str, Any]) -> Where:
        wanted = {**self._words.networks.get(where.get("network", ""), {}), **where.get("labels", {})}
        expressions = [Expression(key, Operator.IN, (value,)) for key, value in sorted(wanted.items())]
        if (avoid := where.get("avoid")) and not self._only(avoid):
            expressions.append(Expression(NODE_NAME, Operator.NOT_IN, tuple(avoid)))
        terms = [[Condition(key, how, tuple(values)) for key, how, values in term] for term in where.get("terms", ())]
        nodes = tuple(where.get("nodes", ()))
        if len(terms) == 1 and terms[0] and all(condition.plain for condition in terms[0]):
            expressions += [condition.expression for condition in terms[0]]
        elif terms:
            nodes = self._matching(terms, nodes)
        tolerates = tuple(Tolerated(*one) for one in where.get("tolerates", ()))
        return Where(tuple(expressions), tolerates, nodes)

    def _only(self, nodes: Sequence[str]) -> bool:
        """Whether the pool has no others: a machine that is all there is cannot be avoided."""
        return bool(self._words.nodes) and set(nodes) >= set(self._words.nodes)

    def _matching(self, terms: Sequence[Sequence[Condition]], nodes: tuple[str, ...]) -> tuple[str, ...]:
        """Alternatives and comparisons of numbers, which a list of nodes says and no list of conditions does."""
        found = [
            name
            for name, labels in self._words.nodes.items()
            if (not nodes or name in nodes) and any(holds(term, labels) for term in terms)
        ]
        return tuple(sorted(found)) or (NOWHERE,)


def _where_of(spec: JobSpec, nodes: Sequence[str], avoid: Sequence[str]) -> dict[str, Any]:
    placement = spec.placement
    tolerates = [[one.key or "", _value(one.operator, one.value), one.effect or ""] for one in placement.tolerations]
    return _slim(
        {
            "network": None if spec.network is Network.STANDARD else spec.network.value,
            "labels": placement.node_selector,
            "terms": node_terms(placement.affinity),
            "tolerates": sorted(tolerates, key=json.dumps),
            "nodes": sorted(set(nodes)),
            "avoid": sorted(set(avoid)),
        }
    )


def _value(operator: str, value: str | None) -> str | None:
    """Exists compares no value; Equal without one means the empty value."""
    return None if operator == "Exists" else value or ""


def _slim(found: Mapping[str, Any]) -> dict[str, Any]:
    """Without what says nothing."""
    return {key: value for key, value in found.items() if value not in (None, 0, False, "", [], {})}
