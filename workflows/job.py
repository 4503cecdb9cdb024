"""A job's workflow: it waits for facts, asks the policy, carries out the answer. It decides nothing itself.

`_live` is the single writer of the state: handlers only queue. What an activity returns is the next fact, taken before
all others, so that the activity's record and the workflow's decision are made from the same state.
"""

from collections import deque

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from activities.job import CollectResult, LaunchResult, Recorded, RuntimeActivities, StateWork
    from definitions.facts import (
        CollectCommand,
        Command,
        Fact,
        JobEnded,
        LaunchCommand,
        LaunchFailed,
        Observed,
        RecordCommand,
        Requested,
        TimerFired,
    )
    from definitions.job_state import JobInput, JobState, RequestOutcome
    from definitions.places import Displaced, Placed
    from definitions.states import Phase
    from policies.job_order import waits_for_others
    from policies.job_steps import Decision
    from policies.lifecycle import advance, begin, moment, poll_interval
    from policies.requests import refusal, stops_attempt
    from workflows import errands, options
    from workflows.causes import refusal_in
    from workflows.standing import ASK_AGAIN, Shown, outlive_cancel, show

# Patches: what a run did without them it replays without them.
STOP_ENDS_LAUNCH = "stop-ends-launch"
DRAINS = "drains-before-continuing"
OFTEN = 20  # times that a run wanted to continue and was too busy to


@workflow.defn
class JobWorkflow:
    """One job from acceptance to its end. Id: `job/{tenant}/{id}`. Continues as new when its history grows long."""

    @workflow.init
    def __init__(self, start: JobInput) -> None:
        self._input = start
        self._state = start.state
        self._facts: deque[Fact] = deque()
        self._shown: Shown | None = None
        self._answers: dict[str, str | None] = {}  # request id -> why it was refused; its handler waits for it
        self._busy = 0
        self._drains = False

    @workflow.run
    async def run(self, start: JobInput) -> JobState:
        return await outlive_cancel(self._live(start), self._facts.append)

    async def _live(self, start: JobInput) -> JobState:
        if self._state.event_count == 0:
            await self._carry_out(self._adopt(begin(self._state, workflow.now(), suspended=start.suspended)))
        else:
            self._show()
        while not self._state.phase.is_final:
            await self._carry_out(self._take_in(await self._next_fact()))
            await self._continue_if_long()
        await workflow.wait_condition(workflow.all_handlers_finished)
        return self._state

    @workflow.signal
    def report(self, fact: Observed) -> None:
        """A watcher's observation of an attempt. May repeat and come late."""
        self._facts.append(fact)

    @workflow.signal
    def place(self, fact: Placed | Displaced) -> None:
        """The scheduler's word about places. May repeat and come late."""
        self._facts.append(fact)

    @workflow.signal
    def heard(self, fact: JobEnded) -> None:
        """A job that this one follows has ended. May repeat and come late."""
        self._facts.append(fact)

    @workflow.update
    async def request(self, request: Requested) -> RequestOutcome:
        """A person's request; answered when the state has changed. The id makes a repeat return without effect."""
        self._facts.append(request)
        await workflow.wait_condition(lambda: request.request_id in self._answers or self._state.phase.is_final)
        refused = self._answers.get(request.request_id, refusal(self._state, request))
        if refused is not None:
            raise ApplicationError(refused, type="PD-2009", non_retryable=True)
        return RequestOutcome(phase=self._state.phase, reason=self._state.reason)

    @request.validator
    def check_request(self, request: Requested) -> None:
        if self._drains:
            raise ApplicationError("the job's workflow is about to continue; ask again", type=ASK_AGAIN)
        refused = refusal(self._state, request)
        if refused is not None:
            raise ApplicationError(refused, type="PD-2009", non_retryable=True)

    @workflow.query
    def state(self) -> JobState:
        return self._state

    async def _next_fact(self) -> Fact:
        try:
            await workflow.wait_condition(
                lambda: bool(self._facts), timeout=self._patience(), timeout_summary=self._waiting_for()
            )
        except TimeoutError:
            return TimerFired()
        return self._facts.popleft()

    def _patience(self) -> float | None:
        """Seconds until something is due: the next attempt, or the next safety poll."""
        if self._state.wake_at is not None:
            return max(0.0, (self._state.wake_at - workflow.now()).total_seconds())
        if self._state.phase.has_attempt or waits_for_others(self._state):
            return poll_interval(self._state, self._input.safety_poll).total_seconds()
        return None

    def _waiting_for(self) -> str:
        return "back-off before the next attempt" if self._state.wake_at is not None else "safety poll"

    def _take_in(self, fact: Fact) -> deque[Command]:
        """Decide about a fact; a request's handler is told whether it was granted."""
        if isinstance(fact, Requested):
            self._answers[fact.request_id] = refusal(self._state, fact)
        return self._adopt(advance(self._state, fact, moment(fact, workflow.now())))

    def _adopt(self, decision: Decision) -> deque[Command]:
        self._state = decision.state
        self._show()
        return deque(decision.commands)

    async def _carry_out(self, commands: deque[Command]) -> None:
        """Do what was decided, and what the facts that this brings ask for in turn."""
        done: Recorded | None = None
        while commands:
            command = commands.popleft()
            if isinstance(command, RecordCommand) and self._is_recorded(done):
                continue
            answer = await self._execute(command)
            if isinstance(answer, LaunchResult | CollectResult | Recorded):
                done = answer if isinstance(answer, Recorded) else answer.recorded
            fact = answer.fact if isinstance(answer, LaunchResult | CollectResult) else answer
            if isinstance(fact, LaunchFailed) and self._stop_asked() is not None and workflow.patched(STOP_ENDS_LAUNCH):
                commands.extend(self._take_stop())
            if fact is not None and not isinstance(fact, Recorded):
                commands.extend(self._take_in(fact))
            if self._is_recorded(done):
                self._state = self._state.model_copy(update={"events": ()})

    def _stop_asked(self) -> Fact | None:
        """What waits and is to end the attempt that is being launched."""
        return next((fact for fact in self._facts if stops_attempt(self._state, fact)), None)

    def _take_stop(self) -> deque[Command]:
        fact = self._stop_asked()
        assert fact is not None
        self._facts.remove(fact)
        return self._take_in(fact)

    def _is_recorded(self, done: Recorded | None) -> bool:
        return done is not None and done.phase is self._state.phase

    async def _execute(self, command: Command) -> LaunchResult | CollectResult | Recorded | Fact | None:
        match command:
            case LaunchCommand():
                return await self._launch()
            case CollectCommand():
                return await errands.collect(self._state, self._input)
            case RecordCommand():
                return await errands.record(self._state)
            case _:
                return await errands.short(command, self._state, self._input)

    async def _launch(self) -> LaunchResult | LaunchFailed:
        """A launch that fails again and again is given up when the job is to stop, not after its hour."""
        settings = errands.settings(options.launch(self._input.heartbeat), "launch", self._state, self._input.queue)
        launch = workflow.start_activity_method(RuntimeActivities.launch, StateWork(state=self._state), **settings)
        await workflow.wait_condition(lambda: launch.done() or self._stop_asked() is not None)
        if not launch.done() and workflow.patched(STOP_ENDS_LAUNCH):
            launch.cancel()
        try:
            return await launch
        except ActivityError as error:
            return LaunchFailed(attempt=self._state.attempt, at=workflow.now(), **refusal_in(error))

    def _show(self) -> None:
        self._shown = show(self._state, self._shown)

    async def _continue_if_long(self) -> None:
        """Hand the state on. No await stands between the checks and the end of this run, so no fact is lost.

        People who never stop asking could keep it from that until the engine ends a history that is too long. So when
        it has been busy too often, new requests are sent away, to be asked again in a moment, until it is free.
        """
        if self._state.phase.is_final or not workflow.info().is_continue_as_new_suggested():
            return
        self._busy += 1
        if not self._is_free() and self._busy > OFTEN and workflow.patched(DRAINS):
            self._drains = True
            await workflow.wait_condition(lambda: bool(self._facts) or self._is_free())
        if self._is_free():
            workflow.continue_as_new(self._input.model_copy(update={"state": self._state}))

    def _is_free(self) -> bool:
        """Whether nothing is under way that this run must finish itself."""
        unheard = workflow.cancellation_reason() is not None and self._state.phase is not Phase.CANCELLING
        return not self._facts and not unheard and workflow.all_handlers_finished()
