"""What may be asked of a pod from outside, through a process that is started in it. Requests become files."""

from __future__ import annotations

import json
import time

from .beside import asking, checkpointing, files, gate, identity, rank, receipt
from .look import look, progress
from .places import Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NOT_VALID = "PD-3205"
CONTROL_FILE = "control.json"  # in the attempt's folder: the newest request to the jobs, for the other pods


class Refused(Exception):
    """Why a question has no answer."""

    code = NOT_VALID


def answer(root: str, arguments: list[str]) -> tuple[dict[str, Any], bool]:
    """The answer, and whether it is yes. Raises Refused. Safe to repeat."""
    places = Places(root)
    try:
        asked = json.loads(arguments[0])
        pod = files.read_json(places.pod)
        if pod is None:
            raise Refused("there is no attempt in this pod")
        return QUESTIONS[asked["do"]](places, pod, asked)
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise Refused(f"{' '.join(arguments)[:200]!r} cannot be asked: {error!r}") from error


def _stop(places: Places, pod: dict[str, Any], asked: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    _only_first(pod)
    save, within = None, asked["checkpoint_within"]
    if within is not None:
        save = {"id": asking.save_id(pod["token"]), "until": time.time() + float(within)}
    wanted = {"reason": str(asked["reason"]), "grace": float(asked["grace"]), "checkpoint": save}
    asking.stop(places.attempt, wanted)
    return {"done": True, "opened": _has_opened(places)}, True


def _control(places: Places, pod: dict[str, Any], asked: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    _only_first(pod)
    until = None if asked["deadline"] is None else float(asked["deadline"])
    request = checkpointing.control_request(str(asked["id"]), checkpoint=bool(asked["checkpoint"]), deadline=until)
    if asking.is_new(places.attempt, request["id"]):
        files.write_json(f"{places.attempt}/{CONTROL_FILE}", request)
        asking.control(places.attempt, places.run, request, until)
    return {"done": True}, True


def _look(places: Places, _pod: dict[str, Any], _asked: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    return look(places.run), True


def _progress(places: Places, _pod: dict[str, Any], asked: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    return {"progress": progress(places.run, int(asked["most"]))}, True


def _ready(places: Places, pod: dict[str, Any], _asked: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Whether every rank here runs past the gate, and is ready where readiness is asked about."""
    opened = _has_opened(places)
    ranks = [_state(f"{places.attempt}/rank-{number}", number, pod, opened=opened) for number in pod["ranks"]]
    return {"ranks": ranks}, all(one["state"] == "running" and one["ready"] for one in ranks)


QUESTIONS = {"stop": _stop, "control": _control, "look": _look, "progress": _progress, "ready": _ready}


def _has_opened(places: Places) -> bool:
    made = gate.decision(places.attempt)
    return made is not None and bool(made["gate"] == gate.OPEN)


def _only_first(pod: dict[str, Any]) -> None:
    if pod["index"] != 0:
        raise Refused(f"this is pod {pod['index']}: what is asked of a gang is asked of its first pod")


def _state(folder: str, number: int, pod: dict[str, Any], *, opened: bool) -> dict[str, Any]:
    status = files.read_json(f"{folder}/{rank.STATUS_FILE}") or {}
    known = {"rank": number, "ready": False, "restarts": status.get("restarts", 0)}
    if receipt.exists(folder):
        return {**known, "state": "ended"}
    if not opened or identity.read(folder) is None:
        return {**known, "state": "waiting"}
    return {**known, "state": "running", "ready": status.get("ready", not pod["readiness"])}
