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


def announce(attempt_folder: str, rank: int, why: str) -> dict[str, Any]:
    """Tell every rank that this one ended badly. The first to say so is the cause; returns what stands."""
    value = {"rank": rank, "why": why}
    try:
        return create_once(f"{attempt_folder}/{FILE}", value) or value
    except OSError:  # no space: the neighbour will find the receipt
        return value


def failed(attempt_folder: str) -> dict[str, Any] | None:
    return read_json(f"{attempt_folder}/{FILE}")


class Peers:
    """Watches the next rank that has not ended well, round the ring: a look costs two small reads in any gang."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._watched = 1  # distance to the rank being watched

    def look(self) -> dict[str, Any] | None:
        """What ended badly without saying so, for instance because both of its supervisors were killed."""
        while self._watched < self._spec.ranks:
            rank = (self._spec.rank + self._watched) % self._spec.ranks
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
