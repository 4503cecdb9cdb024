"""The steps of a pod as others start them: argv, paths, file names, and what comes back."""

import json
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from activities.adapters.kubernetes.agent import message
from activities.adapters.kubernetes.agent.places import ROOT, TERMINATION_LOG, Places
from activities.adapters.kubernetes.pod.tasks import KeeperOutcome
from activities.ports import PortError, RunLook
from definitions.attempt import AttemptRef, RankEvidence, StopRequest
from definitions.wire import Wire

PLACES = Places(ROOT)
STEP = ("python3", "-I", "-m", "activities.adapters.kubernetes.pod")
PREPARE_COMMAND = (*STEP, "prepare")  # init container, our image
KEEPER_COMMAND = (*STEP, "keeper")  # keeper pod, our image
MAIN_COMMAND = (f"{PLACES.bin}/python", "-I", "-S", f"{PLACES.bin}/agent/main.py")
ASK = (f"{PLACES.bin}/python", "-I", "-S", f"{PLACES.bin}/agent/ask.py")
SAVE = (f"{PLACES.bin}/python", "-I", "-S", f"{PLACES.bin}/agent/save.py")
AGENT_SOURCE = "/opt/perdure/agent"  # in our image: `python`, `shim/`, `agent/` and what the interpreter needs
LAUNCH_KEY, KEEPER_KEY = "launch.json", "keeper.json"  # keys of Secrets mounted at PLACES.secret
NODE_VARIABLE, POD_VARIABLE, INDEX_VARIABLE = "PERDURE_NODE", "PERDURE_POD", "JOB_COMPLETION_INDEX"

__all__ = ["PLACES", "TERMINATION_LOG"]


class Receipts(Wire):
    """How the ranks of one pod ended. `more`: ranks that found no room in the message; the failing ones come first."""

    token: str
    ranks: dict[int, RankEvidence]
    more: int = 0


def ask_stop(stop: StopRequest) -> tuple[str, ...]:
    """Run in the first pod of the gang; the agents tell the others. Safe to repeat. See `parse_stop`."""
    return _ask(
        {
            "do": "stop",
            "reason": stop.reason,
            "grace": stop.grace.total_seconds(),
            "checkpoint_within": stop.checkpoint_within.total_seconds() if stop.checkpoint_first else None,
        }
    )


def ask_control(request_id: str, *, checkpoint: bool, deadline: datetime | None) -> tuple[str, ...]:
    """Run in the first pod of the gang. Carried out once per `request_id`."""
    until = None if deadline is None else deadline.timestamp()
    return _ask({"do": "control", "id": request_id, "checkpoint": checkpoint, "deadline": until})


def ask_look() -> tuple[str, ...]:
    return _ask({"do": "look"})


def ask_progress(most: int) -> tuple[str, ...]:
    """The last `most` bytes of the progress file. The answer is a `RunLook` without checkpoints."""
    return _ask({"do": "progress", "most": most})


def ask_ready() -> tuple[str, ...]:
    """Ends with 0 once every rank of the pod runs past the gate (and, of a service, is ready): a startup and readiness
    probe. Prints a JSON object per rank: rank, state, ready, restarts."""
    return _ask({"do": "ready"})


def parse_stop(output: str) -> bool:
    """Whether the gate of the gang was open, so that ranks may have run. Raises PortError (PD-3206)."""
    try:
        return bool(json.loads(output)["opened"])
    except (ValueError, KeyError, TypeError) as error:
        raise PortError(f"what the pod says of a stop cannot be read: {error!r}", code="PD-3206") from None


def parse_look(output: str) -> RunLook:
    """Raises PortError (PD-3206) for an answer that is none."""
    try:
        return RunLook.model_validate_json(output)
    except ValidationError as error:
        raise PortError(f"what the pod says of its run folder cannot be read: {error}", code="PD-3206") from None


def parse_receipts(text: str, node: str) -> Receipts | None:
    """The receipts in a container's termination message; None when it is not the agent's."""
    try:
        token, ranks, more = message.parse(text)
        known = {rank: RankEvidence.model_validate({**receipt, "node": node}) for rank, receipt in ranks.items()}
        return Receipts(token=token, ranks=known, more=more)
    except ValueError:  # a ValidationError is one too
        return None


def parse_failure(text: str) -> tuple[str, str] | None:
    """Code and words of an init container's termination message; None when the step said nothing."""
    try:
        value = json.loads(text)
        return str(value["code"]), str(value["message"])
    except (ValueError, KeyError, TypeError):
        return None


def parse_outcome(output: str) -> KeeperOutcome:
    """The keeper's answer, the last line of its log. Raises PortError: what it says, or PD-3206 without an answer."""
    try:
        outcome = KeeperOutcome.model_validate_json(output.strip().rpartition("\n")[2])
    except ValidationError:
        raise PortError(f"the keeper gave no answer: {output[-300:]!r}", code="PD-3206") from None
    if outcome.error is not None:
        raise PortError(outcome.error.message, permanent=outcome.error.permanent, code=outcome.error.code)
    return outcome


def log_folder(ref: AttemptRef, rank: int) -> str:
    """In pods with the job's volume: where a rank's log lies, and its whole receipt once it has ended."""
    return PLACES.log_folder(ref.number, ref.token, rank)


def _ask(question: dict[str, Any]) -> tuple[str, ...]:
    return (*ASK, json.dumps(question))
