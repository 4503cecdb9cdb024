"""The Job that makes an attempt's pods, and the Service by which they find each other."""

import math
from datetime import datetime, timedelta
from typing import Any

from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import RANKS, REF, ROLE, TOKEN, labels
from activities.adapters.kubernetes.objects.placement import places
from activities.adapters.kubernetes.objects.pod import PREPARE, network_rule, pod_spec, termination_grace
from definitions.attempt import AttemptLaunch, AttemptRef
from definitions.cluster import ClusterSettings
from definitions.pod_needs import PodNeeds

Json = dict[str, Any]
BACKSTOP = timedelta(minutes=5)  # after which the cluster itself ends a job whose agents let its time limit pass


def meta(name: str, settings: ClusterSettings, ref: AttemptRef) -> Json:
    return {
        "name": name,
        "namespace": settings.namespace,
        "labels": settings.labels | labels(ref),
        "annotations": {REF: ref.model_dump_json()},
    }


def job(
    launch: AttemptLaunch, settings: ClusterSettings, base: str, now: datetime, *, claim: str | None, seed: str | None
) -> Json:
    """An Indexed Job of one pod per node, suspended.

    A pod that fails is never made again, and does not end the others either (`backoffLimitPerIndex` 0, and as many
    failed indexes as there are): the agents end the gang within seconds and say why, and their pods stay to be read.
    Only a pod whose preparation failed fails the whole at once: no gate has opened then, and there is nothing to read.
    """
    rule = network_rule(launch.pod or PodNeeds(), settings)
    template_meta: Json = {
        "labels": settings.labels | labels(launch.ref) | {ROLE: RANKS},
        "annotations": rule.annotations | {REF: launch.ref.model_dump_json()},
    }
    spec: Json = {
        "suspend": True,
        "completionMode": "Indexed",
        "parallelism": launch.nodes,
        "completions": launch.nodes,
        "backoffLimitPerIndex": 0,
        "maxFailedIndexes": launch.nodes,
        "podReplacementPolicy": "Failed",
        "podFailurePolicy": {"rules": [_failed_preparation()]},
        "template": {
            "metadata": template_meta,
            "spec": pod_spec(launch, settings, base, claim=claim, seed=seed),
        },
    }
    if launch.deadline is not None:
        spec["activeDeadlineSeconds"] = active_deadline(launch, launch.deadline, now)
    own = meta(base, settings, launch.ref)
    return {
        "apiVersion": Kind.JOB.api_version,
        "kind": "Job",
        "metadata": own | {"annotations": own["annotations"] | places(launch)},
        "spec": spec,
    }


def active_deadline(launch: AttemptLaunch, deadline: datetime, started: datetime) -> int:
    """Seconds from the Job's start after which the cluster ends what its agents should have ended long before."""
    allowed = deadline - started + termination_grace(launch) + BACKSTOP
    return max(1, math.ceil(allowed.total_seconds()))


def service(ref: AttemptRef, settings: ClusterSettings, base: str, job_uid: str) -> Json:
    """Headless: names for pods, also before they are ready, since they meet before that. Goes with the Job."""
    owner = {"apiVersion": Kind.JOB.api_version, "kind": "Job", "name": base, "uid": job_uid}
    return {
        "apiVersion": Kind.SERVICE.api_version,
        "kind": "Service",
        "metadata": meta(base, settings, ref) | {"ownerReferences": [owner]},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {TOKEN: ref.token, ROLE: RANKS},
        },
    }


def _failed_preparation() -> Json:
    codes = {"containerName": PREPARE, "operator": "NotIn", "values": [0]}
    return {"action": "FailJob", "onExitCodes": codes}
