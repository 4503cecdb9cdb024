"""No activity reaches the outside except through a named boundary, at which a test can make the worker die."""

from typing import Any

import pytest

from tests.support.effects import MODULES, effect_names, unguarded_calls

BARE = """
class A:
    def __init__(self, runtime: Runtime, now: Callable[[], int]) -> None:
        self._runtime = runtime
        self._now = now

    @activity.defn
    def launch(self, work):
        self._now()
        {call}
"""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_every_outside_call_of_an_activity_stands_in_an_effect(path: Any) -> None:
    assert unguarded_calls(path.read_text()) == []


def test_the_walk_finds_a_bare_call_and_accepts_a_guarded_one() -> None:
    assert unguarded_calls(BARE.format(call="self._runtime.launch(work)")) == ["10: self._runtime.launch"]
    guarded = 'with port_errors(), effect("launch"):\n            self._runtime.launch(work)'
    assert unguarded_calls(BARE.format(call=guarded)) == []


def test_the_effects_of_a_jobs_life_are_all_there() -> None:
    assert {"launch", "stop", "control", "poll", "collect", "prune", "record"} <= set(effect_names())
