"""What a job waits for before it begins: ends of other jobs, as they were found when it was accepted."""

from definitions.job_relations import Outcome
from definitions.states import FailureClass, Phase
from definitions.wire import Wire


class Awaited(Wire):
    """Another job of the same project that has to end first. `phase` and `failure`: how it has ended, once it has."""

    job: str  # its id
    name: str
    outcome: Outcome = Outcome.SUCCEEDED  # how it has to end
    phase: Phase | None = None
    failure: FailureClass | None = None
