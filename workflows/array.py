"""An array's workflow: it waits for word of its jobs, asks the policy and carries out the answer.

One thing at a time: what was heard meanwhile is taken in before the next one is done. So a job is never made after a
request that it should have heard, and a request is answered within one short activity.
"""

from collections import deque
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from activities.array import ArrayActivities, MakeWork, PassWork, RecordWork
    from activities.job_ends import EndsActivities, LookWork
    from definitions.array_state import (
        ArrayCommand,
        ArrayFact,
        ArrayInput,
        ArrayState,
        MakeCommand,
        PassCommand,
    )
    from definitions.facts import EndsFound, JobEnded, LookCommand, Requested
    from definitions.job_state import RequestOutcome
    from definitions.states import Phase
    from policies.array_requests import refusal
    from policies.arrays import advance, begin, next_command, wake_at
    from workflows import options
    from workflows.causes import cause_of
    from workflows.standing import ASK_AGAIN, Shown, outlive_cancel, show

LOOKED_AT_ONCE = 1_000  # jobs


@workflow.defn
class ArrayWorkflow:
    """One array from acceptance to its end. Id: `job/{tenant}/{id}`, as of any job; its requests have the same names.

    Continues as new when its history grows long: the state is as small as the number of open jobs.
    """

    @workflow.init
    def __init__(self, start: ArrayInput) -> None:
        self._input = start
        self._state = start.state
        self._facts: deque[ArrayFact] = deque()
        self._shown: Shown | None = None
        self._answers: dict[str, str | None] = {}  # request id -> why it was refused; its handler waits for it
        self._drains = False

    @workflow.run
    async def run(self, start: ArrayInput) -> ArrayState:
        return await outlive_cancel(self._live(start), self._facts.append)

    @workflow.signal
    def heard(self, fact: JobEnded) -> None:
        """A job of the array, or one that it waits for, has ended. May repeat and come late."""
        self._facts.append(fact)

    @workflow.update
    async def request(self, request: Requested) -> RequestOutcome:
        """A person's request; answered when the state has changed, while it is still being passed on to the jobs. The
        id makes a repeat return without effect."""
        self._facts.append(request)
        await workflow.wait_condition(lambda: request.request_id in self._answers or self._state.phase.is_final)
        refused = self._answers.get(request.request_id, refusal(self._state, request))
        if refused is not None:
            raise ApplicationError(refused, type="PD-2009", non_retryable=True)
        return RequestOutcome(phase=self._state.phase, reason=self._state.reason)

    @request.validator
    def check_request(self, request: Requested) -> None:
        if self._drains:
            raise ApplicationError("the array's workflow is about to continue; ask again", type=ASK_AGAIN)
        refused = refusal(self._state, request)
        if refused is not None:
            raise ApplicationError(refused, type="PD-2009", non_retryable=True)

    @workflow.query
    def state(self) -> ArrayState:
        return self._state

    async def _live(self, start: ArrayInput) -> ArrayState:
        if self._state.event_count == 0:
            self._state = begin(self._state, workflow.now(), suspended=start.suspended)
        self._show()
        while True:
            while self._facts:
                self._take_in(self._facts.popleft())
            if await self._continues():
                continue
            command = next_command(self._state, workflow.now())
            if command is not None:
                await self._carry_out(command)
            elif self._state.phase.is_final:
                break
            else:
                await self._wait()
        await workflow.wait_condition(workflow.all_handlers_finished)
        return self._state

    def _take_in(self, fact: ArrayFact) -> None:
        """Decide about a fact; a request's handler is told whether it was granted."""
        if isinstance(fact, Requested):
            self._answers[fact.request_id] = refusal(self._state, fact)
        self._state = advance(self._state, fact, workflow.now())
        self._show()

    async def _carry_out(self, command: ArrayCommand) -> None:
        settings = options.record()
        settings["summary"] = f"{command.kind}: {self._state.phase}"
        match command:
            case MakeCommand():
                make = MakeWork(state=self._state, command=command)
                self._take_in(await workflow.execute_activity_method(ArrayActivities.make_jobs, make, **settings))
            case PassCommand():
                work = PassWork(state=self._state, command=command)
                self._take_in(await workflow.execute_activity_method(ArrayActivities.pass_on, work, **settings))
            case LookCommand():
                self._take_in(await self._look(command))
            case _:
                record = RecordWork(state=self._state)
                await workflow.execute_activity_method(ArrayActivities.record_array, record, **settings)
                self._state = self._state.model_copy(update={"events": ()})

    async def _look(self, command: LookCommand) -> EndsFound:
        """What the store says. Gives up quietly: the next look asks again."""
        found: list[JobEnded] = []
        for start in range(0, len(command.jobs), LOOKED_AT_ONCE):
            some = command.jobs[start : start + LOOKED_AT_ONCE]
            work = LookWork(tenant=self._state.tenant, project=self._state.project, jobs=some)
            settings = options.short(self._input.heartbeat)
            settings["summary"] = "safety poll"
            try:
                seen = await workflow.execute_activity_method(EndsActivities.look, work, **settings)
            except ActivityError as error:
                workflow.logger.warning("the jobs of the array cannot be looked at: %s", cause_of(error))
                break
            found += seen.ends
        return EndsFound(ends=tuple(found))

    async def _wait(self) -> None:
        """Until something is heard, or due."""
        due = wake_at(self._state)
        timeout = None if due is None else max(timedelta(0), due - workflow.now())
        try:
            await workflow.wait_condition(
                lambda: bool(self._facts), timeout=timeout, timeout_summary="safety poll, or a request to pass on again"
            )
        except TimeoutError:
            return

    async def _continues(self) -> bool:
        """Hand the state on when the history is long. True: something came in between, which is to be taken in first.

        New requests are sent away meanwhile, to be asked again in a moment. No await stands between the last look and
        the end of this run, so no fact is lost.
        """
        if self._state.phase.is_final or not workflow.info().is_continue_as_new_suggested():
            return False
        self._drains = True
        await workflow.wait_condition(lambda: bool(self._facts) or self._is_free())
        if self._facts:
            return True
        workflow.continue_as_new(self._input.model_copy(update={"state": self._state}))

    def _is_free(self) -> bool:
        """Whether nothing is under way that this run must finish itself."""
        unheard = workflow.cancellation_reason() is not None and self._state.phase is not Phase.CANCELLING
        return not unheard and workflow.all_handlers_finished()

    def _show(self) -> None:
        self._shown = show(self._state, self._shown)
