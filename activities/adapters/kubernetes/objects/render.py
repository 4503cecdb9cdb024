"""All objects of an attempt, as they are made: for the launcher, and for whoever wants to see them beforehand."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from activities.adapters.kubernetes.naming import claim_name, object_name
from activities.adapters.kubernetes.objects.job import job, service
from activities.adapters.kubernetes.objects.storage import claim, secret
from activities.adapters.kubernetes.objects.volumes import needs_claim
from activities.adapters.kubernetes.pod.commands import LAUNCH_KEY
from definitions.attempt import AttemptLaunch
from definitions.cluster import ClusterSettings
from definitions.pod_needs import PodNeeds
from definitions.states import Mode

__all__ = ["LAUNCH_KEY", "Rendered", "attempt_objects", "claim_for", "preview", "service_for"]
Json = dict[str, Any]
UNKNOWN_UID = "00000000-0000-0000-0000-000000000000"  # of a Job that is not made yet


@dataclass(frozen=True)
class Rendered:
    secret: Json
    claim: Json | None
    job: Json


def attempt_objects(
    launch: AttemptLaunch, settings: ClusterSettings, files: dict[str, str], seed: str | None, now: datetime
) -> Rendered:
    """`files`: content of the Secret by key; `seed`: the claim with the checkpoint to start from.

    Raises PortError(permanent) for what cannot be an object of this cluster.
    """
    base, name = object_name(launch.ref, launch.name), claim_for(launch, settings)
    return Rendered(
        secret=secret(launch, settings, base, files),
        claim=None if name is None else claim(launch, settings, name),
        job=job(launch, settings, base, now, claim=name, seed=seed),
    )


def service_for(launch: AttemptLaunch, settings: ClusterSettings, job_uid: str) -> Json | None:
    """None where nobody has a name to find: a pod that is the whole gang. A service may be looked for by others."""
    if launch.nodes == 1 and launch.mode is not Mode.SERVICE:
        return None
    return service(launch.ref, settings, object_name(launch.ref, launch.name), job_uid)


def claim_for(launch: AttemptLaunch, settings: ClusterSettings) -> str | None:
    """The name of the claim with the job's run folder; None when that goes with the pods."""
    if not needs_claim(launch, launch.pod or PodNeeds(), settings):
        return None
    return claim_name(launch.ref, launch.name)


def preview(launch: AttemptLaunch, settings: ClusterSettings, now: datetime) -> tuple[Json, ...]:
    """What a launch would make, in that order. The Secret has no content: values are resolved only for a launch."""
    made = attempt_objects(launch, settings, {}, None, now)
    found = (made.secret, made.claim, made.job, service_for(launch, settings, UNKNOWN_UID))
    return tuple(each for each in found if each is not None)
