"""The pairs of supervisors of this pod's ranks: forked from here, and replaced by a receipt when both are gone."""

from __future__ import annotations

import fcntl
import os
import select
import time

from .beside import cgroups, files, gate, identity, leftovers, logfile, pair, peers, receipt, spec, stopping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

ANSWER_WITHIN = 60.0  # seconds, for all pairs of a pod


def start(specs: list[spec.Spec]) -> dict[int, str]:
    """Fork a pair for every rank; the watchers are our children. Returns what went wrong, by rank."""
    reads, writes = os.pipe()
    for one in specs:
        os.makedirs(one.rank_folder(), mode=0o700, exist_ok=True)
        if os.fork() == 0:
            os.close(reads)
            _become_pair(one, writes)
    os.close(writes)
    said = dict(line.split(" ", 1) for line in _read(reads).decode(errors="replace").splitlines() if " " in line)
    answers = {one.rank: said.get(str(one.rank), "its supervisors gave no answer") for one in specs}
    return {rank: answer for rank, answer in answers.items() if answer not in (pair.STARTED, pair.ENDED)}


def reap() -> bool:
    """Take in children that have ended, our own and orphans; whether there were any."""
    found = False
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        found = True


def adopt(specs: list[spec.Spec]) -> None:
    """Give a receipt to every rank that nobody supervises any more and that has none. Safe to repeat."""
    for one in specs:
        folder = one.rank_folder()
        if receipt.exists(folder) or identity.is_supervised(folder):
            continue
        made = gate.decision(one.attempt_folder)
        if made is None:
            why = f"rank {one.rank} lost its supervisors before the start"
            made = gate.decide(one.attempt_folder, gate.CLOSED, "the agent", why)
        with open(f"{folder}/lock", "a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # a pair is only just beginning, or ending
            if not receipt.exists(folder):
                _close(one, folder, made)


def _become_pair(one: spec.Spec, report: int) -> NoReturn:
    try:
        os.setsid()
        os.umask(0o077)
        null = os.open("/dev/null", os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        os.close(null)
        pair.run(one, report)
    finally:
        os._exit(1)


def _read(descriptor: int) -> bytes:
    """All that is written into a pipe until nobody has it open any more, or time is up."""
    parts = []
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    ends = time.monotonic() + ANSWER_WITHIN
    while (left := ends - time.monotonic()) > 0:
        if poller.poll(int(left * 1000) + 1):
            part = os.read(descriptor, 1 << 16)
            if not part:
                break
            parts.append(part)
    os.close(descriptor)
    return b"".join(parts)


def _close(one: spec.Spec, folder: str, made: dict[str, Any]) -> None:
    """End what is left of a rank, and write what can be known of it."""
    known = identity.read(folder) or {}
    ran = made["gate"] == gate.OPEN
    value = {
        "rank": one.rank,
        "node": one.node,
        "token": one.token,
        "written_by": "agent",
        "ended_at": files.rfc3339(time.time_ns()),
        "ready": False,
        "last_lines": _last_lines(one.log_folder),
    }
    if ran:
        why = "both supervisors are gone without a receipt"
        value.update(state="lost", detail=why, leftovers=leftovers.end_rank(one.token, one.rank, known))
    else:
        asked = files.read_json(f"{one.attempt_folder}/{stopping.STOP_FILE}")
        value.update(state="exited", detail=made.get("why", ""))
        value["start_error"] = "gate" if asked is None else None
        value["stopped_by"] = None if asked is None else asked.get("cause", "request")
        leftovers.end_rank(one.token, one.rank, known)
    for secret in (known.get("secret_folder"), one.secret_folder):
        if secret:
            files.remove_tree(secret)
    cgroups.remove(known.get("cgroups", []))
    receipt.write(folder, value)
    if ran and one.ranks > 1 and not one.service:
        peers.announce(one.attempt_folder, one.rank, f"rank {one.rank} was lost: {value['detail']}")


def _last_lines(folder: str) -> list[str]:
    try:
        newest = max(name for name in os.listdir(folder) if name.endswith(".log"))
    except (OSError, ValueError):
        return []
    lines = logfile.read_last_lines(f"{folder}/{newest}")
    return [line.decode("utf-8", "replace")[: receipt.LINE_LENGTH] for line in lines]
