"""Starting an attempt: every step repeatable by anybody, the Job made suspended, and let run by the last step alone."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from activities.adapters.kubernetes.cache import Object
from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.markers import Markers, Opened
from activities.adapters.kubernetes.naming import TOKEN, job_labels, label, object_name, pod_host, selector
from activities.adapters.kubernetes.objects import render
from activities.adapters.kubernetes.objects.pod import network_rule, save_time
from activities.adapters.kubernetes.tracking import Tracker
from activities.adapters.local.rank_spec import secret_files, secret_names
from activities.effects import crash_point
from activities.ports import ObjectStore, PortError, SecretValues
from definitions.attempt import AttemptLaunch, AttemptRef
from definitions.cluster import ClusterSettings
from definitions.object_keys import job_prefix, snapshot_key
from definitions.pod_launch import PodLaunch
from definitions.pod_needs import PodNeeds
from policies.places import misfit
from policies.rank_environment import ports_needed

MASTER_PORT = 29500  # each pod has an address of its own, so the usual one is free
GANG_PORTS = (29400, 28400)  # the second where the job's own ports take the first
READ_LASTING = timedelta(days=7)  # the longest that stores allow; a pod may wait long for its place
GRANT_LASTING = timedelta(minutes=1)  # to see whether the store gives any


@dataclass(frozen=True)
class Plan:
    """All that an attempt needs, found or refused before anything of it exists."""

    launch: AttemptLaunch
    base: str
    files: dict[str, str]  # of the Secret
    claim: str | None
    seed: str | None


class Launcher:
    """Starts attempts. What a killed launcher left is gone on with by whoever launches again."""

    def __init__(
        self,
        client: KubeClient,
        tracker: Tracker,
        markers: Markers,
        settings: ClusterSettings,
        secrets: SecretValues,
        objects: ObjectStore,
        now: Callable[[], datetime],
    ) -> None:
        self._client = client
        self._tracker = tracker
        self._markers = markers
        self._settings = settings
        self._secrets = secrets
        self._objects = objects
        self._now = now

    def plan(self, launch: AttemptLaunch) -> Plan:
        """Raises PortError: permanent when the attempt can never start as asked; nothing of it exists then."""
        _refuse(launch)
        ref, settings = launch.ref, self._settings
        needs = launch.pod or PodNeeds()
        base = object_name(ref, launch.name)
        values = self._secrets.resolve(ref.tenant, ref.project, secret_names(launch))
        secret_files(launch, values)
        names = {name: f"secret-{number}" for number, name in enumerate(sorted(values))}
        claim = render.claim_for(launch, settings)
        if claim is not None and self._objects.grant_write(self._prefix(launch), GRANT_LASTING) is None:
            raise _unreachable()
        handed = PodLaunch(
            launch=_with_network(launch, needs, settings),
            hosts=tuple(pod_host(base, index, settings.namespace) for index in range(launch.nodes)),
            port=launch.master_port or MASTER_PORT,
            gang_port=_gang_port(launch),
            snapshot_url=self._snapshot(launch),
            secrets=names,
            shared_data=claim is not None,
            save_within=save_time(launch) if launch.checkpoint_every is not None else None,
        )
        files = {render.LAUNCH_KEY: handed.model_dump_json()} | {names[name]: value for name, value in values.items()}
        plan = Plan(launch, base, files, claim, self._seed(launch))
        self._rendered(plan)  # refuses what cannot be an object
        return plan

    def make(self, plan: Plan) -> Opened | None:
        """Make what is missing of an attempt, its Job suspended; None when it was closed before.

        Safe to repeat, also at the same time: objects have names of their own, and `opened.json` names the Job that
        counts.
        """
        return None if self._markers.closing(plan.launch.ref) is not None else self._make(plan)

    def release(self, launch: AttemptLaunch, opened: Opened) -> None:
        """Let the one Job of the attempt run, unless it was closed meanwhile. It makes nothing that is not there."""
        ref, base = launch.ref, object_name(launch.ref, launch.name)
        if self._markers.closing(ref) is not None:
            self._unmake(ref, base, opened)
            return
        crash_point("kube-launch:checked")
        if not self._is_suspended(ref):
            return
        job = self._client.patch(Kind.JOB, base, {"spec": {"suspend": False}}, uid=opened.job_uid)
        if job is not None:
            self._tracker.put_job(ref, job)
        crash_point("kube-launch:started")

    def _make(self, plan: Plan) -> Opened:
        ref = plan.launch.ref
        rendered = self._rendered(plan)
        secret = self._create(Kind.SECRET, rendered.secret, plan)
        crash_point("kube-launch:secret")
        if rendered.claim is not None:
            self._client.create(Kind.PERSISTENT_VOLUME_CLAIM, rendered.claim)
            crash_point("kube-launch:volume")
        job = self._create(Kind.JOB, rendered.job, plan)
        self._tracker.put_job(ref, job)
        crash_point("kube-launch:job")
        uid = str(job["metadata"]["uid"])
        names = render.service_for(plan.launch, self._settings, uid)
        if names is not None:
            self._client.apply(Kind.SERVICE, names)
        crash_point("kube-launch:service")
        wanted = Opened(job_uid=uid, secret_uid=str(secret["metadata"]["uid"]), claim=plan.claim)
        opened = self._markers.open(ref, wanted)
        crash_point("kube-launch:opened")
        if opened.job_uid != uid:  # another launcher's Job is the one, and it has been deleted since
            self._client.delete(Kind.JOB, plan.base, uid=uid)
        return opened

    def _unmake(self, ref: AttemptRef, base: str, opened: Opened) -> None:
        """Take back what was made for an attempt that may not start. Its Job never ran: it is suspended still."""
        if self._is_suspended(ref):
            self._client.delete(Kind.JOB, base, uid=opened.job_uid)
        if self._markers.collected(ref) is not None:
            self._client.delete(Kind.SECRET, base, uid=opened.secret_uid)

    def _is_suspended(self, ref: AttemptRef) -> bool:
        attempt = self._tracker.get(ref)
        job = None if attempt is None else attempt.living_job
        return job is not None and bool(job["spec"].get("suspend"))

    def _create(self, kind: Kind, body: Object, plan: Plan) -> Object:
        made = self._client.create(kind, body)
        if label(made, TOKEN) != plan.launch.ref.token:
            what = f"{kind.value.name} {plan.base} is there already and is not of this attempt"
            raise PortError(what, permanent=True, code="PD-3157")
        return made

    def _rendered(self, plan: Plan) -> render.Rendered:
        return render.attempt_objects(plan.launch, self._settings, plan.files, plan.seed, self._now())

    def _snapshot(self, launch: AttemptLaunch) -> str | None:
        ref, workdir = launch.ref, launch.workdir
        if workdir.mode == "none":
            return None
        if workdir.mode == "live":
            raise PortError(f"there is no folder {workdir.path} in a cluster", permanent=True, code="PD-3010")
        key = snapshot_key(ref.tenant, ref.project, workdir.sha256 or "")
        if self._objects.stat(key) is None:
            what = f"the working directory's snapshot {workdir.sha256} is not in the object store"
            raise PortError(what, permanent=True, code="PD-3010")
        url = self._objects.grant_read(key, READ_LASTING)
        if url is None:
            raise _unreachable()
        return url

    def _seed(self, launch: AttemptLaunch) -> str | None:
        """The claim of the job whose checkpoint this one starts from."""
        seed, ref = launch.seed_checkpoint, launch.ref
        if seed is None:
            return None
        labels = selector(job_labels(ref.tenant, ref.project, seed.job))
        claims = self._client.list(Kind.PERSISTENT_VOLUME_CLAIM, labels=labels)
        if not claims:
            what = f"job {seed.job} has no volume with a checkpoint for {launch.name} to start from"
            raise PortError(what, permanent=True, code="PD-3011")
        return str(claims[0]["metadata"]["name"])

    def _prefix(self, launch: AttemptLaunch) -> str:
        return job_prefix(launch.ref.tenant, launch.ref.project, launch.ref.job)


def _refuse(launch: AttemptLaunch) -> None:
    """Places that no pods can have. Whether a node is there is the cluster's to say, and may change."""
    if wrong := misfit(launch):
        raise PortError(wrong, permanent=True, code="PD-3030")
    made_up = [pod.node for pod in (launch.placement.pods if launch.placement else ()) if pod.simulated]
    if made_up:
        raise PortError(f"node {made_up[0]} is simulated, and pods need a real one", permanent=True, code="PD-3031")


def _with_network(launch: AttemptLaunch, needs: PodNeeds, settings: ClusterSettings) -> AttemptLaunch:
    """The launch with the cluster's variables for the network that the job asks for; the user's win."""
    env = network_rule(needs, settings).env
    return launch.model_copy(update={"env": {**env, **launch.env}}) if env else launch


def _gang_port(launch: AttemptLaunch) -> int:
    first = launch.master_port or MASTER_PORT
    return next(port for port in GANG_PORTS if not first <= port < first + ports_needed(launch))


def _unreachable() -> PortError:
    what = "pods cannot reach this object store: it gives no addresses that are good without credentials"
    return PortError(what, permanent=True, code="PD-3158")
