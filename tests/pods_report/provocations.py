"""The ends, each with what brings it about. Nothing here writes a status: kubelet and controllers do, of real pods."""

import io
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import TOKEN
from definitions.attempt import AttemptLaunch, AttemptObservation, RestartRule, Workdir
from definitions.object_keys import snapshot_key
from definitions.pod import PodCause
from definitions.pod_needs import PodMount, PodNeeds, PodVolume
from definitions.states import FailureClass, Mode
from tests.activities.runtime_world import launch_of, python, until_ended, until_logged, until_running
from tests.pods_report.sources import KUBELET
from tests.pods_report.stage import Admission, Object, Stage

MIB = 1024**2
ABSENT_IMAGE = "perdure.test/no-such-image:1"
NO_NEEDS = PodNeeds()
UP = "print('up', flush=True)\n"
SLEEPS = python(UP + "time.sleep(600)")
Act = Callable[[Stage, AttemptLaunch], None]
Ending = Callable[[Stage, AttemptLaunch], AttemptObservation | None]  # what was seen, where it is not so afterwards


def nothing(stage: Stage, launch: AttemptLaunch) -> None:
    """The end comes by itself."""


@dataclass(frozen=True)
class Provocation:
    """`first` happens before the launch, `then` after it. `ends` False: it waits, and only its note is looked at."""

    name: str
    how: str
    failure: FailureClass
    cause: PodCause | None = None
    argv: tuple[str, ...] = SLEEPS
    needs: PodNeeds = NO_NEEDS
    changes: tuple[tuple[str, Any], ...] = ()
    first: Act = nothing
    then: Ending = nothing
    admission: Admission | None = None
    ends: bool = True
    source: str = KUBELET

    def launch(self) -> AttemptLaunch:
        return launch_of(self.argv, pod=self.needs, **dict(self.changes))


def pod_of(stage: Stage, launch: AttemptLaunch, index: int = 0) -> Object:
    pods = stage.client.list(Kind.POD, labels=f"{TOKEN}={launch.ref.token}")
    return sorted(pods, key=lambda pod: str(pod["metadata"]["name"]))[index]


def forced(stage: Stage, launch: AttemptLaunch) -> None:
    until_logged(stage, launch.ref, "up")
    stage.client.delete(Kind.POD, pod_of(stage, launch)["metadata"]["name"], grace=0)


def evicted(stage: Stage, launch: AttemptLaunch) -> None:
    until_logged(stage, launch.ref, "up")
    stage.client.evict(pod_of(stage, launch)["metadata"]["name"])


def preempted(stage: Stage, launch: AttemptLaunch) -> None:
    """A pod of higher priority asks for more than its node has left."""
    until_running(stage, launch.ref)
    node = str(pod_of(stage, launch)["spec"]["nodeName"])
    path, name = "/apis/scheduling.k8s.io/v1/priorityclasses", f"first-{uuid.uuid4().hex[:8]}"
    stage.cluster.api.post(path, {"metadata": {"name": name}, "value": 1000})
    needs = launch.pod.model_copy(update={"priority_class": name, "nodes": (node,)}) if launch.pod else None
    ahead = launch_of(SLEEPS, pod=needs)
    try:
        stage.runtime.launch(ahead)
        until_ended(stage, launch.ref)
    finally:
        stage.runtime.collect(ahead)
        stage.cluster.api.delete(f"{path}/{name}")


def damaged(stage: Stage, launch: AttemptLaunch) -> None:
    key = snapshot_key(launch.ref.tenant, launch.ref.project, launch.workdir.sha256 or "")
    stage.objects.put(key, io.BytesIO(b"these are not the bytes of that digest"))


def with_another_key(stage: Stage, launch: AttemptLaunch) -> None:
    """A secret that has not the key that is asked for."""
    body = {"metadata": {"name": "user-secret"}, "data": {"other": "eA=="}}
    stage.client.create(Kind.SECRET, body)


def _deadline(spec: Object) -> None:
    spec["activeDeadlineSeconds"] = 8


def _asks_for_a_key(spec: Object) -> None:
    reference = {"secretKeyRef": {"name": "user-secret", "key": "no-such-key"}}
    spec["containers"][0].setdefault("env", []).append({"name": "TOKEN", "valueFrom": reference})


def _past_the_scheduler(spec: Object) -> None:
    spec["nodeName"] = "node-a"


def volume(**source: Any) -> PodNeeds:
    """A volume of the user's own; one that no container mounts is left alone by the kubelet."""
    mount = PodMount(name="given", mount_path="/given")
    return PodNeeds(volumes=(PodVolume(name="given", source=source),), mounts=(mount,))


EATS = python("print('eating', flush=True)\nmemory = []\nwhile True: memory.append(bytearray(8 * 1024 * 1024))")
WRITES = python("print('writing', flush=True)\nopen('big', 'wb').write(bytes(90 * 1024 * 1024))\ntime.sleep(600)")
REPORTS_ONCE = python("open(run + '/progress.jsonl', 'a').write('{}\\n')\ntime.sleep(600)")
DAMAGED = Workdir(mode="snapshot", sha256="d" * 64)
LIMIT = timedelta(seconds=2)

PROVOCATIONS: tuple[Provocation, ...] = (
    Provocation(
        "OOMKilled",
        "takes more memory than its limit",
        FailureClass.OUT_OF_MEMORY,
        PodCause.OUT_OF_MEMORY,
        EATS,
        PodNeeds(memory=160 * MIB),
    ),
    Provocation(
        "Evicted: own limit",
        "writes more scratch data than its limit",
        FailureClass.DISK_FULL,
        PodCause.OVER_EPHEMERAL,
        WRITES,
        PodNeeds(ephemeral_storage=40 * MIB),
    ),
    Provocation(
        "ErrImagePull",
        "names an image that no registry has",
        FailureClass.IMAGE,
        PodCause.IMAGE,
        needs=PodNeeds(image=ABSENT_IMAGE, image_pull_policy="IfNotPresent"),
    ),
    Provocation(
        "ErrImageNeverPull",
        "names an image that the node has not and may not pull",
        FailureClass.IMAGE,
        PodCause.IMAGE,
        needs=PodNeeds(image=ABSENT_IMAGE, image_pull_policy="Never"),
    ),
    Provocation(
        "CreateContainerConfigError",
        "an admission webhook gives it a key that its secret has not",
        FailureClass.CONFIG,
        PodCause.CONFIG,
        first=with_another_key,
        admission=_asks_for_a_key,
    ),
    Provocation(
        "FailedMount: secret",
        "names a secret as a volume that is not there",
        FailureClass.CONFIG,
        PodCause.CONFIG,
        needs=volume(secret={"secretName": "no-such-secret"}),
    ),
    Provocation(
        "FailedMount: key",
        "names a key as a file of a volume that its secret has not",
        FailureClass.CONFIG,
        PodCause.CONFIG,
        needs=volume(secret={"secretName": "user-secret", "items": [{"key": "no-such-key", "path": "token"}]}),
        first=with_another_key,
    ),
    Provocation(
        "init: snapshot damaged",
        "its working directory is not what its digest says",
        FailureClass.INFRASTRUCTURE,
        PodCause.INIT,
        changes=(("workdir", DAMAGED),),
        first=damaged,
    ),
    Provocation(
        "DeadlineExceeded",
        "an admission webhook sets activeDeadlineSeconds",
        FailureClass.TIMEOUT,
        PodCause.DEADLINE,
        admission=_deadline,
    ),
    Provocation(
        "forced delete", "its pod is deleted with grace 0", FailureClass.EVICTED, PodCause.DELETED, then=forced
    ),
    Provocation(
        "eviction",
        "its pod is asked to leave by the eviction API",
        FailureClass.EVICTED,
        PodCause.EVICTED,
        then=evicted,
    ),
    Provocation(
        "preemption",
        "a pod of higher priority takes its place",
        FailureClass.PREEMPTED,
        PodCause.PREEMPTED,
        needs=PodNeeds(cpu_millis=1100),
        then=preempted,
    ),
    Provocation(
        "refused by its node",
        "an admission webhook names the node, which has no such room",
        FailureClass.INFRASTRUCTURE,
        PodCause.REFUSED,
        needs=PodNeeds(cpu_millis=500_000),
        admission=_past_the_scheduler,
    ),
    Provocation("exit code", "ends with 3", FailureClass.USER_ERROR, argv=python("sys.exit(3)")),
    Provocation("signal", "kills itself", FailureClass.SIGNAL, argv=python("os.kill(os.getpid(), signal.SIGSEGV)")),
    Provocation(
        "command not found", "names a program that is not there", FailureClass.COMMAND_NOT_FOUND, argv=("no-such", "x")
    ),
    Provocation(
        "hang",
        "reports progress once, and no more",
        FailureClass.HANG,
        argv=REPORTS_ONCE,
        changes=(("hang_after", LIMIT),),
    ),
    Provocation("timeout", "runs longer than its time limit", FailureClass.TIMEOUT, changes=(("time_limit", LIMIT),)),
    Provocation(
        "service crash limit",
        "a service that crashes more often than it may",
        FailureClass.USER_ERROR,
        argv=python("sys.exit(4)"),
        changes=(("mode", Mode.SERVICE), ("restart", RestartRule(first_delay=timedelta(seconds=0.2), limit=2))),
    ),
    Provocation(
        "Unschedulable",
        "asks for more than any node has",
        FailureClass.INFRASTRUCTURE,
        PodCause.UNSCHEDULABLE,
        needs=PodNeeds(cpu_millis=500_000),
        ends=False,
        source="kube-scheduler",
    ),
)
