"""What the first pod makes of what all pods say: pure functions of states and times.

A pod's state: `held` (all its ranks stand at the gate), `gate` (its own decision), `failed` (who ended the gang),
`save` (a request to save before an end: id, until), `saved` (the id that its ranks have answered), `ended`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from .wire import Heard

    State = dict[str, Any]

LOST_AFTER = 3.2  # seconds of silence: longer than a network stall of two, with time for a new connection
CLOSED_AFTER = 1.5  # seconds without a connection, once the other end closed it
LOST_GRACE = 0.8  # seconds: what is left to the others of a pod that was lost so late, of the five in which a gang ends


def is_lost(heard: Heard, now: float, awake: float) -> bool:
    """Whether a pod that was there is gone. `awake`: since when we ourselves have been able to hear."""
    if not heard.at or (heard.state or {}).get("ended"):
        return False
    if heard.closed_at is not None and now - max(heard.closed_at, awake) > CLOSED_AFTER:
        return True
    return now - max(heard.at, awake) > LOST_AFTER


def is_present(heard: Heard, now: float) -> bool:
    return bool(heard.at) and heard.closed_at is None and now - heard.at <= LOST_AFTER


def why_lost(index: int, heard: Heard, now: float) -> str:
    return f"pod {index} has not been heard of for {now - heard.at:.1f} s"


def gate(own: State, pods: Mapping[int, Heard], now: float, *, late: bool) -> tuple[bool, str] | None:
    """Whether the gate opens for all (True) or for none (False, and why); None while that is not known."""
    for index, heard in pods.items():
        decided = (heard.state or {}).get("gate")
        if decided is not None and decided["gate"] == "closed":
            return False, decided["why"] or f"pod {index} gave up"
    away = [index for index, heard in pods.items() if not is_present(heard, now)]
    unready = [index for index, heard in pods.items() if not (heard.state or {}).get("held")]
    if own["held"] and not away and not unready:
        return True, ""
    if not late:
        return None
    if away:
        return False, f"pod {away[0]} was not there in time"
    return False, f"pod {unready[0] if own['held'] else 0} was there, but not all its ranks stood ready in time"


def first_failure(pods: Mapping[int, Heard]) -> State | None:
    """What a pod says has ended the gang."""
    return next((heard.state["failed"] for heard in pods.values() if heard.state and heard.state["failed"]), None)


def wanted_save(own: State, states: Iterable[State]) -> State | None:
    """The request to save that holds for all: every pod may want one, the first to end counts."""
    wanted = [state["save"] for state in (own, *states) if state.get("save")]
    return min(wanted, key=lambda save: float(save["until"]), default=None)


def all_saved(own: State, pods: Mapping[int, Heard], save: State | None, gone: Iterable[int]) -> str | None:
    """The id of the request that every rank of every pod has answered, or whose rank will answer nothing any more."""
    if save is None or own["saved"] != save["id"]:
        return None
    left = [heard.state or {} for index, heard in pods.items() if index not in set(gone)]
    done = all(state.get("ended") or state.get("saved") == save["id"] for state in left)
    return str(save["id"]) if done else None
