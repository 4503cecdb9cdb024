"""What one run of a schedule submits. The same nominal time always gives the same job, so that a repeat is the same."""

import hashlib
from datetime import UTC, datetime

from definitions.ids import encode
from definitions.job import Job
from definitions.job_document import named
from definitions.schedule import Schedule
from definitions.wire import Wire

LONGEST_NAME = 63


class Run(Wire):
    """One run: the job to submit, under the name and the id that belong to its nominal time."""

    id: str
    seed: str
    job: Job


def run_at(schedule: Schedule, tenant: str, project: str, nominal: datetime) -> Run:
    """The run that belongs to a time at which the schedule fires."""
    place = "\0".join((tenant, project, schedule.metadata.name, nominal.astimezone(UTC).isoformat()))
    digest = hashlib.sha256(place.encode()).digest()
    milliseconds = int(nominal.timestamp() * 1000)
    identity = encode((milliseconds << 80) | int.from_bytes(digest[:10], "big"))
    return Run(id=identity, seed=digest[10:26].hex(), job=named(schedule.spec.job, run_name(schedule, nominal)))


def run_name(schedule: Schedule, nominal: datetime) -> str:
    """The job's name with the nominal time, in UTC; cut so that the time fits, and an array's indexes behind it."""
    suffix = nominal.astimezone(UTC).strftime("-%Y%m%d-%H%M%S")
    job = schedule.spec.job
    behind = len(f"-{job.spec.array.last}") if job.spec.array is not None else 0
    return job.metadata.name[: LONGEST_NAME - len(suffix) - behind].rstrip("-") + suffix
