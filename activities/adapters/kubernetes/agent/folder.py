"""This pod's attempt folder: what stands in it, said as a state, and what others say, put into it."""

from __future__ import annotations

import time

from .beside import asking, checkpointing, files, gate, identity, peers, receipt, stopping
from .questions import CONTROL_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .podspec import Pod

    State = dict[str, Any]


class Folder:
    """Looked at several times a second; every answer comes from files, so nothing here needs to be remembered."""

    def __init__(self, pod: Pod) -> None:
        self._pod = pod
        self._path = pod.places.attempt
        self._running = {one.rank: one.rank_folder() for one in pod.specs}  # ranks without a receipt
        self._save: dict[str, Any] | None = None

    def state(self) -> dict[str, Any]:
        """This pod as the others see it (deciding.py)."""
        self._running = {rank: path for rank, path in self._running.items() if not receipt.exists(path)}
        made = gate.decision(self._path)
        stop = files.read_json(f"{self._path}/{stopping.STOP_FILE}")
        own_save = None if stop is None else stop["checkpoint"]
        save = own_save or self._save
        return {
            "held": made is not None or self._are_held(),
            "gate": None if made is None else {"gate": made["gate"], "why": made.get("why", "")},
            "failed": None if self._pod.service else peers.failed(self._path),
            "save": own_save,
            "saved": save["id"] if save is not None and self._have_saved(save) else None,
            "ended": not self._running,
        }

    def orders(self) -> dict[str, Any]:
        """What was asked of this pod and is to be passed on to the others."""
        request = files.read_json(f"{self._path}/{stopping.STOP_FILE}")
        if request is not None and "cause" in request:
            request = None  # it is this pod that is to leave, not the gang
        return {
            "stop": request,
            "deadline": files.read_json(f"{self._path}/{stopping.DEADLINE_FILE}"),
            "control": files.read_json(f"{self._path}/{CONTROL_FILE}"),
        }

    def obey(self, orders: dict[str, Any]) -> None:
        """Do what was asked of the first pod. Safe to repeat."""
        if orders.get("stop") is not None:
            asking.stop(self._path, orders["stop"])
        # A deadline stands by itself: the request that it came with may be seen before it is there, and only once.
        deadline, path = orders.get("deadline"), f"{self._path}/{stopping.DEADLINE_FILE}"
        if deadline is not None and files.read_json(path) != deadline:
            files.write_json(path, deadline, durable=True)
        request = orders.get("control")
        if request is not None:
            asking.control(self._path, None if self._pod.shared else self._pod.places.run, request, None)

    def decide_gate(self, verdict: str, why: str) -> None:
        gate.decide(self._path, verdict, "the gang", why)

    def announce(self, rank: int, why: str, grace: float | None = None, *, severed: bool = False) -> State | None:
        """Have the ranks here end because of another, unless they are services. The first to be announced counts."""
        return None if self._pod.service else peers.announce(self._path, rank, why, grace, severed=severed)

    def pass_on(self, failed: State) -> State | None:
        """What another pod has announced."""
        severed = bool(failed.get("severed"))
        return self.announce(failed["rank"], failed["why"], failed.get("grace"), severed=severed)

    def ask_to_save(self, save: dict[str, Any]) -> None:
        """Have the ranks here save for an end that is not theirs. Their answers then show in the state."""
        self._save = save
        if self._pod.shared and not self._pod.leads:
            return  # the first pod writes for all
        control = f"{self._pod.places.run}/{checkpointing.CONTROL_FILE}"
        if (files.read_json(control) or {}).get("id") != save["id"] and time.time() < save["until"]:
            asked = checkpointing.control_request(save["id"], checkpoint=True, stop_by=save["until"])
            files.write_json(control, asked)

    def note_saved(self, request: str) -> None:
        """Let the ranks here know that those of the other pods have answered."""
        path = f"{self._path}/{checkpointing.SAVED_FILE}"
        if (files.read_json(path) or {}).get("id") != request:
            files.write_json(path, {"id": request})

    def leave(self) -> None:
        """This pod is told to end: its ranks save first if the job does, and then end for that cause."""
        save = None
        if self._pod.save_within is not None:
            save = {"id": asking.save_id(self._pod.token), "until": time.time() + self._pod.save_within}
        wanted = {"reason": "its pod is told to end", "grace": self._pod.grace, "checkpoint": save, "cause": "shutdown"}
        asking.stop(self._path, wanted)

    def pass_on_ends(self) -> None:
        """Tell the gang of ends that no rank elsewhere can see, and that are none of the ranks' own failing."""
        for one in self._pod.specs:
            if one.rank in self._running:
                continue
            ended = files.read_json(f"{one.rank_folder()}/{peers.RECEIPT}") or {}
            if ended.get("stopped_by") == "shutdown":
                self.announce(one.rank, f"pod {self._pod.index} is told to end")
            elif ended.get("stopped_by") == "hang" and not self._pod.shared:
                self.announce(one.rank, f"rank {one.rank} hangs")

    def _are_held(self) -> bool:
        try:
            return all(identity.is_supervised(path) for path in self._running.values())
        except OSError:
            return False  # it cannot be told now

    def _have_saved(self, save: dict[str, Any]) -> bool:
        run = self._pod.places.run
        return all(checkpointing.has_answered(run, path, rank, save["id"]) for rank, path in self._running.items())
