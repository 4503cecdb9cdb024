"""Places between the database and the arrays: as they are stored, and as pods of a request."""

from collections.abc import Iterable, Mapping

from definitions.places import PlacedPod
from policies.scheduling.model import Node, Pod, Request, Role
from store.base import Document
from store.pool_reads import Gang


def pods_of(request: Request, places: Iterable[Document]) -> tuple[Pod, ...]:
    """Places in order of rank, as pods of the roles in their order. A gang of one role has as many of it as there are
    places, whatever it asked for."""
    roles = _roles(request.roles)
    return tuple(
        Pod(0 if roles is None else roles[rank], place["node"], tuple(place.get("devices", ())))
        for rank, place in enumerate(places)
        if roles is None or rank < len(roles)
    )


def held_pods(request: Request, row: Gang) -> tuple[Pod, ...]:
    """What a gang holds: its places, and those of the size that it makes way for. One of both is part of the other."""
    places = max(row.pods or [], row.next_pods or [], key=len)
    return pods_of(request, places)


def place_of(described: Mapping[str, Node], pod: Pod) -> PlacedPod:
    return PlacedPod(node=pod.node, devices=pod.devices, simulated=described[pod.node].simulated)


def _roles(roles: tuple[Role, ...]) -> list[int] | None:
    return None if len(roles) == 1 else [number for number, role in enumerate(roles) for _ in range(role.count)]
