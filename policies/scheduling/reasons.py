"""Why gangs wait, kept as one reason for many gangs: a refusal of one is made when somebody looks at it."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.model import Cause, Refusal
from policies.scheduling.waiting import Waiting


class Reasons:
    """What one round says of gangs that wait, by their numbers. What is said last of a gang counts."""

    def __init__(self, waiting: Waiting) -> None:
        self._waiting = waiting
        self._said: list[Refusal] = []
        self._of = np.full(len(waiting.requests), -1, np.int64)

    def say(self, numbers: int | NDArray[np.int64], refusal: Refusal) -> None:
        """Of one gang or of several; whose name the refusal has does not matter."""
        self._of[numbers] = len(self._said)
        self._said.append(refusal)

    def __getitem__(self, number: int) -> Refusal:
        """Errors: KeyError for a gang of which nothing was said."""
        said = int(self._of[number])
        if said < 0:
            raise KeyError(number)
        return replace(self._said[said], request=self._waiting.ids[number])

    def __contains__(self, number: int) -> bool:
        return bool(self._of[number] >= 0)

    def known(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Of which of them something was said."""
        found: NDArray[np.bool_] = self._of[numbers] >= 0
        return found

    def among(self, numbers: NDArray[np.int64], causes: Collection[Cause]) -> NDArray[np.bool_]:
        """Which of them wait for one of these causes. Something was said of all."""
        wanted = np.array([said.cause in causes for said in self._said], np.bool_)
        found: NDArray[np.bool_] = wanted[self._of[numbers]] if len(numbers) else np.zeros(0, np.bool_)
        return found

    def refused(self, numbers: NDArray[np.int64]) -> "Refused":
        """What was said of these, in this order."""
        return Refused(self._waiting.ids[numbers].tolist(), self._of[numbers].tolist(), tuple(self._said))


class Refused(Collection[Refusal]):
    """Refusals in an order. `of`: which of `said` holds for each of `gangs`."""

    def __init__(self, gangs: Sequence[str], of: Sequence[int], said: Sequence[Refusal]) -> None:
        self._gangs, self._of, self._said = gangs, of, said
        self._index: dict[str, int] = {}

    @staticmethod
    def made_of(refusals: Collection[Refusal]) -> "Refused":
        """The same refusals, which may be such already."""
        if isinstance(refusals, Refused):
            return refusals
        said = tuple(refusals)
        return Refused([each.request for each in said], range(len(said)), said)

    def __len__(self) -> int:
        return len(self._gangs)

    def __iter__(self) -> Iterator[Refusal]:
        return (replace(self._said[of], request=gang) for gang, of in zip(self._gangs, self._of, strict=True))

    def __contains__(self, refusal: object) -> bool:
        return isinstance(refusal, Refusal) and self.get(refusal.request) == refusal

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Collection) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def get(self, gang: str) -> Refusal | None:
        """None: it is not refused."""
        if not self._index:
            self._index = dict(zip(self._gangs, range(len(self._gangs)), strict=True))
        at = self._index.get(gang)
        return None if at is None else replace(self._said[self._of[at]], request=gang)

    def causes(self) -> dict[Cause, int]:
        """How many gangs wait for each cause."""
        found: Counter[Cause] = Counter()
        for of, count in Counter(self._of).items():
            found[self._said[of].cause] += count
        return dict(found)

    def instead(self, refusals: Iterable[Refusal]) -> "Refused":
        """With others for some of the gangs."""
        others = {each.request: each for each in refusals}
        return Refused.made_of([others.get(each.request, each) for each in self]) if others else self
