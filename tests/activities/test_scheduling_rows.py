"""Rows of gangs taken together come to what they come to one by one."""

from functools import reduce
from operator import xor

import pytest

from activities.scheduling_rows import print_of, print_of_all
from store.pool_reads import Gang


def row(job: str, version: int, state: str = "waiting") -> Gang:
    nothing = dict.fromkeys(Gang._fields)
    return Gang(**nothing | {"job": job, "version": version, "attempt": 1, "state": state})  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_the_print_of_all_is_the_prints_of_each_put_together_in_any_order(count: int) -> None:
    rows = [row(f"job-{number}", number) for number in range(count)]
    assert print_of_all(rows) == reduce(xor, map(print_of, rows), 0) == print_of_all(reversed(rows))


def test_every_state_of_a_gang_has_a_print_of_its_own() -> None:
    states = [row("job", 1), row("job", 2), row("job", 1, "placed"), row("other", 1)]
    assert len(set(map(print_of, states))) == len(states)
