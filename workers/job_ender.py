"""Ending a job on behalf of its schedule, through the same request that a person's cancel is."""

from collections.abc import Callable
from datetime import datetime

from activities.clock import utc_now
from activities.ports import PortError
from activities.schedules import ScheduledJob
from api.ports import EngineAway, JobClosed, JobOperator, NoAnswerYet, RequestRefused
from definitions.facts import Requested, Verb
from policies.job_steps import SYSTEM


class OperatorEnder:
    """The JobEnder port."""

    def __init__(self, operator: JobOperator, now: Callable[[], datetime] = utc_now) -> None:
        self._operator = operator
        self._now = now

    async def end(self, job: ScheduledJob, reason: str) -> None:
        """Ask a job to end. Safe to repeat: the request's id derives from the job; an ended job is at its goal."""
        asked = Requested(
            verb=Verb.CANCEL, request_id=f"schedule-{job.job}", actor=SYSTEM, reason=reason, at=self._now()
        )
        try:
            await self._operator.request(job.tenant, job.job, asked)
        except JobClosed as closed:
            if not closed.started:
                raise PortError("the job has not begun", code="PD-2011") from closed
        except (EngineAway, NoAnswerYet) as error:
            raise PortError("the engine did not answer", code="PD-2040") from error
        except RequestRefused as refused:
            raise PortError(str(refused), permanent=True, code="PD-2009") from refused
