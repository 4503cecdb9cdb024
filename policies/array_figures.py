"""What an array comes to, and what to mind before it is submitted. Pure."""

from collections.abc import Mapping, Sequence

from definitions.api_arrays import ArrayView
from definitions.job import Job
from definitions.places import Ticket
from definitions.states import Phase
from policies.array_children import indexes_of
from policies.arrays import MOST_OPEN

MANY = 100


def array_view(job: Job, counted: Mapping[Phase, int] | None = None, failed: Sequence[int] = ()) -> ArrayView | None:
    """`counted`: how many of its jobs are in each phase. `failed`: indexes. None for a job that is no array."""
    array = job.spec.array
    if array is None:
        return None
    indexes, counted = indexes_of(job), counted or {}
    return ArrayView(
        first=array.first,
        last=array.last,
        step=array.step,
        limit=min(array.limit or MOST_OPEN, indexes.count),
        count=indexes.count,
        jobs={phase: counted[phase] for phase in Phase if phase in counted},
        left=indexes.count - sum(counted.values()),
        failed=list(failed),
    )


def array_warnings(job: Job, ticket: Ticket | None) -> list[str]:
    """Many processes at once, where nobody keeps them back."""
    found = array_view(job)
    if found is None or job.spec.array is None or job.spec.array.limit is not None or ticket is not None:
        return []
    return [] if found.limit < MANY else [f"no array.limit and no queue: {found.limit} of its jobs start at once"]
