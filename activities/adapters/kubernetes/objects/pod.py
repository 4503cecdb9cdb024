"""The pod of one node: our preparation, then our agent over the job's ranks, as a user without any right."""

import math
from datetime import timedelta
from typing import Any

from activities.adapters.kubernetes.objects.placement import gates, placement
from activities.adapters.kubernetes.objects.resources import init_resources, main_resources
from activities.adapters.kubernetes.objects.volumes import main_mounts, prepare_mounts, volumes
from activities.adapters.kubernetes.pod import commands
from activities.ports import PortError
from definitions.attempt import AttemptLaunch
from definitions.cluster import ClusterSettings, NetworkRule
from definitions.job_resources import Network
from definitions.pod_needs import PodNeeds
from definitions.states import Mode

Json = dict[str, Any]
MAIN, PREPARE = "main", "prepare"
FOREVER = 2**31 - 1  # probes that may fail: the gate has a patience of its own
REPORTING = timedelta(seconds=15)  # for receipts and the last lines, after all that the job is given


def pod_spec(
    launch: AttemptLaunch, settings: ClusterSettings, base: str, *, claim: str | None, seed: str | None
) -> Json:
    """`base`: the name of the attempt's objects. Raises PortError(permanent) for what no pod can be."""
    needs = launch.pod or PodNeeds()
    rule = network_rule(needs, settings)
    return {
        **shell(settings),
        "subdomain": base,
        "terminationGracePeriodSeconds": math.ceil(termination_grace(launch).total_seconds()),
        **placement(launch, needs, settings, rule),
        **gates(launch),
        "initContainers": [_prepare(needs, settings, seed)],
        "containers": [_main(needs, settings, rule) | probes(launch)],
        "volumes": volumes(launch, needs, base, claim, seed),
    }


def shell(settings: ClusterSettings) -> Json:
    """What all our pods are alike in: never restarted, no token of an account, nobody special on the node."""
    found: Json = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": settings.run_as_user,
            "runAsGroup": settings.run_as_group,
            "fsGroup": settings.run_as_group,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    if settings.service_account is not None:
        found["serviceAccountName"] = settings.service_account
    if settings.image_pull_secrets:
        found["imagePullSecrets"] = [{"name": name} for name in settings.image_pull_secrets]
    return found


def confined() -> Json:
    """The security context of every container."""
    return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def probes(launch: AttemptLaunch) -> Json:
    """The pod counts as started once its ranks are past the gate, however long that takes; ready when they say so."""
    asked = {"exec": {"command": list(commands.ask_ready())}, "timeoutSeconds": 10}
    found: Json = {"startupProbe": {**asked, "periodSeconds": 1, "failureThreshold": FOREVER}}
    if launch.mode is Mode.SERVICE:
        period = max(1, math.ceil(launch.readiness.period.total_seconds())) if launch.readiness else 5
        found["readinessProbe"] = {**asked, "periodSeconds": period, "failureThreshold": 1}
    return found


def place() -> list[Json]:
    """What a container is told of where it is; the ranks' own environment is made by the agent."""
    fields = {commands.NODE_VARIABLE: "spec.nodeName", commands.POD_VARIABLE: "metadata.name"}
    return [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()]


def network_rule(needs: PodNeeds, settings: ClusterSettings) -> NetworkRule:
    """What the cluster adds for the network that the job asks for. Refuses one that the cluster has no rule for."""
    if needs.network is Network.STANDARD:
        return settings.networks.get(needs.network, NetworkRule())
    if needs.network not in settings.networks:
        what = f"the cluster has no network {needs.network}"
        raise PortError(what, permanent=True, code="PD-3154")
    return settings.networks[needs.network]


def save_time(launch: AttemptLaunch) -> timedelta:
    """How long a pod that is asked to leave may take to save: nothing for a job that does not."""
    needs = launch.pod or PodNeeds()
    saves = launch.checkpoint_every is not None or bool(needs.save_command)
    return (needs.save_grace or timedelta(minutes=2)) if saves else timedelta(0)


def termination_grace(launch: AttemptLaunch) -> timedelta:
    return launch.grace + save_time(launch) + REPORTING


def _prepare(needs: PodNeeds, settings: ClusterSettings, seed: str | None) -> Json:
    return {
        "name": PREPARE,
        "image": settings.agent_image,
        "imagePullPolicy": settings.image_pull_policy,
        "command": list(commands.PREPARE_COMMAND),
        "env": place(),
        "resources": init_resources(needs),
        "securityContext": confined(),
        "volumeMounts": prepare_mounts(seed),
    }


def _main(needs: PodNeeds, settings: ClusterSettings, rule: NetworkRule) -> Json:
    image = needs.image or settings.image
    if image is None:
        what = "the job names no image, and its cluster has none for such jobs"
        raise PortError(what, permanent=True, code="PD-3155")
    found: Json = {
        "name": MAIN,
        "image": image,
        "imagePullPolicy": needs.image_pull_policy or settings.image_pull_policy,
        "command": list(commands.MAIN_COMMAND),
        "env": place(),
        "resources": main_resources(needs, settings, rule),
        "securityContext": confined(),
        "volumeMounts": main_mounts(needs),
    }
    if needs.save_command:
        found["lifecycle"] = {"preStop": {"exec": {"command": [*commands.SAVE, *needs.save_command]}}}
    return found
