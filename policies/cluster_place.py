"""Where a job would run, as its plan says it: cluster, image, volumes."""

from definitions.cluster import LOCAL_CLUSTER, ClusterSettings
from definitions.errors import PerdureError
from definitions.job import JobSpec
from definitions.quantities import format_size
from definitions.wire import Wire


class Place(Wire):
    """`image` is None for processes of this machine."""

    cluster: str = LOCAL_CLUSTER
    image: str | None = None
    volumes: tuple[str, ...] = ()


def place_of(spec: JobSpec, settings: ClusterSettings | None, *, here: bool = True) -> Place:
    """`settings`: of the job's cluster; None for this machine. `here`: whether jobs may run on this machine at all.

    Raises PD-2106 when neither names an image, PD-2107 for a job of this machine where none may run, PD-2180 for an
    elastic job whose checkpoints would not outlive an attempt.
    """
    if settings is None or spec.cluster is None:
        if not here:
            raise PerdureError("PD-2107", "the job names no cluster", where="spec.cluster")
        return Place()
    image = spec.image or settings.image
    if image is None:
        detail = f"the job names no image, and cluster {spec.cluster} has none for such jobs"
        raise PerdureError("PD-2106", detail, where="spec.image")
    _check_elastic(spec, settings)
    return Place(cluster=spec.cluster, image=image, volumes=(_run_folder(spec, settings), *_mounts(spec)))


def _check_elastic(spec: JobSpec, settings: ClusterSettings) -> None:
    if spec.elastic is None or spec.checkpoints.directory is not None:
        return
    if spec.storage is None and settings.storage_bytes is None:
        why = "has no volume for the run folder of such jobs"
    elif spec.elastic.max_nodes > 1 and not settings.shared_storage:
        why = "has storage that one node at a time can mount"
    else:
        return
    raise PerdureError("PD-2180", f"the job is elastic, and cluster {spec.cluster} {why}", where="spec.elastic")


def _run_folder(spec: JobSpec, settings: ClusterSettings) -> str:
    size = spec.storage.request if spec.storage else settings.storage_bytes
    if size is None:
        return "no volume for the run folder: checkpoints go with the pods"
    chosen = (spec.storage.class_name if spec.storage else None) or settings.storage_class
    return f"run folder: {format_size(size)} of {f'class {chosen}' if chosen else 'the default class'}"


def _mounts(spec: JobSpec) -> list[str]:
    return [
        f"{mount.name} at {mount.mount_path}{', read only' if mount.read_only else ''}" for mount in spec.volume_mounts
    ]
