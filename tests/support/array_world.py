"""A world for the pure life of an array: jobs that end in any order, and word that is lost, late or said twice."""

from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

from definitions.array_state import (
    ArrayCommand,
    ArrayState,
    Indexes,
    Made,
    MakeCommand,
    PassCommand,
    Passed,
)
from definitions.facts import EndsFound, JobEnded, LookCommand, Requested, Verb
from definitions.ids import new_id
from definitions.states import FailureClass, Phase
from policies.array_children import child_id, child_name
from policies.arrays import advance, begin, next_command, wake_at
from policies.index_ranges import numbers, ranges_of, size
from tests.support.jobs import NOW

ARRAY = new_id()
ENDS = (Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED)


def array_state(last: int = 9, *, first: int = 0, step: int = 1, limit: int = 4, **changes: Any) -> ArrayState:
    values: dict[str, Any] = dict(
        tenant="acme", project="vision", job=ARRAY, name="sweep",
        indexes=Indexes(first=first, last=last, step=step), limit=limit,
    )  # fmt: skip
    return ArrayState(**values | changes)


def end_of(state: ArrayState, index: int, phase: Phase = Phase.SUCCEEDED) -> JobEnded:
    failure = FailureClass.USER_ERROR if phase is Phase.FAILED else None
    name, job = child_name(state.name, index), child_id(state.job, index)
    return JobEnded(job=job, name=name, phase=phase, failure=failure, at=NOW)


@dataclass
class ArrayWorld:
    """Plays the workflow, the store and the jobs. `ended`: index -> how; `words`: what may still be heard."""

    state: ArrayState
    random: Random
    made: list[int] = field(default_factory=list)
    live: set[int] = field(default_factory=set)
    ended: dict[int, Phase] = field(default_factory=dict)
    words: list[JobEnded] = field(default_factory=list)
    most_open: int = 0
    heard_of: dict[str, set[int]] = field(default_factory=dict)  # request id -> indexes that were asked

    def __post_init__(self) -> None:
        self.now = NOW
        self.state = begin(self.state, self.now)

    def act(self) -> bool:
        """Carry out what is due; False when nothing was."""
        command = next_command(self.state, self.now)
        if command is None:
            return False
        self._carry_out(command)
        self.most_open = max(self.most_open, len(self.live))
        return True

    def settle(self) -> None:
        while self.act():
            pass

    def end_one(self) -> None:
        """A job ends; word of it is lost, comes once, or is said twice."""
        if self.live:
            index = self.random.choice(sorted(self.live))
            self._end(index, self.random.choice(ENDS))

    def hear_one(self) -> None:
        """Any word, which may be heard again."""
        if self.words:
            self.state = advance(self.state, self.random.choice(self.words), self.now)

    def ask(self, request: Requested) -> None:
        self.state = advance(self.state, request, self.now)

    def wait(self) -> None:
        """Until something is due by itself."""
        due = wake_at(self.state)
        self.now = max(self.now, due) if due is not None else self.now + timedelta(minutes=1)

    def _end(self, index: int, phase: Phase) -> None:
        self.live.remove(index)
        self.ended[index] = phase
        self.words += [end_of(self.state, index, phase)] * self.random.choice((0, 1, 2))

    def _carry_out(self, command: ArrayCommand) -> None:
        match command:
            case MakeCommand():
                self.state = advance(self.state, self._make(command), self.now)
            case PassCommand():
                self.state = advance(self.state, self._pass_on(command), self.now)
            case LookCommand():
                over = [end_of(self.state, index, how) for index, how in self.ended.items()]
                found = tuple(end for end in over if end.job in command.jobs)
                self.state = advance(self.state, EndsFound(ends=found), self.now)
            case _:
                self.state = self.state.model_copy(update={"events": ()})

    def _make(self, command: MakeCommand) -> Made:
        """Some end before the array hears that they were made, and some could not be accepted."""
        indexes = [self.state.indexes.at(position) for position in range(command.start, command.start + command.count)]
        self.made += indexes
        self.live.update(indexes)
        self.most_open = max(self.most_open, len(self.live))
        for index in indexes:
            if self.random.random() < 0.1:
                self._end(index, self.random.choice(ENDS))
        over = tuple(end_of(self.state, index, self.ended[index]) for index in indexes if index in self.ended)
        return Made(start=command.start, count=command.count, ended=over)

    def _pass_on(self, command: PassCommand) -> Passed:
        """Some cannot hear it yet. A job that is cancelled ends."""
        done = []
        for position in numbers(command.positions):
            index = self.state.indexes.at(position)
            if self.random.random() < 0.3:
                continue
            done.append(position)
            self.heard_of.setdefault(command.request.request_id, set()).add(index)
            if command.request.verb is Verb.CANCEL and index in self.live:
                self._end(index, Phase.CANCELLED)
        return Passed(request_id=command.request.request_id, done=ranges_of(done))


def open_count(state: ArrayState) -> int:
    return size(state.open)
