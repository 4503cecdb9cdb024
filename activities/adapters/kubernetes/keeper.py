"""Work on a job's volume by a pod of ours: keep what an attempt left, judge checkpoints, delete them."""

import secrets
import time
from datetime import timedelta

from activities.adapters.kubernetes.cache import Object
from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.facts import NodeFacts, Seen, is_over, pod_facts
from activities.adapters.kubernetes.informer import Informer
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import KEEPER, ROLE, TOKEN, keeper_name, label, object_name
from activities.adapters.kubernetes.objects.job import meta
from activities.adapters.kubernetes.objects.keeper import keeper
from activities.adapters.kubernetes.objects.storage import encode
from activities.adapters.kubernetes.pod import commands
from activities.adapters.kubernetes.pod.tasks import KeeperInput, KeeperOutcome, Task, Upload
from activities.effects import crash_point
from activities.ports import ObjectStore, PortError
from definitions.attempt import AttemptLaunch, AttemptRef
from definitions.cluster import ClusterSettings
from definitions.object_keys import job_prefix
from definitions.pod_needs import PodNeeds
from policies.pod_causes import holding
from policies.pod_keepers import START_WITHIN, WORK_WITHIN

PAUSE = 0.1
ASK_UNTOLD = 2.0  # seconds after which the API is asked for a pod that the informer does not know
ASK_EVERY = 30.0  # and for one that it knows, should it no longer hear of changes
GRANT_LASTING = timedelta(hours=2)
LOG_WITHIN = timedelta(seconds=60)
COLLECTING = "c"  # names the one keeper of an attempt that is collected, so that a repeat goes on with it


class Keepers:
    """Runs keeper pods, each to its end, and leaves none behind; those of a worker that dies are the janitor's."""

    def __init__(
        self,
        client: KubeClient,
        informer: Informer,
        objects: ObjectStore,
        settings: ClusterSettings,
    ) -> None:
        self._client = client
        self._informer = informer
        self._objects = objects
        self._settings = settings

    def collect(self, launch: AttemptLaunch, claim: str) -> KeeperOutcome:
        """Keep what the attempt left. Safe to repeat: keys are deterministic, and one that runs is gone on with."""
        ref = launch.ref
        below = job_prefix(ref.tenant, ref.project, ref.job)
        grant = self._objects.grant_write(below, GRANT_LASTING)
        upload = None if grant is None else Upload(grant=grant, below=below)
        wanted = KeeperInput(task=Task.COLLECT, launch=launch, upload=upload)
        base = object_name(ref, launch.name)
        data = {commands.KEEPER_KEY: encode(wanted.model_dump_json())}
        if self._client.patch(Kind.SECRET, base, {"data": data}) is not None:
            return self._run(ref, _needs(launch), keeper_name(base, COLLECTING), base, claim)
        return self._with_secret(ref, _needs(launch), keeper_name(base, COLLECTING), wanted, claim)

    def judge(self, launch: AttemptLaunch, claim: str) -> KeeperOutcome:
        """Every checkpoint of the job, judged now."""
        return self._anew(launch, KeeperInput(task=Task.JUDGE), claim)

    def prune(self, launch: AttemptLaunch, claim: str, folders: tuple[str, ...]) -> KeeperOutcome:
        """Delete checkpoint folders. Safe to repeat."""
        return self._anew(launch, KeeperInput(task=Task.PRUNE, folders=folders), claim)

    def _anew(self, launch: AttemptLaunch, wanted: KeeperInput, claim: str) -> KeeperOutcome:
        name = keeper_name(object_name(launch.ref, launch.name), secrets.token_hex(3))
        return self._with_secret(launch.ref, _needs(launch), name, wanted, claim)

    def _with_secret(
        self, ref: AttemptRef, needs: PodNeeds, name: str, wanted: KeeperInput, claim: str
    ) -> KeeperOutcome:
        metadata = meta(name, self._settings, ref)
        body = {
            "apiVersion": Kind.SECRET.api_version,
            "kind": "Secret",
            "metadata": metadata | {"labels": metadata["labels"] | {ROLE: KEEPER}},
            "type": "Opaque",
            "data": {commands.KEEPER_KEY: encode(wanted.model_dump_json())},
        }
        secret = self._client.create(Kind.SECRET, body)
        try:
            return self._run(ref, needs, name, name, claim)
        finally:
            self._client.delete(Kind.SECRET, name, uid=secret["metadata"]["uid"])

    def _run(self, ref: AttemptRef, needs: PodNeeds, name: str, secret: str, claim: str) -> KeeperOutcome:
        """Raises PortError: what the keeper says, or PD-3161 when it does not come up or does not end."""
        pod = self._client.create(Kind.POD, keeper(ref, needs, self._settings, name, secret=secret, claim=claim))
        if label(pod, TOKEN) != ref.token:
            raise PortError(f"pod {name} is there already and is not of this attempt", permanent=True, code="PD-3157")
        crash_point("kube-keeper:made")
        try:
            self._until_over(pod)
            log = b"".join(self._client.logs(name, KEEPER, within=LOG_WITHIN))
            return commands.parse_outcome(log.decode(errors="replace"))
        finally:
            self._client.delete(Kind.POD, name, grace=0, uid=pod["metadata"]["uid"])

    def _until_over(self, pod: Object) -> None:
        """Wait for the end, as the informer tells it; what it does not tell is asked for."""
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        began = asked = time.monotonic()
        seen = pod
        while not is_over(seen):
            time.sleep(PAUSE)
            told = self._informer.get(Kind.POD, name)
            if told is not None and told["metadata"]["uid"] == uid:
                seen = told
            elif time.monotonic() - asked > ASK_UNTOLD:
                asked, seen = time.monotonic(), self._asked(name, uid)
            if time.monotonic() - asked > ASK_EVERY:
                asked, seen = time.monotonic(), self._asked(name, uid)
            self._judge_patience(seen, time.monotonic() - began)

    def _asked(self, name: str, uid: str) -> Object:
        pod = self._client.get(Kind.POD, name)
        if pod is None or pod["metadata"]["uid"] != uid:
            raise PortError(f"the pod {name} that keeps what the job left was deleted", code="PD-3161")
        return pod

    def _judge_patience(self, pod: Object, passed: float) -> None:
        facts = pod_facts(pod, NodeFacts(), Seen(), KEEPER)
        why = holding(facts)
        if facts.phase == "Running":
            within, words = WORK_WITHIN, "it does not end"
        elif why is None:
            within, words = START_WITHIN, "it does not start"
        else:
            within, words = self._settings.image_patience, f"it does not start: {why.sentence}"
        if passed > within.total_seconds():
            raise PortError(f"the pod {facts.name} that keeps what the job left: {words}", code="PD-3161")


def _needs(launch: AttemptLaunch) -> PodNeeds:
    return launch.pod or PodNeeds()
