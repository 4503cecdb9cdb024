"""A job with a ticket among a scheduler, people, a runtime and a network that repeats and delays: it is never lost,
never runs without the places that are held for it, and never twice at once."""

from datetime import datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from definitions.attempt import AttemptObservation, Collected, RankEvidence, RankState, StoppedBy
from definitions.facts import (
    AttemptCollected,
    CollectCommand,
    CollectFailed,
    Command,
    Fact,
    LaunchCommand,
    Launched,
    LaunchFailed,
    Observed,
    RecordCommand,
    StopCommand,
    TimerFired,
    Verb,
)
from definitions.job_state import JobState, Sizes
from definitions.places import Displaced, Placed, PlacedPod, Placement, Ticket
from definitions.states import Phase
from policies.lifecycle import advance, begin, moment
from tests.support.jobs import NOW, asked, checkpoint, new_state, rank

ENDS: list[RankEvidence] = [
    rank(0),
    rank(0, exit_code=1),
    rank(0, exit_code=None, signal=9),
    rank(0, exit_code=None, signal=15, stopped_by=StoppedBy.REQUEST),
    rank(0, state=RankState.LOST, exit_code=None, node_lost=True),
]
MOST_STEPS = 60  # that a job needs to its end when everybody does what is asked


class Held:
    """The gang's row as the store keeps it by the job's phase: what is asked, and the places that are held."""

    def __init__(self) -> None:
        self.asked: tuple[int, datetime | None] | None = None  # attempt and asking that wait
        self.held: Placed | None = None
        self.leaving = False
        self.sizes: Sizes | None = None  # that were asked for
        self.then: Placement | None = None  # what it goes on with at another size
        self.decisions = 0

    def follow(self, state: JobState, now: datetime) -> Placed | None:
        """What is said of places that were held for it already."""
        if state.phase is Phase.QUEUED:
            wanted = (state.attempt + 1, state.queued_at)
            if self.asked == wanted:
                return None
            then = self.then if self._goes_on(wanted) and self.sizes == state.sizes else None
            self.asked, self.sizes, self.held, self.leaving, self.then = wanted, state.sizes, None, False, None
            return None if then is None else self._hold(then, now)
        if not state.phase.has_attempt:
            self.asked, self.held, self.leaving, self.then = None, None, False, None
        return None

    def place(self, now: datetime, nodes: int = 1) -> Placed:
        return self._hold(self.places(nodes), now)

    def places(self, nodes: int) -> Placement:
        self.decisions += 1
        pods = tuple(PlacedPod(node=f"node-{self.decisions}-{number}") for number in range(nodes))
        return Placement(pool="local", decision=self.decisions, pods=pods)

    def _goes_on(self, wanted: tuple[int, datetime | None]) -> bool:
        return self.asked is not None and wanted == (self.asked[0] + 1, self.asked[1])

    def _hold(self, placement: Placement, now: datetime) -> Placed:
        assert self.asked is not None
        self.held = Placed(attempt=self.asked[0], asked_at=self.asked[1], at=now, placement=placement)
        return self.held


class QueuedJob(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.gang = Held()
        self.sent: list[Fact] = []  # everything that anybody ever said: all of it may come again
        self.live: int | None = None  # the attempt whose processes may exist
        self.launched: list[int] = []
        self.requests = 0
        sizes = Sizes(least=1, most=4, asked=2, ceiling=4)
        start = begin(new_state(ticket=Ticket(queue="research"), timeout=timedelta(hours=9), sizes=sizes), NOW)
        self.state = start.state
        self.obey(start.commands)

    def hear(self, fact: Fact) -> None:
        self.now += timedelta(seconds=1)
        decision = advance(self.state, fact, moment(fact, self.now))
        if self.state.phase.is_final:
            assert decision.commands == ()
            assert decision.state.phase is self.state.phase
        self.state = decision.state
        if isinstance(fact, AttemptCollected | CollectFailed) and fact.attempt == self.live:
            self.live = None
        self.obey(decision.commands)

    def obey(self, commands: tuple[Command, ...]) -> None:
        """Every command brings the state to the store, and the gang's row follows it."""
        if any(isinstance(each, RecordCommand | LaunchCommand | CollectCommand | StopCommand) for each in commands):
            told = self.gang.follow(self.state, self.now)
            self.sent += [] if told is None else [told]
        for command in commands:
            if isinstance(command, LaunchCommand):
                assert self.live is None, "two attempts at once"
                assert command.ref.number not in self.launched
                assert self.gang.held is not None, "it runs on places that nobody holds for it"
                assert self.state.placement == self.gang.held.placement
                assert self.state.launch.nodes == len(self.gang.held.placement.pods)
                self.live = command.ref.number
                self.launched.append(command.ref.number)

    def say(self, fact: Fact) -> None:
        self.sent.append(fact)
        self.hear(fact)

    @precondition(lambda self: self.gang.asked is not None and self.gang.held is None)
    @rule(arrives=st.booleans(), nodes=st.integers(1, 4))
    def the_scheduler_places_it(self, arrives: bool, nodes: int) -> None:
        told = self.gang.place(self.now, nodes)
        self.sent.append(told)
        if arrives:
            self.hear(told)

    @precondition(lambda self: self.gang.held is not None and not self.gang.leaving)
    @rule(arrives=st.booleans())
    def the_scheduler_wants_the_places_back(self, arrives: bool) -> None:
        assert self.gang.held is not None
        self.gang.leaving = True
        told = Displaced(attempt=self.gang.held.attempt, at=self.now, reason="job big needs its places")
        self.sent.append(told)
        if arrives:
            self.hear(told)

    @precondition(lambda self: self.gang.held is not None and not self.gang.leaving)
    @rule(arrives=st.booleans(), nodes=st.integers(1, 4))
    def the_scheduler_changes_its_size(self, arrives: bool, nodes: int) -> None:
        assert self.gang.held is not None
        self.gang.leaving, self.gang.then = True, self.gang.places(nodes)
        told = Displaced(attempt=self.gang.held.attempt, at=self.now, reason=f"now {nodes} nodes", resizes=True)
        self.sent.append(told)
        if arrives:
            self.hear(told)

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def something_comes_late_or_again(self, data: st.DataObject) -> None:
        self.hear(data.draw(st.sampled_from(self.sent)))

    @rule(verb=st.sampled_from(list(Verb)))
    def a_person_asks(self, verb: Verb) -> None:
        self.requests += 1
        more = {"extend_by": timedelta(minutes=1), "priority": self.requests % 101, "nodes": self.requests % 5}
        self.say(asked(verb, f"r{self.requests}", **more))

    @rule()
    def time_passes(self) -> None:
        self.now += timedelta(minutes=11)
        self.hear(TimerFired())

    @precondition(lambda self: self.live is not None and self.state.phase is not Phase.COLLECTING)
    @rule(what=st.sampled_from(["runs", "fails", "refused"]))
    def the_launch_returns(self, what: str) -> None:
        if what == "runs":
            self.say(Launched(attempt=self.state.attempt, at=self.now))
        else:
            refused = what == "refused" and self.requests % 5 == 0
            self.say(LaunchFailed(attempt=self.state.attempt, at=self.now, permanent=refused, message="no space"))

    @precondition(lambda self: self.live is not None and self.state.phase is not Phase.COLLECTING)
    @rule(end=st.sampled_from(ENDS))
    def the_attempt_ends(self, end: RankEvidence) -> None:
        self.say(Observed(observation=self.seen(end)))

    @precondition(lambda self: self.state.phase is Phase.COLLECTING)
    @rule(end=st.sampled_from(ENDS), step=st.none() | st.integers(1, 90))
    def it_is_collected(self, end: RankEvidence, step: int | None) -> None:
        kept = () if step is None else (checkpoint(step),)
        collected = Collected(observation=self.seen(end), checkpoints=kept, reached_step=step)
        self.say(AttemptCollected(attempt=self.state.attempt, collected=collected))

    @precondition(lambda self: self.state.phase is Phase.COLLECTING)
    @rule()
    def nothing_can_be_kept(self) -> None:
        self.say(CollectFailed(attempt=self.state.attempt, at=self.now, message="disk gone"))

    @invariant()
    def it_runs_only_with_places_and_holds_them_only_while_it_may_run(self) -> None:
        assert self.state.phase.has_attempt == (self.live is not None)
        if self.state.phase.has_attempt:
            assert self.state.placement is not None
            assert self.gang.held is not None
            assert self.gang.held.placement == self.state.placement
        else:
            assert self.state.placement is None
        if self.state.phase is not Phase.QUEUED and not self.state.phase.has_attempt:
            assert self.gang.asked is None
        assert (self.gang.asked is None) == (self.state.queued_at is None)

    def teardown(self) -> None:
        """From wherever it is, it comes to an end when everybody does what is asked and all messages arrive."""
        for _ in range(MOST_STEPS):
            if self.state.phase.is_final:
                return
            self.what_is_due()
        raise AssertionError(f"the job is lost in {self.state.phase}: {self.state.reason}")

    def what_is_due(self) -> None:
        match self.state.phase:
            case Phase.QUEUED if self.gang.held is None:
                self.hear(self.gang.place(self.now))
            case Phase.QUEUED if self.gang.leaving:
                assert self.gang.held is not None
                self.hear(Displaced(attempt=self.gang.held.attempt, at=self.now, reason="again"))
            case Phase.QUEUED:
                assert self.gang.held is not None
                self.hear(self.gang.held)
            case Phase.STARTING:
                self.hear(Launched(attempt=self.state.attempt, at=self.now))
            case Phase.RUNNING | Phase.SUSPENDING | Phase.CANCELLING:
                self.hear(Observed(observation=self.seen(rank(0))))
            case Phase.COLLECTING:
                kept = Collected(observation=self.seen(rank(0)))
                self.hear(AttemptCollected(attempt=self.state.attempt, collected=kept))
            case Phase.BACKING_OFF:
                self.now += timedelta(hours=1)
                self.hear(TimerFired())
            case Phase.SUSPENDED:
                self.requests += 1
                self.hear(asked(Verb.RESUME, f"r{self.requests}"))

    def seen(self, *ranks: RankEvidence) -> AttemptObservation:
        assert self.state.ref is not None
        return AttemptObservation(ref=self.state.ref, at=self.now, ranks=ranks, ended=True)


TestQueuedJob = QueuedJob.TestCase
TestQueuedJob.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
