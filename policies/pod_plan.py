"""From a Job document to what each of its nodes asks of a cluster."""

from definitions.job import JobSpec
from definitions.job_resources import Placement
from definitions.pod_needs import PodMount, PodNeeds, PodToleration, PodVolume, RunStorage
from policies.job_steps import CHECKPOINT_WITHIN


def pod_needs(spec: JobSpec) -> PodNeeds | None:
    """What one node of the job needs; None for a job of this machine's processes.

    `save_grace` is there also without a command of the job's own: it bounds how long a drain waits for a save.
    """
    if not spec.on_cluster:
        return None
    resources, placement, checkpoints = spec.resources, spec.placement, spec.checkpoints
    return PodNeeds(
        image=spec.image,
        image_pull_policy=spec.image_pull_policy,
        cpu_millis=resources.cpus,
        memory=resources.memory,
        ephemeral_storage=resources.ephemeral_storage,
        shared_memory=resources.shared_memory,
        gpus=resources.gpus,
        gpu_type=resources.gpu_type,
        gpu_memory=resources.gpu_memory,
        storage=_storage(spec),
        volumes=tuple(PodVolume(name=volume.name, source=volume.source) for volume in spec.volumes),
        mounts=tuple(PodMount.model_validate(mount.model_dump(by_alias=False)) for mount in spec.volume_mounts),
        network=spec.network,
        node_selector=placement.node_selector,
        tolerations=_tolerations(placement),
        affinity=placement.affinity,
        spread=placement.spread,
        priority_class=spec.priority_class,
        save_command=checkpoints.command,
        save_directory=checkpoints.directory,
        save_grace=checkpoints.grace or CHECKPOINT_WITHIN,
    )


def _storage(spec: JobSpec) -> RunStorage | None:
    if spec.storage is None:
        return None
    return RunStorage(class_name=spec.storage.class_name, bytes=spec.storage.request)


def _tolerations(placement: Placement) -> tuple[PodToleration, ...]:
    return tuple(PodToleration.model_validate(one.model_dump(by_alias=False)) for one in placement.tolerations)
