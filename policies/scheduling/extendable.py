"""An array to which rows are added again and again, and that is not copied each time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

FIRST = 16  # rows that there is space for at first


class Extendable:
    """Rows of one shape. `rows` has those that were added, without space for more, and is good until the next `add`."""

    def __init__(self, shape: tuple[int, ...], kind: DTypeLike = np.int64) -> None:
        self._all: NDArray[Any] = np.zeros((FIRST, *shape), kind)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    @property
    def rows(self) -> NDArray[Any]:
        return self._all[: self._used]

    def add(self, rows: Sequence[Any] | NDArray[Any]) -> None:
        used = self._used + len(rows)
        if used > len(self._all):
            more = max(used, 2 * len(self._all)) - len(self._all)
            self._all = np.concatenate((self._all, np.zeros((more, *self._all.shape[1:]), self._all.dtype)))
        if len(rows):
            self._all[self._used : used] = rows
        self._used = used
