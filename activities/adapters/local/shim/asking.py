"""What is asked of the ranks of an attempt: files that supervisors and jobs find, whoever puts them there."""

from __future__ import annotations

import hashlib
import os

from . import gate
from .checkpointing import CONTROL_FILE
from .files import read_json, write_json
from .stopping import DEADLINE_FILE, STOP_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

REQUEST = "request"  # why an attempt is stopped, unless its `stop.json` names another cause


def save_id(token: str) -> str:
    """The one request to save before an end that an attempt is ever sent."""
    return f"stop-{token[:16]}"


def stop(attempt_folder: str, wanted: dict[str, Any]) -> None:
    """Have ranks end. `wanted`: reason, grace (seconds), checkpoint (None, or id and until), perhaps cause.

    Safe to repeat; of several requests what lets them end sooner. Ranks that have not begun never will.
    """
    path = f"{attempt_folder}/{STOP_FILE}"
    standing = read_json(path)
    merged = sooner(standing, wanted)
    if merged != standing:
        write_json(path, merged, durable=True)
    gate.decide(attempt_folder, gate.CLOSED, "a request", f"stopped before it began: {merged['reason']}")


def sooner(standing: dict[str, Any] | None, wanted: dict[str, Any]) -> dict[str, Any]:
    """Of two requests what lets ranks end sooner: a repeat changes nothing, a cancel overtakes a suspend.

    What people asked for is the cause, also when the machine is to be left at the same time.
    """
    if standing is None:
        return wanted
    first, second = standing["checkpoint"], wanted["checkpoint"]
    save = min(first, second, key=lambda each: float(each["until"])) if first and second else None
    hasty = wanted["checkpoint"] is None and standing["checkpoint"] is not None
    merged = {
        "reason": wanted["reason"] if hasty else standing["reason"],
        "grace": min(standing["grace"], wanted["grace"]),
        "checkpoint": save,
    }
    causes = {standing.get("cause", REQUEST), wanted.get("cause", REQUEST)}
    return merged if REQUEST in causes else {**merged, "cause": causes.pop()}


def control(attempt_folder: str, run_folder: str | None, request: dict[str, Any], deadline: float | None) -> bool:
    """Hand the job a `control_request`, and the supervisors its deadline. Carried out once per id; False for a repeat.

    `run_folder`: None when somebody else writes there.
    """
    if not is_new(attempt_folder, request["id"]):
        return False
    if deadline is not None:
        write_json(f"{attempt_folder}/{DEADLINE_FILE}", {"deadline": deadline}, durable=True)
    if run_folder is not None:
        write_json(f"{run_folder}/{CONTROL_FILE}", request)
    write_json(_done(attempt_folder, request["id"]), {"id": request["id"]})
    return True


def is_new(attempt_folder: str, request_id: str) -> bool:
    """Whether a request to the job has not been carried out here."""
    return not os.path.exists(_done(attempt_folder, request_id))


def _done(attempt_folder: str, request_id: str) -> str:
    return f"{attempt_folder}/control-{hashlib.sha256(request_id.encode()).hexdigest()[:32]}"
