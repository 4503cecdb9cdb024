"""What the init step has written down for this pod, and what of it the ranks are started with."""

from __future__ import annotations

import json
import os

from .beside import cgroups, spec
from .places import Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OURS = ("PERDURE_NODE", "PERDURE_POD")  # told to us by the pod; a rank is told its node under the same name
DEFAULTS = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "USER": "perdure",  # programs ask for a name, and the image may know none for this user's number
    "LANG": "C.UTF-8",
    "TMPDIR": "/tmp",
    "PYTHONUNBUFFERED": "1",  # so that lines reach the log when they are written, and those before a SIGKILL too
}


class Pod:
    """One pod of a gang. Times are seconds."""

    def __init__(self, places: Places, raw: dict[str, Any]) -> None:
        """Raises KeyError when something is missing."""
        self.places = places
        self.token: str = raw["token"]
        self.number: int = raw["number"]
        self.index: int = raw["index"]
        self.hosts: list[str] = raw["hosts"]
        self.gang_port: int = raw["gang_port"]
        self.gate_within: float = raw["gate_within"]
        self.names_within: float = raw["names_within"]
        self.save_within: float | None = raw["save_within"]
        self.grace: float = raw["grace"]
        self.shared: bool = raw["shared"]  # the run folder is one for all pods
        self.service: bool = raw["service"]
        self.message_file: str = raw["message_file"]
        around = cgroups.own()
        self.specs = [
            spec.Spec(places.attempt, {**rank, "env": environment(places, rank["env"]), "memory_groups": around})
            for rank in raw["ranks"]
        ]

    @property
    def alone(self) -> bool:
        """Whether this pod is the whole gang."""
        return len(self.hosts) == 1

    @property
    def leads(self) -> bool:
        return self.index == 0

    def first_rank(self, index: int) -> int:
        """The first rank of a pod: all have equally many."""
        return index * len(self.specs)

    def names_to_know(self) -> list[str]:
        """Those that ranks here may look for at once. The first pod asks for all: else N pods asked N² times."""
        if self.alone:
            return []
        return [self.hosts[self.index], *(self.hosts if self.leads else self.hosts[:1])]

    @property
    def followers(self) -> list[int]:
        return list(range(1, len(self.hosts)))


def load(root: str) -> Pod:
    """Read the specifications, which hold values of secrets, and leave them to nobody else."""
    places = Places(root)
    with open(places.specs, "rb") as file:
        raw = json.loads(file.read())
    os.unlink(places.specs)
    return Pod(places, raw)


def environment(places: Places, told: dict[str, str]) -> dict[str, str]:
    """A rank's variables: the container's (image, devices, network), under what it is told by name."""
    container = {name: value for name, value in os.environ.items() if name not in OURS}
    home = container.get("HOME", "")
    if not os.access(home, os.W_OK):
        container["HOME"] = places.home
    return {**DEFAULTS, **container, **told}
