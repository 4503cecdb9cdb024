"""Tables of the job protocol, from definitions/protocol.py."""

from definitions import protocol
from definitions.attempt import AttemptLaunch, AttemptRef
from docs.makers.markdown import code, table
from policies.rank_environment import FRAMEWORKS, LEFT_TO_THE_JOB, rank_environment

# How each framework's start was checked. Whatever is not really started by a test says so.
CHECKED: dict[str, str] = {
    "pytorch": "variables checked",
    "megatron": "variables checked",
    "deepspeed": "variables checked",
    "horovod": "variables checked",
    "mpi": "really started: Open MPI's `mpirun`, killed and begun anew",
    "jax": "variables checked",
    "ray": "variables checked",
    "tensorflow": "variables checked",
}

MEANING: dict[str, str] = {
    protocol.JOB: "id of the job",
    protocol.JOB_NAME: "its name",
    protocol.TENANT: "tenant that it belongs to",
    protocol.PROJECT: "project that it belongs to",
    protocol.ATTEMPT: "number of the attempt, from 1",
    protocol.ATTEMPT_TOKEN: "32 hex digits that name the attempt; part of the names of its checkpoint folders",
    protocol.RANK: "rank of this process, from 0",
    protocol.LOCAL_RANK: "rank among the processes of its node",
    protocol.NODE_RANK: "number of its node, from 0",
    protocol.WORLD_SIZE: "number of ranks",
    protocol.NODES: "number of nodes",
    protocol.NODE: "name of the node that this process runs on",
    protocol.DEVICES: "numbers of the node's GPUs that are the job's, as `0,3`; absent where none were assigned",
    protocol.SIMULATED: "`1` when that node and those GPUs are made up; else absent",
    protocol.BACKEND: "`distributed.backend`; absent when the job names none",
    protocol.ARRAY_JOB: "of a job of an array: id of the array; this and the next five are absent for other jobs",
    protocol.ARRAY_INDEX: "its index there",
    protocol.ARRAY_FIRST: "first index of the array",
    protocol.ARRAY_LAST: "last index that it comes to with its step",
    protocol.ARRAY_STEP: "distance between two indexes",
    protocol.ARRAY_COUNT: "how many indexes there are",
    protocol.RUN_DIR: "run folder: one per job, shared by its ranks and attempts",
    protocol.WORK_DIR: "working directory of the attempt",
    protocol.SECRETS_DIR: "folder that holds the secret files",
    protocol.RESUME_FROM: "folder of the verified checkpoint to start from; absent when there is none",
    protocol.RESUME_STEP: "its step",
    protocol.CHECKPOINT_EVERY: "`checkpoints.every`, in seconds",
    protocol.SAVE_DIR: "the folder that `checkpoints.command` saves into (`checkpoints.directory`), on a cluster",
    protocol.DEADLINE: "when the attempt will be stopped, RFC 3339",
}


def variables() -> str:
    return table(["Variable", "Value"], ([code(name), meaning] for name, meaning in MEANING.items()))


def common_variables() -> str:
    return table(["For every process", "Value for rank 3 of 2 nodes with 2 processes each"], _values(None))


def launchers() -> str:
    rows = (
        [code(name), ", ".join(code(variable) for variable, _ in _own(name)), LEFT_TO_THE_JOB[name], CHECKED[name]]
        for name in FRAMEWORKS
    )
    return table(["`distributed.framework`", "Further variables", "Left to the job", "Checked"], rows)


def _own(framework: str) -> list[tuple[str, str]]:
    common = _environment(None)
    return [(name, value) for name, value in _environment(framework).items() if common.get(name) != value]


def _values(framework: str | None) -> list[list[str]]:
    found = _environment(framework)
    return [[code(name), code(value)] for name, value in found.items() if not name.startswith("PERDURE_")]


def _environment(framework: str | None) -> dict[str, str]:
    ref = AttemptRef(tenant="t", project="p", job="j", number=1, token="")
    shape = {"nodes": 2, "processes_per_node": 2, "framework": framework}
    launch = AttemptLaunch(ref=ref, name="n", owner="o", argv=("true",), **shape)
    return rank_environment(launch, 3, "node-1", "127.0.0.1", 29500)


def names() -> list[str]:
    """Every variable that the protocol names."""
    values = [value for name, value in vars(protocol).items() if name.isupper() and isinstance(value, str)]
    return sorted(value for value in values if value.startswith("PERDURE_"))
