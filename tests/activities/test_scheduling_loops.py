"""Whether the scheduler's loops are compiled in a process that has not loaded them yet."""

import os
import sys

import pytest

from activities.scheduling import PLAIN_LOOPS, choose_loops


@pytest.fixture(autouse=True)
def nothing_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setenv(PLAIN_LOOPS, "0")  # so that it is put back afterwards
    del os.environ[PLAIN_LOOPS]


@pytest.mark.parametrize(("nodes", "compile_from", "chosen"), [(49, 50, "1"), (50, 50, None), (0, 0, None)])
def test_they_run_uncompiled_for_few_nodes(nodes: int, compile_from: int, chosen: str | None) -> None:
    choose_loops(nodes, compile_from)
    assert os.environ.get(PLAIN_LOOPS) == chosen


def test_what_the_environment_says_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PLAIN_LOOPS, "0")
    choose_loops(1, 50)
    assert os.environ[PLAIN_LOOPS] == "0"


def test_once_they_are_loaded_nothing_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", sys)
    choose_loops(1, 50)
    assert PLAIN_LOOPS not in os.environ
