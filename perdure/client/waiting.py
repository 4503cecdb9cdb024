"""Waiting for a job to end, also while the control plane is away: the job itself goes on without it."""

from __future__ import annotations

from time import monotonic

from perdure.client._models import JobView
from perdure.client.operations import jobs
from perdure.client.phases import FINAL
from perdure.client.script import Pause, Script
from perdure.codes import WAIT_TIMEOUT
from perdure.errors import PerdureUnreachable, PerdureWaitTimeout

LONGEST_POLL = 30.0  # seconds; the API holds a request for at most 60
PATIENCE = 300.0  # seconds that the API may be away at a stretch
PAUSE = 2.0


def waiting(job: str, project: str | None, timeout: float | None) -> Script[JobView]:
    """Return the job once it has ended. `timeout` in seconds; None waits for as long as it takes.

    Raises PerdureWaitTimeout, and PerdureUnreachable when the API stays away for more than five minutes.
    """
    ends = None if timeout is None else monotonic() + timeout
    heard = monotonic()
    while True:
        left = LONGEST_POLL if ends is None else max(0.0, ends - monotonic())
        try:
            view: JobView = yield jobs.wait(job, timeout=min(LONGEST_POLL, left), project=project)
        except PerdureUnreachable:
            if monotonic() - heard > PATIENCE or (ends is not None and monotonic() > ends):
                raise
            yield Pause(PAUSE)
            continue
        heard = monotonic()
        if view.phase in FINAL:
            return view
        if ends is not None and monotonic() >= ends:
            seconds = f"{timeout:g} second{'' if timeout == 1 else 's'}"
            detail = f"{view.name} is still {view.phase} after {seconds}: {view.reason}"
            raise PerdureWaitTimeout(WAIT_TIMEOUT, detail, where=view.id)
        job = view.id  # a later job may take the name
