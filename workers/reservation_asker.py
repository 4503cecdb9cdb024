"""Requests about windows of reservations, handed to their workflows as updates."""

import asyncio
from datetime import timedelta

from temporalio.client import (
    Client,
    WorkflowHandle,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from api.ports import NoAnswerYet
from definitions.ids import reservation_workflow_id
from definitions.reservation_calls import WindowAnswer, WindowAsked
from workers.operator import require_engine, until_heard

ENDED_MEANWHILE = "AcceptedUpdateCompletedWorkflow"  # the engine's own answer when the workflow ended before its own
ENDED = WindowAnswer(denied="its reservation has ended", fix="book another window")


class TemporalReservations:
    """The API's `ReservationAsker`. The client may be lazy: the API serves while the engine is away."""

    def __init__(self, client: Client, limit: timedelta) -> None:
        self._client = client
        self._limit = limit.total_seconds()

    async def ask(self, tenant: str, reservation: str, asked: WindowAsked) -> WindowAnswer:
        """Hand a request over and wait, for the limit at most. Safe to repeat: the request id is the update's id.

        Raises EngineAway, NoAnswerYet.
        """
        await require_engine(self._client)
        handle = self._client.get_workflow_handle(reservation_workflow_id(tenant, reservation))
        try:
            # An overall limit: the client's own one counts per try, and its tries repeat for longer than that.
            async with asyncio.timeout(self._limit):
                return await until_heard(lambda: _update(handle, asked))
        except WorkflowUpdateFailedError as error:
            if isinstance(error.cause, ApplicationError) and error.cause.type == ENDED_MEANWHILE:
                return ENDED
            raise NoAnswerYet from error
        except (TimeoutError, WorkflowUpdateRPCTimeoutOrCancelledError) as error:
            raise NoAnswerYet from error
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise NoAnswerYet from error
            return ENDED


async def _update(handle: "WorkflowHandle[object, object]", asked: WindowAsked) -> WindowAnswer:
    answer: WindowAnswer = await handle.execute_update(
        asked.verb.value, asked, id=asked.request_id, result_type=WindowAnswer
    )
    return answer
