"""Tables of the job protocol, from definitions/protocol.py."""

from definitions import protocol
from docs.makers.markdown import code, table

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
    protocol.BACKEND: "`distributed.backend`, for the job to hand to its framework; absent when there is none",
    protocol.RUN_DIR: "run folder: one per job, shared by its ranks and attempts",
    protocol.WORK_DIR: "working directory of the attempt",
    protocol.SECRETS_DIR: "folder that holds the secret files",
    protocol.RESUME_FROM: "folder of the verified checkpoint to start from; absent when there is none",
    protocol.RESUME_STEP: "its step",
    protocol.CHECKPOINT_EVERY: "`checkpoints.every`, in seconds",
    protocol.DEADLINE: "when the attempt will be stopped, RFC 3339",
}


def variables() -> str:
    return table(["Variable", "Value"], ([code(name), meaning] for name, meaning in MEANING.items()))


def names() -> list[str]:
    """Every variable that the protocol names."""
    values = [value for name, value in vars(protocol).items() if name.isupper() and isinstance(value, str)]
    return sorted(value for value in values if value.startswith("PERDURE_"))
