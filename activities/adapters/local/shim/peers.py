"""The other ranks of a gang: one file tells all of them that the attempt is over, and neighbours watch each other."""

from __future__ import annotations

from . import identity
from .files import create_once, read_json
from .spec import Spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILE = "failed"
RECEIPT = "receipt.json"


def announce(
    attempt_folder: str, rank: int, why: str, grace: float | None = None, *, severed: bool = False
) -> dict[str, Any]:
    """Tell every rank that this one ended badly. The first to say so is the cause; returns what stands.

    `grace`: seconds left to the others, when it was found out so late that they get less than is usual. `severed`: it
    is not heard any more, and may live on without the others.
    """
    value: dict[str, Any] = {"rank": rank, "why": why}
    if grace is not None:
        value["grace"] = grace
    if severed:
        value["severed"] = True
    try:
        return create_once(f"{attempt_folder}/{FILE}", value) or value
    except OSError:  # no space: the neighbour will find the receipt
        return value


def failed(attempt_folder: str) -> dict[str, Any] | None:
    return read_json(f"{attempt_folder}/{FILE}")


class Peers:
    """Watches the next rank of this folder that has not ended well, round the ring: a look costs two small reads."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._position = spec.here.index(spec.rank)
        self._watched = 1  # distance to the rank being watched

    def look(self) -> dict[str, Any] | None:
        """What ended badly without saying so, for instance because both of its supervisors were killed."""
        here = self._spec.here
        while self._watched < len(here):
            rank = here[(self._position + self._watched) % len(here)]
            folder = self._spec.rank_folder(rank)
            try:
                if identity.is_supervised(folder):
                    return None
                receipt = read_json(f"{folder}/{RECEIPT}", strict=True)
            except OSError:
                return None  # it cannot be told now; the next look is not far
            if receipt is None:
                return announce(self._spec.attempt_folder, rank, f"rank {rank} has lost both supervisors")
            if receipt.get("exit_code") != 0:
                return announce(self._spec.attempt_folder, rank, f"rank {rank} ended badly")
            self._watched += 1
        return None
