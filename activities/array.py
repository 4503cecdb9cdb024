"""What an array's workflow has done: make jobs, pass requests on to them, and record what the array came to."""

from typing import Protocol

from temporalio import activity

from activities.effects import effect
from activities.job import port_errors
from definitions.array_state import ArrayState, Made, MakeCommand, PassCommand, Passed
from definitions.facts import JobEnded, Requested
from definitions.states import Phase
from definitions.wire import Wire
from policies.array_children import ids_at
from policies.index_ranges import ranges_of


class MakeWork(Wire):
    state: ArrayState
    command: MakeCommand


class PassWork(Wire):
    state: ArrayState
    command: PassCommand


class RecordWork(Wire):
    state: ArrayState


class ArrayRecorded(Wire):
    """What the store says now."""

    phase: Phase


class Arrays(Protocol):
    """The store as arrays see it. Raises PortError."""

    def make(self, state: ArrayState, start: int, count: int) -> tuple[JobEnded, ...]:
        """Have the jobs of `count` positions from `start` on; return those of them that have ended. Safe to repeat.

        One that cannot be accepted is there all the same, failed, so that people see why it did not run. An array that
        has ended or was deleted makes none.
        """

    def record(self, state: ArrayState) -> Phase:
        """Write the state and its new events; return the phase that the store then has. Safe to repeat: events are
        keyed, older states change nothing."""


class Requests(Protocol):
    """Requests to jobs, by their workflows."""

    async def hand_on(self, tenant: str, jobs: dict[int, str], request: Requested) -> tuple[int, ...]:
        """Ask jobs (position -> id) for something, as a person would. Returns the positions that need not be asked
        again: they have heard it, or it does not concern them any more. Safe to repeat: a request goes by its id."""


class ArrayActivities:
    """Served beside the store: on the control queue."""

    def __init__(self, arrays: Arrays, requests: Requests) -> None:
        self._arrays = arrays
        self._requests = requests

    @activity.defn
    def make_jobs(self, work: MakeWork) -> Made:
        """Have the next jobs. Safe to repeat: a job's id derives from array and index."""
        command = work.command
        with port_errors(), effect("make-jobs"):
            ended = self._arrays.make(work.state, command.start, command.count)
        return Made(start=command.start, count=command.count, ended=ended)

    @activity.defn
    async def pass_on(self, work: PassWork) -> Passed:
        """Pass a request on to jobs of the array. Safe to repeat: it has the same id for each of them."""
        command, state = work.command, work.state
        jobs = ids_at(state, command.positions)
        with port_errors(), effect("pass-on"):
            done = await self._requests.hand_on(state.tenant, jobs, command.request)
        return Passed(request_id=command.request.request_id, done=ranges_of(list(done)))

    @activity.defn
    def record_array(self, work: RecordWork) -> ArrayRecorded:
        """Write the state and its new events. Safe to repeat: events are keyed, older states change nothing."""
        with port_errors(), effect("record-array"):
            return ArrayRecorded(phase=self._arrays.record(work.state))
