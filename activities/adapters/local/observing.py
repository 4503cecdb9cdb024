"""What is known of an attempt: receipts where there are some, else whether supervisors live."""

import contextlib
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from activities.adapters.local import adoption
from activities.adapters.local.launching import read_record
from activities.adapters.local.layout import COLLECTED_FILE, Layout, rank_folder
from activities.adapters.local.settings import Settings
from activities.adapters.local.shim import files, gate, identity, peers, stopping
from activities.adapters.local.shim.rank import STATUS_FILE
from definitions.attempt import AttemptLaunch, AttemptObservation, AttemptRef, Collected, RankEvidence, RankState
from policies.places import place_of


class Observer:
    """Reads attempts' folders, and adopts ranks that nobody looks after any more."""

    def __init__(self, layout: Layout, settings: Settings) -> None:
        self._layout = layout
        self._settings = settings

    def observe(self, ref: AttemptRef) -> AttemptObservation:
        """Safe to repeat. A rank without supervisors and receipt is ended, and gets a receipt that says so."""
        attempt = self._layout.attempt(ref)
        now = datetime.now(UTC)
        collected = read_collected(attempt)
        if collected is not None:
            return collected.observation
        try:
            launch = read_record(attempt).launch
        except FileNotFoundError:
            made = gate.decision(str(attempt))
            # Stopped before it was launched: its gate is closed, so it never will be.
            return AttemptObservation(ref=ref, at=now, exists=made is not None, ended=made is not None)
        made = gate.decision(str(attempt)) or self._give_up_start(attempt, launch)
        ranks = tuple(self._placed(attempt, launch, rank, made) for rank in range(launch.ranks))
        ended = all(rank.state in (RankState.EXITED, RankState.LOST) for rank in ranks)
        return AttemptObservation(ref=ref, at=now, ranks=ranks, ended=ended)

    def _give_up_start(self, attempt: Path, launch: AttemptLaunch) -> dict[str, Any] | None:
        """Close the gate for a rank whose supervisors were killed at it and that nobody has started again in time."""
        oldest = time.time() - self._settings.gate_within.total_seconds()
        for rank in range(launch.ranks):
            folder = rank_folder(attempt, rank)
            with contextlib.suppress(FileNotFoundError):
                if (folder / identity.FILE).stat().st_mtime < oldest and not identity.is_supervised(str(folder)):
                    why = f"rank {rank} lost its supervisors before the start"
                    return gate.decide(str(attempt), gate.CLOSED, "an observer", why)
        return None

    def _placed(self, attempt: Path, launch: AttemptLaunch, rank: int, made: dict[str, Any] | None) -> RankEvidence:
        """What is known of a rank, with the mark of a simulated node, which only the launch knows of."""
        place = place_of(launch, rank)
        if place is None:
            return self._rank(attempt, launch, rank, self._settings.node, made)
        found = self._rank(attempt, launch, rank, place.node, made)
        return found.model_copy(update={"simulated": place.simulated})

    def _rank(
        self, attempt: Path, launch: AttemptLaunch, rank: int, node: str, made: dict[str, Any] | None
    ) -> RankEvidence:
        folder = rank_folder(attempt, rank)
        found = _receipt(folder, rank, node)
        if found is not None:
            return found
        if not identity.is_supervised(str(folder)) and made is not None:
            self._adopt(attempt, folder, launch, rank, node, made)
        return _receipt(folder, rank, node) or self._alive(folder, launch, rank, node, made)

    def _adopt(
        self, attempt: Path, folder: Path, launch: AttemptLaunch, rank: int, node: str, made: dict[str, Any]
    ) -> None:
        if made["gate"] == gate.OPEN:
            adoption.lost(attempt, folder, launch.ref, rank, node, launch.mode)
        else:
            stopped = (attempt / stopping.STOP_FILE).exists()
            adoption.never_ran(folder, launch.ref, rank, node, str(made.get("why", "")), stopped=stopped)

    def _alive(
        self, folder: Path, launch: AttemptLaunch, rank: int, node: str, made: dict[str, Any] | None
    ) -> RankEvidence:
        if made is None or made["gate"] != gate.OPEN:
            return RankEvidence(rank=rank, node=node, state=RankState.WAITING, ready=False)
        status = files.read_json(str(folder / STATUS_FILE)) or {}
        return RankEvidence(
            rank=rank,
            node=node,
            state=RankState.RUNNING,
            started_at=datetime.fromisoformat(made["at"]),
            restarts=status.get("restarts", 0),
            ready=status.get("ready", launch.readiness is None),
        )


def read_collected(attempt: Path) -> Collected | None:
    try:
        return Collected.model_validate_json((attempt / COLLECTED_FILE).read_bytes())
    except FileNotFoundError:
        return None


def _receipt(folder: Path, rank: int, node: str) -> RankEvidence | None:
    """None: there is none. It is asked for once: one that comes while it is looked for is there at the next look."""
    path = folder / peers.RECEIPT
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return RankEvidence.model_validate_json(data)
    except ValidationError:
        # It is there, so the rank has ended; what it said is not known.
        return RankEvidence(rank=rank, node=node, state=RankState.LOST, ready=False, detail=f"{path} cannot be read")
