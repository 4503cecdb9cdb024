"""What is asked of a running attempt. A request is a file that its supervisors find; nobody needs to stay for it."""

import time
from datetime import datetime
from pathlib import Path

from activities.adapters.local.layout import Layout
from activities.adapters.local.shim import asking, files, gate, stopping
from activities.adapters.local.shim.checkpointing import control_request
from definitions.attempt import AttemptRef, StopRequest


def stop(layout: Layout, ref: AttemptRef, request: StopRequest) -> None:
    """Have an attempt end; one that was not launched never will be. A later request may only make it end sooner."""
    attempt = layout.attempt(ref)
    attempt.mkdir(mode=0o700, parents=True, exist_ok=True)
    save = None
    if request.checkpoint_first:
        save = {"id": asking.save_id(ref.token), "until": time.time() + request.checkpoint_within.total_seconds()}
    wanted = {"reason": request.reason, "grace": request.grace.total_seconds(), "checkpoint": save}
    asking.stop(str(attempt), wanted)


def control(layout: Layout, ref: AttemptRef, request_id: str, *, checkpoint: bool, deadline: datetime | None) -> None:
    """Ask the ranks to save, tell them and their supervisors a deadline. Carried out once per `request_id`."""
    attempt = layout.attempt(ref)
    if not attempt.is_dir():
        return
    until = None if deadline is None else deadline.timestamp()
    asked = control_request(request_id, checkpoint=checkpoint, deadline=until)
    asking.control(str(attempt), str(layout.run_folder(ref)), asked, until)


def end_now(attempt: Path) -> None:
    """Have whatever is there of an attempt end without grace, and nothing more of it begin."""
    made = gate.decide(str(attempt), gate.CLOSED, "a request", "collected before it began")
    if made["gate"] == gate.OPEN:
        files.write_json(str(attempt / stopping.STOP_FILE), {"reason": "collected", "grace": 0.0, "checkpoint": None})
