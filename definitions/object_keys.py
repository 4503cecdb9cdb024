"""Where things lie in the object store. Every key begins with tenant and project; one function per kind of object.

What lies below `job_prefix` goes when the job is deleted. Snapshots are shared by jobs and lie elsewhere.
"""


def job_prefix(tenant: str, project: str, job: str) -> str:
    """Ends with a slash, so that no other job's objects can begin with it."""
    return f"{tenant}/{project}/jobs/{job}/"


def artifact_key(tenant: str, project: str, job: str, attempt: int, path: str) -> str:
    return f"{job_prefix(tenant, project, job)}artifacts/{attempt}/{path}"


def log_prefix(tenant: str, project: str, job: str, attempt: int, rank: int) -> str:
    return f"{job_prefix(tenant, project, job)}logs/{attempt}/{rank}/"


def progress_prefix(tenant: str, project: str, job: str) -> str:
    """What a job reported, where its run folder cannot be read any more: lines of its progress file."""
    return f"{job_prefix(tenant, project, job)}progress/"


def progress_key(tenant: str, project: str, job: str, attempt: int | None) -> str:
    """Of one attempt, whose run folder went with it; None: of all, from the folder that they shared."""
    name = "run" if attempt is None else f"{attempt:06d}"
    return f"{progress_prefix(tenant, project, job)}{name}.jsonl"


def snapshot_key(tenant: str, project: str, sha256: str) -> str:
    return f"{tenant}/{project}/snapshots/{sha256}.tar.gz"
