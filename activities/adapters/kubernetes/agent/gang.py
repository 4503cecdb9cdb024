"""The gang as one pod sees it: what it says to the others, and what it makes of what they say. One tick at a time."""

from __future__ import annotations

import time

from . import deciding
from .beside import gate
from .follower import Follower
from .hub import Hub

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .folder import Folder
    from .podspec import Pod
    from .wire import Heard

PAUSED = 1.0  # seconds between two ticks after which it was we who could not hear
TELL_WITHIN = 5.0  # seconds for the last news to be taken in, before this pod goes


def join(pod: Pod, folder: Folder, news: Callable[[], None]) -> Leader | Member | Alone:
    """`news` is called, in another thread, when another pod says something new. Raises OSError for a port taken."""
    if pod.alone:
        return Alone()
    return Leader(pod, folder, news) if pod.leads else Member(pod, folder, news)


class Alone:
    """The only pod: its ranks see each other, and nobody else has to know of them."""

    def tick(self, state: dict[str, Any]) -> None:
        """Nothing has to be passed on."""

    def may_end(self) -> bool:
        return True

    def close(self) -> None:
        """There is no link."""


class _Ticking:
    """What both sides of the link share."""

    def __init__(self, pod: Pod, folder: Folder) -> None:
        self._pod = pod
        self._folder = folder
        self._begun = self._ticked = self._awake = time.monotonic()
        self._ended_at: float | None = None

    def _now(self) -> float:
        now = time.monotonic()
        if now - self._ticked > PAUSED:
            self._awake = now
        self._ticked = now
        return now

    def _lost(self, index: int, heard: Heard, now: float) -> dict[str, Any] | None:
        """Have the ranks here end for a pod that is gone, if they run at all."""
        why = deciding.why_lost(index, heard, now)
        return self._folder.announce(self._pod.first_rank(index), why, deciding.LOST_GRACE, severed=True)

    def _has_waited(self) -> bool:
        """Whether the others have had their time to take in that the ranks here have ended."""
        self._ended_at = self._ended_at or time.monotonic()
        return time.monotonic() - self._ended_at > TELL_WITHIN


class Leader(_Ticking):
    """The first pod. It stays until every other pod has ended or is gone: requests come through it."""

    def __init__(self, pod: Pod, folder: Folder, news: Callable[[], None]) -> None:
        super().__init__(pod, folder)
        self._again = news  # what is decided at the gate is told in the next tick, which is not to be waited for
        self._hub = Hub(pod.hosts[0], pod.gang_port, pod.token, pod.followers, news)
        self._hub.start()

    def tick(self, state: dict[str, Any]) -> None:
        now = self._now()
        pods = self._hub.heard
        if state["gate"] is None:
            late = now - self._begun > self._pod.gate_within
            self._decide_gate(deciding.gate(state, pods, now, late=late))
            return
        self._hub.take_nobody_new()
        opened = state["gate"]["gate"] == gate.OPEN
        gone = [index for index, heard in pods.items() if deciding.is_lost(heard, now, self._awake)]
        failed = state["failed"]
        if failed is None and opened:
            failed = self._look_for_failure(gone, now)
        save = deciding.wanted_save(state, (heard.state or {} for heard in pods.values()))
        if save is not None:
            self._folder.ask_to_save(save)
        saved = deciding.all_saved(state, pods, save, gone)
        if saved is not None:
            self._folder.note_saved(saved)
        told = {"gate": state["gate"], "failed": failed, "save": save, "saved": saved}
        self._hub.publish({**self._folder.orders(), **told})

    def may_end(self) -> bool:
        """Once the ranks here have ended: whether no other pod needs us any more."""
        now = self._now()
        there = {
            index: heard
            for index, heard in self._hub.heard.items()
            if heard.at and not deciding.is_lost(heard, now, self._awake)
        }
        if not all((heard.state or {}).get("ended") for heard in there.values()):
            return False
        return self._hub.settled(there) or self._has_waited()

    def close(self) -> None:
        self._hub.close()

    def _decide_gate(self, verdict: tuple[bool, str] | None) -> None:
        if verdict is not None:
            opens, why = verdict
            self._folder.decide_gate(gate.OPEN if opens else gate.CLOSED, why)
            self._again()

    def _look_for_failure(self, gone: list[int], now: float) -> dict[str, Any] | None:
        failed = deciding.first_failure(self._hub.heard)
        if failed is not None:
            return self._folder.pass_on(failed)
        if gone:
            return self._lost(gone[0], self._hub.heard[gone[0]], now)
        return None


class Member(_Ticking):
    """Any other pod."""

    def __init__(self, pod: Pod, folder: Folder, news: Callable[[], None]) -> None:
        super().__init__(pod, folder)
        self._link = Follower((pod.hosts[0], pod.gang_port), pod.token, pod.index, news)
        self._link.start()

    def tick(self, state: dict[str, Any]) -> None:
        now = self._now()
        self._link.publish(state)
        heard = self._link.heard
        if heard.state:
            self._obey(heard.state)
        if state["gate"] is None:
            self._give_up_gate(now)
        elif state["gate"]["gate"] == gate.OPEN and deciding.is_lost(heard, now, self._awake):
            self._lost(0, heard, now)

    def may_end(self) -> bool:
        heard = self._link.heard
        nobody = not heard.at or deciding.is_lost(heard, self._now(), self._awake)
        return nobody or self._link.settled() or self._has_waited()

    def close(self) -> None:
        self._link.close()

    def _obey(self, told: dict[str, Any]) -> None:
        self._folder.obey(told)  # first, so that ranks at the gate know why it closes
        if told.get("gate") is not None:
            self._folder.decide_gate(told["gate"]["gate"], told["gate"]["why"])
        if told.get("failed") is not None:
            self._folder.pass_on(told["failed"])
        if told.get("save") is not None:
            self._folder.ask_to_save(told["save"])
        if told.get("saved") is not None:
            self._folder.note_saved(told["saved"])

    def _give_up_gate(self, now: float) -> None:
        if self._link.refused is not None:
            self._folder.decide_gate(gate.CLOSED, self._link.refused)
        elif now - self._begun > self._pod.gate_within:
            self._folder.decide_gate(gate.CLOSED, "the first pod did not open the gate in time")
