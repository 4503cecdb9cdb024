"""Jobs that a job waits for, as the API shows them."""

from typing import Annotated

from definitions.api_base import View, doc
from definitions.job_relations import Outcome
from definitions.states import Phase

ID = "0k3bw2m4x9t6q8r1s5v7y0z2a4"


class AwaitedView(View):
    """Another job that has to end before this one begins, as it was found when this one was accepted."""

    job: Annotated[str, doc("Id of the other job.", ID)]
    name: Annotated[str, doc("Its name.", "prepare-data")]
    outcome: Annotated[Outcome, doc("How it has to end.", "succeeded")]


class AwaitedNow(AwaitedView):
    """The same, with where that job is now."""

    phase: Annotated[Phase, doc("Where it is.", "Running")]
    met: Annotated[bool | None, doc("Whether it ended as it has to; null while it has not ended.", None)] = None
