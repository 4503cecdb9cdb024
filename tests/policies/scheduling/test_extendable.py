"""Rows that are added stay, in one piece of memory, and what compiled code is given is as long as they are."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from policies.scheduling.extendable import Extendable


@given(st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40), max_size=6))
def test_rows_are_all_that_were_added_in_order(parts: list[list[tuple[int, int]]]) -> None:
    made, expected = Extendable((2,)), np.zeros((0, 2), np.int64)
    for part in parts:
        made.add(part)
        expected = np.concatenate((expected, np.array(part, np.int64).reshape(-1, 2)))
        assert np.array_equal(made.rows, expected)
        assert made.rows.flags.c_contiguous
        assert made.rows.dtype == np.int64
        assert len(made) == len(expected)


def test_rows_of_no_columns_and_single_values_are_counted_too() -> None:
    none, single = Extendable((0,)), Extendable((), np.bool_)
    none.add([[], [], []])
    single.add([True, False])
    assert (none.rows.shape, single.rows.tolist()) == ((3, 0), [True, False])
