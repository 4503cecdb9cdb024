"""From nothing to a running command: held, identified, and let go together with its gang."""

from __future__ import annotations

import os
import time

from . import cgroups, command, gate, identity
from .rank import Rank
from .shared import CHDIR, COMMAND, FAILED_STAGE, GROUP_OOM, MACHINE_OOM, PASSED, READY, STARTED_AT, STOPPED_BY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.1  # seconds between two looks at the gate
READY_PAUSE = 0.0005


def start(rank: Rank, identified: Callable[[], None]) -> bool:
    """Start the command. False when it was refused; `rank.refused` and `rank.why` then say why.

    `identified` is called once the identity is durable. Raises OSError when the command could not even be held; no code
    of the user has run then.
    """
    held = command.fork(rank.spec, rank.shared, rank.pipe_end, rank.groups)
    rank.shared[COMMAND] = held.pid
    try:
        opened = _is_ready(rank) and _identify(rank, identified) and _wait(rank)
    except BaseException:
        held.shut()
        raise
    if not opened:
        held.shut()
        return False
    _note_start(rank)
    held.open()
    return True


def settle(rank: Rank) -> None:
    """After taking over: wait until a process that was being started is past the gate, or gone.

    It is never in between for long: its gate either holds a byte or ended with the killed supervisor.
    """
    while rank.shared[COMMAND] and not rank.shared[PASSED] and not rank.ended():
        time.sleep(FIRST_PAUSE)
    if rank.shared[PASSED]:
        _begun(rank)
    else:
        rank.shared.forget_command()


def _is_ready(rank: Rank) -> bool:
    """Wait until the process stands at its gate. One that cannot get there closes it for the whole gang."""
    while not rank.shared[READY]:
        if rank.ended():
            made = gate.decide(rank.spec.attempt_folder, gate.CLOSED, f"rank {rank.spec.rank}", "it cannot be started")
            _note_refusal(rank, made)
            return False
        time.sleep(READY_PAUSE)
    return True


def _identify(rank: Rank, identified: Callable[[], None]) -> bool:
    """Write down durably who is who: from now on the gate may open."""
    pids = {**rank.pids, "command": rank.shared[COMMAND]}
    leads = {
        "cgroups": rank.groups,
        "pipe": os.readlink(f"/proc/self/fd/{rank.pipe}"),  # a daemon may have cleared its environment and kept this
        "secret_folder": rank.spec.secret_folder,
    }
    identity.write(rank.folder, rank.spec.token, pids, leads)
    identified()
    return True


def _wait(rank: Rank) -> bool:
    """Whether the gate opens. It closes for all when this rank cannot start, is to stop, or waited too long."""
    view = gate.Gate(rank.spec)
    pause = FIRST_PAUSE
    while True:
        made = view.look() or _reason_to_close(rank)
        if made is not None:
            break
        time.sleep(pause)
        pause = min(pause * 1.5, LONGEST_PAUSE)
    if made["gate"] == gate.OPEN:
        return True
    _note_refusal(rank, made)
    return False


def _reason_to_close(rank: Rank) -> dict[str, Any] | None:
    stop = rank.stops.find(save_first=False)
    why = f"to be stopped: {stop.why}" if stop is not None else ""
    if rank.ended():
        why = f"rank {rank.spec.rank} ended before the start"
    return gate.decide(rank.spec.attempt_folder, gate.CLOSED, f"rank {rank.spec.rank}", why) if why else None


def _note_refusal(rank: Rank, made: dict[str, Any]) -> None:
    stop = rank.stops.find(save_first=False)
    if rank.shared[FAILED_STAGE] == CHDIR:
        rank.refused, rank.why = "workdir", f"{rank.spec.cwd!r} cannot be entered"
    elif stop is not None:
        rank.refused, rank.why = "", stop.why
        rank.shared[STOPPED_BY] = stop.cause
    else:
        rank.refused, rank.why = "gate", made.get("why", "")


def _note_start(rank: Rank) -> None:
    machine = cgroups.machine_oom_kills()
    rank.shared[MACHINE_OOM] = -1 if machine is None else machine
    rank.shared[GROUP_OOM] = cgroups.oom_kills(rank.spec.memory_groups or rank.groups) or 0
    rank.shared[STARTED_AT] = rank.shared[STARTED_AT] or time.time_ns()
    _begun(rank)


def _begun(rank: Rank) -> None:
    rank.stops.begun()
    if rank.probe is not None:
        rank.probe.begun()
