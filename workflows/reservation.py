"""The life of a reservation over time. It looks at its windows when something is due or when it is told of a change."""

from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from activities.reservations import Look, ReservationActivities, ReservationKey, WindowWork
    from definitions.reservation_calls import WindowAnswer, WindowAsked
    from workflows import options
    from workflows.standing import ASK_AGAIN

AFTER_GIVING_UP = 60.0  # seconds


@workflow.defn
class ReservationWorkflow:
    """Id: `reservation/{tenant}/{name}`. Ends when nothing of it can come any more; a document that is applied later
    starts it again. Continues as new when its history grows long."""

    @workflow.init
    def __init__(self, key: ReservationKey) -> None:
        self._key = key
        self._changed = False
        self._drains = False  # about to continue: whoever asks is to ask the next run
        self._last = Look()

    @workflow.run
    async def run(self, key: ReservationKey) -> None:
        while not self._is_long():
            self._changed = False
            look = await self._look()
            if look.over and not self._changed and workflow.all_handlers_finished():
                return
            await self._wait(look.wake_after)
        self._drains = True
        await workflow.wait_condition(workflow.all_handlers_finished)
        workflow.continue_as_new(self._key)

    @workflow.signal
    def changed(self) -> None:
        """Its document has changed or was removed. May repeat."""
        self._changed = True

    @workflow.update
    async def extend(self, asked: WindowAsked) -> WindowAnswer:
        """Have a window last longer. The request's id makes a repeat return the same without effect."""
        return await self._carry_out(asked)

    @workflow.update
    async def cancel(self, asked: WindowAsked) -> WindowAnswer:
        """Give a window up. The request's id makes a repeat return the same without effect."""
        return await self._carry_out(asked)

    @extend.validator
    def check_extend(self, asked: WindowAsked) -> None:
        self._check()

    @cancel.validator
    def check_cancel(self, asked: WindowAsked) -> None:
        self._check()

    @workflow.query
    def last(self) -> Look:
        """What came of the last look."""
        return self._last

    def _check(self) -> None:
        if self._drains:
            raise ApplicationError("the workflow is about to continue; ask again", type=ASK_AGAIN)

    async def _carry_out(self, asked: WindowAsked) -> WindowAnswer:
        settings = options.answer()
        settings["summary"] = f"{asked.verb} window {asked.number} for {asked.actor}"
        work = WindowWork(key=self._key, asked=asked)
        answer = await workflow.execute_activity_method(ReservationActivities.change_window, work, **settings)
        self._changed = True
        return answer

    async def _look(self) -> Look:
        settings = options.record()
        settings["summary"] = f"keep the windows of {self._key.name}"
        try:
            self._last = await workflow.execute_activity_method(ReservationActivities.keep, self._key, **settings)
        except ActivityError as error:
            workflow.logger.warning("reservation %s was not looked at: %s", self._key.name, error.cause or error)
            return Look(wake_after=AFTER_GIVING_UP)
        workflow.set_current_details(_told(self._last))
        return self._last

    async def _wait(self, seconds: float | None) -> None:
        timeout = None if seconds is None else timedelta(seconds=seconds)
        try:
            await workflow.wait_condition(
                lambda: self._changed, timeout=timeout, timeout_summary="a window comes to its next phase"
            )
        except TimeoutError:
            return

    def _is_long(self) -> bool:
        return workflow.info().is_continue_as_new_suggested()


def _told(look: Look) -> str:
    if look.over:
        return "nothing of it is to come any more"
    there = ", ".join(f"{count} {phase}" for phase, count in look.windows.items()) or "no window"
    return there if look.wake_after is None else f"{there}; looks again within {look.wake_after:.0f} s"
