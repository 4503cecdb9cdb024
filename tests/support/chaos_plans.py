"""A plan for the chaos proxy that leaves no fault out."""

import random
import threading
from collections import Counter
from collections.abc import Mapping

from tests.support.chaos_proxy import Act, Fault, Request, expired

OF_CALLS = (
    Fault(Act.DROP),
    Fault(Act.DELAY, seconds=1),
    Fault(Act.ANSWER, status=500),
    Fault(Act.ANSWER, status=429, headers={"Retry-After": "1"}),
    Fault(Act.LOSE_ANSWER),
    Fault(Act.CUT_ANSWER),
    Fault(Act.ANSWER_AFTER, status=504),
)
# Each ends the watch, at once or later: one that goes on meets no further fault for minutes.
OF_WATCHES = (
    Fault(Act.DROP),
    Fault(Act.ANSWER, status=500),
    Fault(Act.ANSWER, status=429, headers={"Retry-After": "1"}),
    Fault(Act.ANSWER, status=410, body=expired()),
    Fault(Act.CUT_WATCH, lines=20),
    Fault(Act.CUT_WATCH, lines=20, seconds=1),
    Fault(Act.GONE_IN_WATCH, lines=20),
)
# Comes to the server when the client has given it up, and done something else meanwhile.
LATE = Fault(Act.DELAY, seconds=12)


class Evenly:
    """Each request meets a fault with the chance of its verb: of those that it can meet, the one that was done least.

    `did`: what the proxy has really done. A watch that is to be cut after some lines may be one that tells nothing,
    so what was planned for it says little.
    `late`: how many requests of each verb come late, which costs more time than the others.
    """

    def __init__(self, seed: int, chances: Mapping[str, float], late: int, did: Mapping[tuple[str, str], int]) -> None:
        self._dice = random.Random(seed)
        self._lock = threading.Lock()
        self._met: Counter[tuple[str, str]] = Counter()
        self._late = late
        self._did = did
        self.chances = chances

    @staticmethod
    def faults(verb: str) -> tuple[Fault, ...]:
        return OF_WATCHES if verb == "watch" else (*OF_CALLS, LATE)

    def __call__(self, request: Request) -> Fault | None:
        with self._lock:
            if self._dice.random() >= self.chances.get(request.verb, 0.0):
                return None
            possible = [each for each in self.faults(request.verb) if each is not LATE or self._may_be_late(request)]
            least = min(self._times(request.verb, fault) for fault in possible)
            fault = self._dice.choice([each for each in possible if self._times(request.verb, each) == least])
            self._met[request.verb, fault.name] += 1
            return fault

    def _times(self, verb: str, fault: Fault) -> tuple[int, int]:
        """How often it was done, and how often planned."""
        return self._did.get((verb, fault.name), 0), self._met[verb, fault.name]

    def _may_be_late(self, request: Request) -> bool:
        return self._met[request.verb, LATE.name] < self._late
