"""What the pods of one attempt are handed: `launch.json` in the attempt's Secret. The same for every pod of a gang."""

from datetime import timedelta

from definitions.attempt import AttemptLaunch
from definitions.wire import Wire


class PodLaunch(Wire):
    """Holds no secret value: those lie beside it, each in a file of its own."""

    launch: AttemptLaunch
    hosts: tuple[str, ...]  # the name of every pod, by its index
    port: int  # MASTER_PORT of the job
    gang_port: int  # on which the first pod's agent listens to the others'
    snapshot_url: str | None = None  # reads the working directory's snapshot without credentials
    secrets: dict[str, str] = {}  # name of a secret -> name of its file
    shared_data: bool = False  # the run folder is one volume for all pods
    gate_within: timedelta = timedelta(minutes=10)  # for all pods to be there, once one is; else none of them runs
    names_within: timedelta = timedelta(minutes=2)  # for the names of all pods to be found; else none of them runs
    save_within: timedelta | None = None  # for saving when a pod is told to end; None: the job does not save when asked
