"""What one rank is started with. It comes through the standard input, since it holds the values of secrets."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Spec:
    """Times are seconds, moments are seconds since the epoch, paths are absolute."""

    def __init__(self, attempt_folder: str, raw: dict[str, Any]) -> None:
        """Raises KeyError when something is missing."""
        self.attempt_folder = attempt_folder
        self.run_folder: str = raw["run_folder"]
        self.rank: int = raw["rank"]
        self.ranks: int = raw["ranks"]
        self.node: str = raw["node"]
        self.token: str = raw["token"]
        self.argv: list[str] = raw["argv"]
        self.env: dict[str, str] = raw["env"]
        self.cwd: str = raw["cwd"]
        self.masked: list[str] = raw["masked"]
        self.secret_folder: str | None = raw["secret_folder"]
        self.secret_files: dict[str, str] = raw["secret_files"]
        self.service: bool = raw["service"]
        self.deadline: float | None = raw["deadline"]
        self.time_limit: float | None = raw.get("time_limit")  # instead of a deadline: from when the gate opens
        self.grace: float = raw["grace"]
        self.hang_after: float | None = raw["hang_after"]
        self.restart: dict[str, Any] = raw["restart"]  # first, longest, limit
        self.readiness: dict[str, Any] | None = raw["readiness"]
        self.gate_within: float = raw["gate_within"]
        self.log_size: int = raw["log_size"]
        self.log_files: int = raw["log_files"]
        self.notify: str = raw["notify"]  # a named pipe that may have no reader
        self.key: str = raw["key"]  # names the attempt there
        # An attempt may be spread over several machines, each with a folder for its own ranks alone.
        self.here: list[int] = raw.get("here") or list(range(self.ranks))  # ranks of this folder
        self.log_folder: str = raw.get("log_folder") or f"{self.rank_folder()}/log"
        self.memory_groups: list[str] = raw.get("memory_groups") or []  # control groups of the container around it all

    @property
    def whole(self) -> bool:
        """Whether all ranks are here. If not, somebody else opens the gate and tells when the others have saved."""
        return len(self.here) == self.ranks

    def rank_folder(self, rank: int | None = None) -> str:
        return f"{self.attempt_folder}/rank-{self.rank if rank is None else rank}"


def parse(attempt_folder: str, data: bytes) -> list[Spec]:
    """Raises ValueError for a text that was cut, which is what a launcher leaves that was killed while it wrote."""
    try:
        return [Spec(attempt_folder, raw) for raw in json.loads(data)]
    except (KeyError, TypeError) as error:
        raise ValueError(f"what is to be launched cannot be read: {error!r}") from error
