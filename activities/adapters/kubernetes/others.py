"""Pods on nodes that are not of this installation: the cluster's own daemons, other people's work. What they ask for is
taken, and whoever gives nodes away has to know of it.

The server filters: it tells of no pod of ours, of none without a node, and of none that is over. Told is a pod's start
and its end, so that a quiet cluster costs nothing.
"""

import math
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from activities.adapters.kubernetes.cache import Change, Object, Watched
from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.informer import Informer
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import INSTALLATION
from definitions.cluster import ClusterSettings, TakenByOthers
from definitions.kube_quantity import parse_kube_quantity
from definitions.quantities import QuantityError

FIELDS = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
FORBIDDEN = "PD-3103"
PODS, CPU, MEMORY = "pods", "cpu", "memory"
Amounts = Counter[str]  # what pods are and ask for: whole numbers, processors in thousandths


class Others:
    """Follows the pods of others on all nodes. Any thread may ask."""

    def __init__(self, client: KubeClient, settings: ClusterSettings, installation: str) -> None:
        self._gpu = settings.gpu_resource
        watched = Watched(
            Kind.POD_ANYWHERE, labels=f"{INSTALLATION}!={installation}", fields=FIELDS, trim=_trim, key=_full_name
        )
        self._informer = Informer(client, (watched,))
        self._informer.subscribe(self._changed)
        self._lock = threading.Lock()
        self._counted: dict[str, Object] = {}  # pods as they were counted: the last word of one may differ
        self._sums: dict[str, Amounts] = {}  # by node
        self._told: dict[str, TakenByOthers] = {}  # by node, as long as its sum stays

    def start(self) -> None:
        self._informer.start()

    def stop(self) -> None:
        self._informer.stop()

    def settled(self) -> bool:
        """Whether the pods have been listed, or never can be: the account may lack the right, which `clusters check`
        tells. What is on the nodes is then not known, and counts as nothing."""
        trouble = self._informer.trouble(Kind.POD_ANYWHERE)
        forbidden = trouble is not None and trouble.code == FORBIDDEN
        return forbidden or self._informer.last_proof(Kind.POD_ANYWHERE) is not None

    def on(self, node: str) -> TakenByOthers | None:
        """What they ask of this node: the same object as before, unless that changed. None: nothing."""
        with self._lock:
            found = self._sums.get(node)
            if found is None:
                return None
            if node not in self._told:
                self._told[node] = _taken(found, self._gpu)
            return self._told[node]

    def _changed(self, change: Change) -> None:
        with self._lock:
            if (counted := self._counted.pop(change.name, None)) is not None:
                self._count(counted["spec"]["nodeName"], counted["amounts"], -1)
            if change.new is not None:
                self._counted[change.name] = change.new
                self._count(change.new["spec"]["nodeName"], change.new["amounts"], 1)

    def _count(self, node: str, amounts: Mapping[str, int], sign: int) -> None:
        found = self._sums.setdefault(node, Counter())
        for name, amount in amounts.items():
            found[name] += sign * amount
        self._told.pop(node, None)
        if not found[PODS]:
            del self._sums[node]


def amounts_of(spec: Mapping[str, Any]) -> Amounts:
    """What the cluster's scheduler counts a pod for: the sum of its containers, what its preparation needs if that is
    more, and what running it costs beside them. What cannot be read as a quantity counts as nothing."""
    beside: Counter[str] = Counter()  # containers that start before the others and stay
    peak: Counter[str] = Counter()
    for each in spec.get("initContainers") or ():
        asked = _requests(each)
        if each.get("restartPolicy") == "Always":
            beside = _plus(beside, asked)
            peak |= beside
        else:
            peak |= _plus(beside, asked)
    for each in spec.get("containers") or ():
        beside = _plus(beside, _requests(each))
    whole = Counter({**(beside | peak), **_requests(spec)})  # a pod may say of itself what all of it asks for
    return _plus(whole, _read(spec.get("overhead")))


def _requests(thing: Mapping[str, Any]) -> Counter[str]:
    return _read((thing.get("resources") or {}).get("requests"))


def _read(quantities: Mapping[str, Any] | None) -> Counter[str]:
    return Counter({name: _whole(name, value) for name, value in (quantities or {}).items()})


def _whole(name: str, value: object) -> int:
    try:
        found: Decimal = parse_kube_quantity(value)
    except QuantityError:
        return 0
    return math.ceil(found * 1000 if name == CPU else found)


def _plus(one: Counter[str], other: Counter[str]) -> Counter[str]:
    found = Counter(one)
    found.update(other)
    return found


def _taken(found: Amounts, gpu: str) -> TakenByOthers:
    rest = {name: amount for name, amount in sorted(found.items()) if "/" in name and name != gpu and amount}
    return TakenByOthers(pods=found[PODS], cpu_millis=found[CPU], memory=found[MEMORY], gpus=found[gpu], extended=rest)


def _trim(pod: Object) -> Object:
    """Who it is, where it is, and what it asks for."""
    kept: Iterable[str] = ("name", "namespace", "uid", "resourceVersion")
    spec = pod.get("spec") or {}
    return {
        "metadata": {key: pod["metadata"][key] for key in kept if key in pod["metadata"]},
        "spec": {"nodeName": spec.get("nodeName", "")},
        "amounts": _plus(amounts_of(spec), Counter({PODS: 1})),
    }


def _full_name(pod: Object) -> str:
    return f"{pod['metadata'].get('namespace', '')}/{pod['metadata']['name']}"
