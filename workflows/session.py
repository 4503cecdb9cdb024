"""A session with a rank, as the engine sees it: who, with which job, for how long, and how it ended."""

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from activities.sessions import SessionActivities
    from definitions.session import SessionEnd, SessionWork
    from definitions.wire import Wire
    from workflows import options


class SessionInput(Wire):
    work: SessionWork
    queue: str


@workflow.defn
class SessionWorkflow:
    """Id: `session/{tenant}/{id}`. Lasts as long as somebody is connected; never repeated."""

    @workflow.run
    async def run(self, start: SessionInput) -> SessionEnd:
        settings = options.session()
        settings["task_queue"] = start.queue
        settings["summary"] = f"{start.work.wants.kind} with rank {start.work.rank} for {start.work.actor}"
        try:
            return await workflow.execute_activity_method(SessionActivities.serve, start.work, **settings)
        except ActivityError as error:
            cause = error.cause
            return SessionEnd(problem=cause.message if isinstance(cause, ApplicationError) else str(cause or error))
