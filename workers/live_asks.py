"""Questions about jobs that run on a cluster, asked of its worker by threads that answer requests."""

import asyncio

from api.ports import ClusterAsker, ClusterSilent, EngineAway, QuestionUnknown
from definitions.cluster_calls import Answer, ClusterCall
from definitions.errors import PerdureError

ANSWER_WITHIN = 120.0  # seconds


class LiveAsks:
    """`loop` is where the engine's client lives."""

    def __init__(self, clusters: ClusterAsker, loop: asyncio.AbstractEventLoop) -> None:
        self._clusters = clusters
        self._loop = loop

    def ask(self, call: ClusterCall, unread: str) -> Answer:
        """Wait for the answer. `unread`: what was not read, should there be none.

        Raises QuestionUnknown; PerdureError PD-2040, PD-2103, or the cluster's refusal.
        """
        answer = asyncio.run_coroutine_threadsafe(self._clusters.ask(call), self._loop)
        try:
            return answer.result(ANSWER_WITHIN)
        except EngineAway:
            raise PerdureError("PD-2040", f"{unread}: the workflow engine is away") from None
        except QuestionUnknown:
            raise
        except (ClusterSilent, TimeoutError):
            raise PerdureError("PD-2103", f"the worker of cluster {call.cluster!r} gave no answer") from None
