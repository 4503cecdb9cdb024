"""What is asked of a running attempt. A request is a file that its supervisors find; nobody needs to stay for it."""

import hashlib
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from activities.adapters.local.layout import Layout
from activities.adapters.local.shim import files, gate, stopping
from activities.adapters.local.shim.checkpointing import control_request
from definitions.attempt import AttemptRef, StopRequest
from definitions.protocol import CONTROL_FILE


def stop(layout: Layout, ref: AttemptRef, request: StopRequest) -> None:
    """Have an attempt end; one that was not launched never will be. A later request may only make it end sooner."""
    attempt = layout.attempt(ref)
    attempt.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = attempt / stopping.STOP_FILE
    standing = files.read_json(str(path))
    wanted = _sooner(standing, _stop_file(ref, request))
    if wanted != standing:
        files.write_json(str(path), wanted, durable=True)
    gate.decide(str(attempt), gate.CLOSED, "a request", f"stopped before it began: {request.reason}")


def control(layout: Layout, ref: AttemptRef, request_id: str, *, checkpoint: bool, deadline: datetime | None) -> None:
    """Ask the ranks to save, tell them and their supervisors a deadline. Carried out once per `request_id`."""
    attempt = layout.attempt(ref)
    if not attempt.is_dir():
        return
    done = attempt / f"control-{hashlib.sha256(request_id.encode()).hexdigest()[:32]}"
    if done.exists():
        return
    until = None if deadline is None else deadline.timestamp()
    if until is not None:
        files.write_json(str(attempt / stopping.DEADLINE_FILE), {"deadline": until}, durable=True)
    asked = control_request(request_id, checkpoint=checkpoint, deadline=until)
    files.write_json(str(layout.run_folder(ref) / CONTROL_FILE), asked)
    files.write_json(str(done), {"id": request_id})


def end_now(attempt: Path) -> None:
    """Have whatever is there of an attempt end without grace, and nothing more of it begin."""
    made = gate.decide(str(attempt), gate.CLOSED, "a request", "collected before it began")
    if made["gate"] == gate.OPEN:
        files.write_json(str(attempt / stopping.STOP_FILE), {"reason": "collected", "grace": 0.0, "checkpoint": None})


def _stop_file(ref: AttemptRef, request: StopRequest) -> dict[str, Any]:
    save = None
    if request.checkpoint_first:
        save = {"id": f"stop-{ref.token[:16]}", "until": time.time() + request.checkpoint_within.total_seconds()}
    return {"reason": request.reason, "grace": request.grace.total_seconds(), "checkpoint": save}


def _sooner(standing: dict[str, Any] | None, wanted: dict[str, Any]) -> dict[str, Any]:
    """Of two requests what lets the attempt end sooner: a repeat changes nothing, a cancel overtakes a suspend."""
    if standing is None:
        return wanted
    first, second = standing["checkpoint"], wanted["checkpoint"]
    save = min(first, second, key=lambda each: each["until"]) if first and second else None
    hasty = wanted["checkpoint"] is None and standing["checkpoint"] is not None
    return {
        "reason": wanted["reason"] if hasty else standing["reason"],
        "grace": min(standing["grace"], wanted["grace"]),
        "checkpoint": save,
    }
