"""Whether jobs can run on a cluster, line by line. What cannot be found out is a finding as well, never an error."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from activities.adapters.kubernetes import rbac
from activities.adapters.kubernetes.cache import Object
from activities.adapters.kubernetes.client import KubeClient, Rule
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.objects.render import preview
from activities.ports import ObjectStore, PortError
from definitions.attempt import AttemptLaunch, AttemptRef
from definitions.cluster import ClusterReport, ClusterSettings, Finding, NodeView
from definitions.errors import lookup
from definitions.pod_needs import PodNeeds
from policies.cluster_check import (
    access_finding,
    agent_finding,
    gpu_finding,
    network_findings,
    node_finding,
    storage_finding,
    version_finding,
)

SAMPLE = AttemptLaunch(
    ref=AttemptRef(tenant="perdure", project="check", job="check", number=1, token="0" * 32),
    name="check",
    owner="perdure",
    argv=("true",),
    nodes=2,
    pod=PodNeeds(image="perdure-check"),
)
SECURITY = "pod-security.kubernetes.io/enforce"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


class Checker:
    """One check of one cluster."""

    def __init__(
        self,
        name: str,
        client: KubeClient,
        settings: ClusterSettings,
        objects: ObjectStore,
        nodes: Callable[[], tuple[NodeView, ...]],
    ) -> None:
        self._name = name
        self._client = client
        self._settings = settings
        self._objects = objects
        self._look = nodes
        self._nodes: tuple[NodeView, ...] = ()
        self._version = ""
        self._classes: list[Object] = []

    def report(self, now: datetime) -> ClusterReport:
        settings = self._settings
        findings = [  # in this order: the nodes are looked at before what is said of them
            self._asked("version", self._check_version),
            self._asked("access", self._check_access),
            self._asked("namespace", self._check_namespace),
            self._asked("storage", self._check_storage),
            self._asked("objects", self._check_sample),
            self._asked("object store", self._check_objects),
            agent_finding(settings),
            self._asked("nodes", self._check_nodes),
            gpu_finding(self._nodes, settings),
            *network_findings(self._nodes, settings),
        ]
        return ClusterReport(
            cluster=self._name,
            version=self._version,
            at=now,
            findings=tuple(findings),
            storage_classes=tuple(sorted(each["metadata"]["name"] for each in self._classes)),
            gpus=sum(node.gpus for node in self._nodes),
            nodes=len(self._nodes),
            rbac=rbac.document(settings.namespace),
        )

    def _asked(self, what: str, ask: Callable[[], Finding]) -> Finding:
        try:
            return ask()
        except PortError as error:
            return Finding(what=what, ok=False, detail=str(error), fix=lookup(error.code).remedy)

    def _check_version(self) -> Finding:
        self._version = self._client.version()
        return version_finding(self._version)

    def _check_access(self) -> Finding:
        allowed = self._client.can_i(rbac.rules())
        return access_finding([_spelled(rule) for rule, yes in allowed.items() if not yes])

    def _check_nodes(self) -> Finding:
        self._nodes = self._look()
        return node_finding(self._nodes)

    def _check_namespace(self) -> Finding:
        name = self._settings.namespace
        found = self._client.get(Kind.NAMESPACE, name)
        if found is None:
            fix = f"kubectl create namespace {name}"
            return Finding(what="namespace", ok=False, detail=f"there is no namespace {name}", fix=fix)
        level = (found["metadata"].get("labels") or {}).get(SECURITY, "none")
        return Finding(what="namespace", ok=True, detail=f"{name}, Pod Security enforced: {level}")

    def _check_storage(self) -> Finding:
        self._classes = self._client.list(Kind.STORAGE_CLASS)
        known = {each["metadata"]["name"]: str(each.get("provisioner", "")) for each in self._classes}
        default = [each["metadata"]["name"] for each in self._classes if _is_default(each)]
        return storage_finding(self._settings, known, default)

    def _check_sample(self) -> Finding:
        """Would the cluster take a job of two nodes? Its pod is asked about as well: a Job is taken in any case."""
        made = preview(SAMPLE, self._settings, datetime.now(UTC))
        for each in made:
            self._client.create(_KINDS[each["kind"]], each, dry_run=True)
        job = next(each for each in made if each["kind"] == "Job")
        template = job["spec"]["template"]
        pod = {"metadata": {**template["metadata"], "name": f"{job['metadata']['name']}-0"}, "spec": template["spec"]}
        self._client.create(Kind.POD, pod, dry_run=True)
        return Finding(what="objects", ok=True, detail="an Indexed Job of two pods would be taken")

    def _check_objects(self) -> Finding:
        self._objects.list("perdure/check/", limit=1)
        if self._objects.grant_read("perdure/check/none", timedelta(minutes=1)) is None:
            detail = "pods cannot read from a folder of the control plane's machine"
            return Finding(what="object store", ok=False, detail=detail, fix="set PERDURE_OBJECT_STORE to a bucket")
        return Finding(what="object store", ok=True, detail="reachable from here, and gives pods leave to read")


_KINDS = {kind.value.name: kind for kind in (Kind.JOB, Kind.SERVICE, Kind.SECRET, Kind.PERSISTENT_VOLUME_CLAIM)}


def _spelled(rule: Rule) -> str:
    part = f"/{rule.subresource}" if rule.subresource else ""
    return f"{rule.verb} {rule.kind.plural}{part}"


def _is_default(storage_class: Object) -> bool:
    return (storage_class["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true"
