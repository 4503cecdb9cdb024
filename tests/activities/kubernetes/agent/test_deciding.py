"""What the first pod makes of what the others say, without a network."""

from typing import Any

import pytest

from activities.adapters.kubernetes.agent import deciding
from activities.adapters.kubernetes.agent.wire import Heard

NOW = 1000.0


def heard(age: float | None = 0.1, closed: float | None = None, **state: Any) -> Heard:
    """A pod of which the last line came `age` seconds ago, and whose connection is closed for `closed` seconds."""
    made = Heard()
    made.at = 0.0 if age is None else NOW - age
    made.closed_at = None if closed is None else NOW - closed
    made.state = {"held": True, "gate": None, "failed": None, "save": None, "saved": None, "ended": False, **state}
    return made


@pytest.mark.parametrize(
    ("pod", "awake", "lost"),
    [
        (heard(3.0), 0.0, False),
        (heard(3.3), 0.0, True),
        (heard(3.3), NOW - 1.0, False),
        (heard(1.0, closed=1.0), 0.0, False),
        (heard(2.0, closed=1.6), 0.0, True),
        (heard(None), 0.0, False),
        (heard(60.0, ended=True), 0.0, False),
    ],
    ids=["quiet", "silent", "we slept", "closed just now", "closed", "never came", "ended"],
)
def test_a_pod_is_lost_when_it_was_there_and_is_silent_too_long(pod: Heard, awake: float, *, lost: bool) -> None:
    assert deciding.is_lost(pod, NOW, awake) == lost


@pytest.mark.parametrize(
    ("held", "pods", "late", "verdict"),
    [
        (True, [heard(), heard()], False, (True, "")),
        (False, [heard(), heard()], False, None),
        (True, [heard(), heard(held=False)], False, None),
        (True, [heard(), heard(None)], False, None),
        (True, [heard(), heard(closed=0.1)], False, None),
        (True, [heard(), heard(None)], True, (False, "pod 2 was not there in time")),
        (
            True,
            [heard(held=False), heard()],
            True,
            (False, "pod 1 was there, but not all its ranks stood ready in time"),
        ),
        (False, [heard(), heard()], True, (False, "pod 0 was there, but not all its ranks stood ready in time")),
        (True, [heard(gate={"gate": "closed", "why": "no"}), heard()], False, (False, "no")),
    ],
)
def test_the_gate_opens_when_all_are_there_and_closes_when_one_gives_up_or_time_is_over(
    held: bool, pods: list[Heard], late: bool, verdict: tuple[bool, str] | None
) -> None:
    assert deciding.gate({"held": held}, dict(enumerate(pods, 1)), NOW, late=late) == verdict


def test_of_several_requests_to_save_the_first_to_end_counts() -> None:
    own, other = {"save": {"id": "s", "until": 20.0}}, {"save": {"id": "s", "until": 10.0}}
    assert deciding.wanted_save(own, [other, {}]) == other["save"]
    assert deciding.wanted_save({"save": None}, [{}]) is None


@pytest.mark.parametrize(
    ("own", "pods", "gone", "expected"),
    [
        ("s", [heard(saved="s"), heard(ended=True)], [], "s"),
        ("s", [heard(saved="s"), heard()], [], None),
        ("s", [heard(saved="s"), heard()], [2], "s"),
        (None, [heard(saved="s"), heard(saved="s")], [], None),
    ],
    ids=["all", "not yet", "one is gone", "not the first pod's"],
)
def test_all_have_saved_when_nobody_is_left_who_has_not(
    own: str | None, pods: list[Heard], gone: list[int], expected: str | None
) -> None:
    save = {"id": "s", "until": NOW}
    assert deciding.all_saved({"saved": own}, dict(enumerate(pods, 1)), save, gone) == expected
