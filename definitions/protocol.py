"""The job protocol: environment and files through which a job and the platform talk.

`perdure/job.py` is copied alone into training images and cannot import this; a test holds the two together.

Run folder ($PERDURE_RUN_DIR), one per job, shared by all its attempts:

    progress.jsonl       lines {"step": int, "time": rfc3339, "attempt": int, "rank": int, "metrics": {name: number}},
                         and "total": int where the job knows its number of steps
    checkpoints/step-0000000120.<token>/   one folder per step and attempt token
        rank-0/...       files of a rank
        manifest-0.json  written last by rank 0: {"version": 1, "step", "token", "attempt", "rank", "world_size",
                         "saved_at", "metrics": {}, "files": [{"path", "bytes", "sha256"}]}; paths are relative to the
                         checkpoint's folder ("rank-0/weights.npz")
    artifacts/           what is to be kept when an attempt ends
    control.json         from the platform: {"id": str, "checkpoint": bool, "stop_by": rfc3339|null,
                         "deadline": rfc3339|null, "time": rfc3339}; it goes before the next attempt begins
    ack-<rank>.json      {"id": str, "step": int|null, "time": rfc3339}: the request `id` was honoured
    save-at.json         among the ranks: {"token", "step"}: rank 0 has chosen the step that all save

Names that end in .tmp are somebody's unfinished work.
"""

JOB = "PERDURE_JOB"
JOB_NAME = "PERDURE_JOB_NAME"
TENANT = "PERDURE_TENANT"
PROJECT = "PERDURE_PROJECT"
ATTEMPT = "PERDURE_ATTEMPT"
ATTEMPT_TOKEN = "PERDURE_ATTEMPT_TOKEN"
RANK = "PERDURE_RANK"
LOCAL_RANK = "PERDURE_LOCAL_RANK"
NODE_RANK = "PERDURE_NODE_RANK"
WORLD_SIZE = "PERDURE_WORLD_SIZE"
NODES = "PERDURE_NODES"
NODE = "PERDURE_NODE"  # name of the node that the rank runs on, as people see it
DEVICES = "PERDURE_DEVICES"  # numbers of its node's GPUs that are the job's; absent unless the scheduler assigned them
SIMULATED = "PERDURE_SIMULATED"  # "1" when that node and those GPUs are made up; else absent
BACKEND = "PERDURE_BACKEND"  # absent when the job names none
ARRAY_JOB = "PERDURE_ARRAY_JOB"  # id of the array that the job is one of; this and the next five are absent without
ARRAY_INDEX = "PERDURE_ARRAY_INDEX"
ARRAY_FIRST = "PERDURE_ARRAY_FIRST"
ARRAY_LAST = "PERDURE_ARRAY_LAST"  # the last index that there is, which the step may leave below the one asked for
ARRAY_STEP = "PERDURE_ARRAY_STEP"
ARRAY_COUNT = "PERDURE_ARRAY_COUNT"
RUN_DIR = "PERDURE_RUN_DIR"
WORK_DIR = "PERDURE_WORK_DIR"
SECRETS_DIR = "PERDURE_SECRETS_DIR"
RESUME_FROM = "PERDURE_RESUME_FROM"  # absolute folder; absent when there is nothing to resume from
RESUME_STEP = "PERDURE_RESUME_STEP"
CHECKPOINT_EVERY = "PERDURE_CHECKPOINT_EVERY"  # seconds
SAVE_DIR = "PERDURE_SAVE_DIR"  # absolute folder for what the job's own save command writes; absent without one
DEADLINE = "PERDURE_DEADLINE"  # RFC 3339

PROGRESS_FILE = "progress.jsonl"
CHECKPOINT_FOLDER = "checkpoints"
ARTIFACT_FOLDER = "artifacts"
CONTROL_FILE = "control.json"
SAVE_AT_FILE = "save-at.json"
MANIFEST_VERSION = 1


def checkpoint_folder(step: int, token: str) -> str:
    return f"{CHECKPOINT_FOLDER}/step-{step:010d}.{token}"


def manifest_file(rank: int) -> str:
    return f"manifest-{rank}.json"


def ack_file(rank: int) -> str:
    return f"ack-{rank}.json"
