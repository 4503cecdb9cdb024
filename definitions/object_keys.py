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


def snapshot_key(tenant: str, project: str, sha256: str) -> str:
    return f"{tenant}/{project}/snapshots/{sha256}.tar.gz"
