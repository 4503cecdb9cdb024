"""What a job asks of the scheduler in the state that it is in: its document, and what its attempts have added to it."""

from typing import NamedTuple

from definitions.job import JobSpec
from definitions.job_state import JobState
from policies.job_sizes import spec_asked
from policies.scheduling.asking import limit_of, shape_of


class Asking(NamedTuple):
    """`shape`: as `shape_of` writes it. `limit`: seconds after which an attempt has gone by itself; None: endless."""

    shape: str
    limit: int | None


def asking_of(spec: JobSpec, state: JobState) -> Asking:
    """Of the next attempt, or of the present one. A pinned job asks for its nodes alone, so there is none to avoid."""
    avoid = () if state.pinned else state.avoid_nodes
    shape = shape_of(spec_asked(spec, state.sizes), nodes=state.pinned, avoid=avoid)
    return Asking(shape, limit_of(spec.model_copy(update={"timeout": state.timeout}), state.used))
