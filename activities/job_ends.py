"""Which jobs have ended: the slow net under the word that followers are left."""

from typing import Protocol

from temporalio import activity

from activities.effects import effect
from activities.job import port_errors
from definitions.facts import EndsFound, JobEnded
from definitions.wire import Wire


class LookWork(Wire):
    """Jobs of one project, by id."""

    tenant: str
    project: str
    jobs: tuple[str, ...]


class JobEnds(Protocol):
    """The store as those see it who wait for jobs. Raises PortError."""

    def ended(self, tenant: str, project: str, jobs: tuple[str, ...]) -> tuple[JobEnded, ...]:
        """How those of the jobs have ended that have, the deleted ones too."""


class EndsActivities:
    """Served beside the store: on the control queue."""

    def __init__(self, ends: JobEnds) -> None:
        self._ends = ends

    @activity.defn
    def look(self, work: LookWork) -> EndsFound:
        """Which of the jobs have ended. Safe to repeat: it only looks."""
        with port_errors(), effect("look"):
            return EndsFound(ends=self._ends.ended(work.tenant, work.project, work.jobs))
