"""What a cluster says of itself: its nodes, whether jobs can run there, and the very objects of an attempt."""

from collections.abc import Callable
from datetime import datetime

from activities.adapters.kubernetes.cache import Object
from activities.adapters.kubernetes.checking import Checker
from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.informer import Informer
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.markers import Markers
from activities.adapters.kubernetes.node_views import node_view
from activities.adapters.kubernetes.objects.render import preview
from activities.adapters.kubernetes.others import Others
from activities.ports import ObjectStore, PortError
from definitions.attempt import AttemptLaunch, AttemptRef
from definitions.cluster import ClusterReport, ClusterSettings, NodeView, TakenByOthers
from definitions.cluster_calls import ObjectChange
from policies.object_diff import object_differences

KINDS = {kind.value.name: kind for kind in (Kind.JOB, Kind.SERVICE, Kind.SECRET, Kind.PERSISTENT_VOLUME_CLAIM)}
# What a launch or a person changes on purpose after the object was made, or what only the cluster knows.
MOVED = ("spec.suspend", "spec.activeDeadlineSeconds", "metadata.ownerReferences", "data", "stringData")


class KubernetesInspector:
    """The `ClusterInspector` of one cluster. `others`: whose pods are on its nodes beside ours; None: nobody asks."""

    def __init__(
        self,
        name: str,
        client: KubeClient,
        informer: Informer,
        settings: ClusterSettings,
        objects: ObjectStore,
        now: Callable[[], datetime],
        others: Others | None = None,
    ) -> None:
        self._name = name
        self._client = client
        self._informer = informer
        self._settings = settings
        self._objects = objects
        self._now = now
        self._others = others
        # By name, with the node and what others take of it, of which each was made.
        self._views: dict[str, tuple[Object, TakenByOthers | None, NodeView]] = {}

    def check(self) -> ClusterReport:
        checker = Checker(self._name, self._client, self._settings, self._objects, self.nodes)
        return checker.report(self._now())

    def render(self, launch: AttemptLaunch) -> tuple[Object, ...]:
        made = preview(launch, self._settings, self._now())
        for each in made:
            self._client.create(_kind(each), each, dry_run=True)
        return made

    def compare(self, ref: AttemptRef) -> tuple[ObjectChange, ...]:
        launch = Markers(self._objects).launch(ref)
        if launch is None:
            what = f"attempt {ref.number} of job {ref.job} was not launched on cluster {self._name}"
            raise PortError(what, permanent=True, code="PD-2004")
        found: list[ObjectChange] = []
        for made in preview(launch, self._settings, self._now()):
            name = f"{made['kind']}/{made['metadata']['name']}"
            there = self._client.get(_kind(made), made["metadata"]["name"])
            if there is None:
                found.append(ObjectChange(object=name, path="", made="there", found=None))
                continue
            found += [
                ObjectChange(object=name, path=path, made=before, found=after)
                for path, before, after in object_differences(made, there)
                if not path.startswith(MOVED)
            ]
        return tuple(found)

    def nodes(self) -> tuple[NodeView, ...]:
        if self._informer.last_proof(Kind.NODE) is None:
            raise self._informer.trouble(Kind.NODE) or PortError("the nodes have not been listed yet", code="PD-3105")
        if self._others is not None and not self._others.settled():
            raise PortError("what others take of the nodes has not been listed yet", code="PD-3105")
        there, now = self._informer.cache(Kind.NODE), self._now()
        views = {name: self._seen(name, node, now) for name, node in there.items()}
        self._views = views
        return tuple(views[name][2] for name in sorted(views))

    def _seen(self, name: str, node: Object, now: datetime) -> tuple[Object, TakenByOthers | None, NodeView]:
        """Asked for every second by several, of thousands of nodes of which few have changed: those that are held as
        before are not looked at again."""
        taken, known = None if self._others is None else self._others.on(name), self._views.get(name)
        if known is not None and known[0] is node and known[1] is taken:
            return known
        view = node_view(node, self._name, self._settings, now)
        return node, taken, view.model_copy(update={"others": taken})


def _kind(thing: Object) -> Kind:
    return KINDS[thing["kind"]]
