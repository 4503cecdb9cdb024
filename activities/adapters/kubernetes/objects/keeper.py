"""The keeper: a pod of ours that works on a job's volume when no pod of the job does."""

from typing import Any

from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import KEEPER, ROLE
from activities.adapters.kubernetes.objects.job import meta
from activities.adapters.kubernetes.objects.pod import confined, place, shell
from activities.adapters.kubernetes.objects.volumes import DATA, PREFIX, ROOT, SECRET
from activities.adapters.kubernetes.pod import commands
from definitions.attempt import AttemptRef
from definitions.cluster import ClusterSettings
from definitions.pod_needs import PodNeeds

Json = dict[str, Any]
LASTING = 3600  # seconds after which the cluster ends one that nobody waits for any more


def keeper(ref: AttemptRef, needs: PodNeeds, settings: ClusterSettings, name: str, *, secret: str, claim: str) -> Json:
    """`secret`: the Secret that holds what it is to do. It tolerates what the job's own pods do."""
    metadata = meta(name, settings, ref)
    metadata["labels"] = metadata["labels"] | {ROLE: KEEPER}
    container: Json = {
        "name": KEEPER,
        "image": settings.agent_image,
        "imagePullPolicy": settings.image_pull_policy,
        "command": list(commands.KEEPER_COMMAND),
        "env": place(),
        "securityContext": confined(),
        "volumeMounts": [
            {"name": PREFIX + DATA, "mountPath": f"{ROOT}/{DATA}"},
            {"name": PREFIX + SECRET, "mountPath": f"{ROOT}/{SECRET}", "readOnly": True},
        ],
    }
    tolerations = [
        {key: value for key, value in each.items() if value is not None}
        for each in (
            {"key": one.key, "operator": one.operator, "value": one.value, "effect": one.effect}
            for one in needs.tolerations
        )
    ]
    spec = {
        **shell(settings),
        "activeDeadlineSeconds": LASTING,
        "terminationGracePeriodSeconds": 5,
        "tolerations": tolerations,
        "containers": [container],
        "volumes": [
            {"name": PREFIX + DATA, "persistentVolumeClaim": {"claimName": claim}},
            {
                "name": PREFIX + SECRET,
                "secret": {
                    "secretName": secret,
                    "defaultMode": 0o440,
                    "items": [{"key": commands.KEEPER_KEY, "path": commands.KEEPER_KEY}],
                },
            },
        ],
    }
    return {"apiVersion": Kind.POD.api_version, "kind": "Pod", "metadata": metadata, "spec": spec}
