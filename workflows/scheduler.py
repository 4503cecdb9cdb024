"""When a pool is decided for: as soon as there are news, and when a start that was promised is due.

What is decided, the activity decides.
"""

from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from activities.scheduling import Decided, SchedulerActivities
    from definitions.wire import Wire
    from workflows import options

AFTER_GIVING_UP = 60.0  # seconds


class SchedulerInput(Wire):
    """`queue`: the task queue on which decisions are made."""

    pool: str
    queue: str = "scheduler"


@workflow.defn
class SchedulerWorkflow:
    """One per pool. Id: `pool/{pool}`. Lives as long as the installation; continues as new when its history is long.

    News that come during a decision are one reason for the next one, however many there are. A run begins with a
    decision, so that nothing is lost when one continues another.
    """

    @workflow.init
    def __init__(self, start: SchedulerInput) -> None:
        self._start = start
        self._news = False
        self._lost = False
        self._last = Decided()

    @workflow.run
    async def run(self, start: SchedulerInput) -> None:
        while not self._is_long():
            self._news = False
            wake_after = await self._decide()
            if not self._is_long():
                await self._wait(wake_after)
        workflow.continue_as_new(self._start)

    @workflow.signal
    def changed(self) -> None:
        """Something happened that the pool has not been decided for. May repeat."""
        self._news = True

    @workflow.signal
    def restarted(self) -> None:
        """News from a process that has only just begun. A decision that is under way may have ended with the process
        before it, which nobody else would know until its heartbeat has been missed."""
        self._news = self._lost = True

    @workflow.query
    def last(self) -> Decided:
        """What came of the last decision."""
        return self._last

    async def _decide(self) -> float | None:
        """Seconds until the next decision is due. One that may be lost is made anew at once. One that goes on failing
        while news come in is left to the next run, whose history is short again."""
        settings = options.decide(self._start.queue)
        settings["summary"] = f"decide for pool {self._start.pool}"
        self._lost = False
        deciding = workflow.start_activity_method(SchedulerActivities.decide, self._start.pool, **settings)
        await workflow.wait_condition(lambda: deciding.done() or self._is_long() or self._lost)
        if not deciding.done():
            deciding.add_done_callback(lambda gone: gone.cancelled() or gone.exception())  # nobody awaits it
            deciding.cancel()
            return None
        try:
            self._last = await deciding
        except ActivityError as error:
            workflow.logger.warning("pool %s was not decided for: %s", self._start.pool, error.cause or error)
            return AFTER_GIVING_UP
        workflow.set_current_details(_told(self._last))
        return self._last.wake_after

    async def _wait(self, seconds: float | None) -> None:
        timeout = None if seconds is None else timedelta(seconds=seconds)
        try:
            await workflow.wait_condition(
                lambda: self._news, timeout=timeout, timeout_summary="a start is due, or time has passed"
            )
        except TimeoutError:
            return

    def _is_long(self) -> bool:
        return workflow.info().is_continue_as_new_suggested()


def _told(decided: Decided) -> str:
    last = f"decision {decided.decision}: {decided.placed} placed, {decided.told} told to go, {decided.waiting} wait"
    return last if decided.wake_after is None else f"{last}; decides again within {decided.wake_after:.0f} s"
