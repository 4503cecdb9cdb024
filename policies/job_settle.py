"""What a document leaves open is decided when the job is accepted: its working directory, and its warnings."""

from definitions.errors import PerdureError
from definitions.job import Job
from definitions.job_workload import Workdir, WorkdirMode
from definitions.states import Mode
from definitions.submission import JobSubmission
from definitions.wire import Wire

WHERE = "spec.workdir"


class Settled(Wire):
    """A job that leaves nothing open, and what of it is legal but surprising."""

    job: Job
    warnings: tuple[str, ...] = ()


def settle(job: Job, submission: JobSubmission, *, open_snapshot: bool = False) -> Settled:
    """Fill in the working directory from where the job was submitted. Settling twice changes nothing more.

    `open_snapshot`: a document is only looked at, and its folder need not have been uploaded. Else raises PD-2031 when
    it needs a folder or a snapshot that the submission does not name.
    """
    workdir, note = _workdir(job, submission, open_snapshot)
    spec = job.spec.model_copy(update={"workdir": workdir})
    settled = job.model_copy(update={"spec": spec})
    return Settled(job=settled, warnings=(*note, *warnings(settled)))


def warnings(job: Job) -> tuple[str, ...]:
    """What people would want to know before they submit this."""
    spec = job.spec
    every, hang, timeout = spec.checkpoints.every, spec.progress.hang_after, spec.timeout
    found = []
    if spec.mode is Mode.BATCH and timeout is None:
        found.append("no spec.timeout: an attempt that never ends runs for ever")
    if hang is not None and every is not None and hang <= every:
        found.append("spec.progress.hangAfter is not longer than spec.checkpoints.every: a long save looks hung")
    if timeout is not None and every is not None and every >= timeout:
        found.append("spec.checkpoints.every is not shorter than spec.timeout: nothing would be saved before the end")
    if spec.workdir.mode is WorkdirMode.LIVE:
        found.append("spec.workdir is live: a retry runs whatever the folder holds by then")
    return tuple(found)


def _workdir(job: Job, submission: JobSubmission, open_snapshot: bool) -> tuple[Workdir, tuple[str, ...]]:
    asked = job.spec.workdir
    match asked.mode:
        case WorkdirMode.NONE:
            return asked, ()
        case WorkdirMode.LIVE:
            return _live(asked, submission), ()
        case WorkdirMode.SNAPSHOT if open_snapshot and asked.snapshot is None and submission.snapshot is None:
            return asked, ()
        case WorkdirMode.SNAPSHOT:
            return _snapshot(job, asked, submission)


def _live(asked: Workdir, submission: JobSubmission) -> Workdir:
    path = asked.path or submission.cwd
    if path is None:
        raise PerdureError("PD-2031", "mode live needs a folder, and none was given", where=f"{WHERE}.path")
    if not path.startswith("/"):
        raise PerdureError("PD-2031", f"{path!r} is not an absolute folder", where=f"{WHERE}.path")
    return Workdir(mode=WorkdirMode.LIVE, path=path)


def _snapshot(job: Job, asked: Workdir, submission: JobSubmission) -> tuple[Workdir, tuple[str, ...]]:
    digest = asked.snapshot or submission.snapshot
    if digest is not None:
        path = asked.path or submission.cwd
        return Workdir(mode=WorkdirMode.SNAPSHOT, path=path, snapshot=digest), ()
    if "workdir" in job.spec.model_fields_set:
        raise PerdureError("PD-2031", "mode snapshot needs an uploaded snapshot", where=f"{WHERE}.snapshot")
    return Workdir(mode=WorkdirMode.NONE), ("no snapshot was uploaded: the command starts in an empty folder",)
