"""What the event loop asks of whoever decides: the scheduler itself, or a baseline it is compared with."""

from typing import Protocol

from policies.scheduling.model import Decision, Node, Request


class Planner(Protocol):
    """Keeps its own picture of the cluster, which the calls below keep true. Times are whole seconds.

    Everything that happened at a moment is told before `plan` is asked for that moment, and what it answers is carried
    out as a whole: `apply` follows each `plan`.
    """

    def submit(self, request: Request) -> None:
        """A gang waits from now on: a new one, or one that was displaced and comes back with what is left of it."""

    def ended(self, identity: str, now: int) -> None:
        """A running gang has ended, and its pods are gone."""

    def left(self, identity: str, now: int) -> None:
        """A gang that was told to go, or lost a node, has gone. `submit` brings it back."""

    def node(self, node: Node) -> None:
        """A node has joined or changed; also how one that was lost comes back, empty."""

    def lost(self, name: str) -> None:
        """A node is gone. Each gang that had pods there is told to have left next."""

    def plan(self, now: int) -> Decision:
        """What should happen now. Changes nothing."""

    def apply(self, decision: Decision, now: int) -> None:
        """The decision is being carried out."""

    def wakes(self) -> int | None:
        """When it has to be asked again though nothing happens; None: never. Asked after each `apply`."""
