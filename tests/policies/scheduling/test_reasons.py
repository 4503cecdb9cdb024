from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.scheduling.model import Cause, QueueRules, Quota, Refusal, Stop
from policies.scheduling.order import Round, Skipped
from policies.scheduling.quotas import Quotas
from policies.scheduling.reasons import Reasons, Refused
from policies.scheduling.waiting import Waiting
from tests.policies.scheduling.queue_parts import gang, queue

RULES = [
    queue("all"),
    queue("free", "all"),
    queue("other", "all"),
    queue("limited", "all", cpu=Quota(limit=6)),
    QueueRules("inner", "limited"),
    QueueRules("strict", "all", quotas={"cpu": Quota(limit=5)}, strict=True),
    QueueRules("stopped", "all", stop=Stop.HOLD),
]
GANGS = st.lists(
    st.tuples(st.sampled_from([rule.name for rule in RULES[1:]]), st.integers(1, 5), st.integers(0, 2)), max_size=40
)


@given(gangs=GANGS, answers=st.lists(st.sampled_from(["starts", "alone", "whole", "delays"]), min_size=1, max_size=9))
def test_what_is_said_of_a_group_is_what_is_said_of_each_of_it(
    gangs: list[tuple[str, int, int]], answers: list[str]
) -> None:
    waiting = Waiting([gang(f"g{n}", to, cpu=cpu, priority=p, at=n) for n, (to, cpu, p) in enumerate(gangs)])
    order = Round(waiting, Quotas(RULES, {"cpu": 20}))
    for tries, number in enumerate(order):
        if (answer := answers[tries % len(answers)]) == "starts":
            order.started(number)
        else:
            order.failed(number, whole_shape=answer == "whole")
            if answer == "delays":
                order.pass_over(number, but=())
    left = order.left()
    said: dict[int, Skipped | None] = {}
    for numbers, skipped in order.whys(left):
        assert said.keys().isdisjoint(numbers.tolist())
        said |= dict.fromkeys(numbers.tolist(), skipped)
    assert said == {number: order.why(number) for number in left.tolist()}


def test_every_gang_has_its_own_name_in_a_reason_that_it_shares_and_the_last_one_counts() -> None:
    waiting = Waiting([gang(name, "free", cpu=1) for name in ("a", "b", "c")])
    reasons, numbers = Reasons(waiting), np.arange(3)
    room = Refusal("", Cause.CAPACITY, "cpu", 4, 1)
    reasons.say(numbers[:2], room)
    assert (reasons.known(numbers).tolist(), 1 in reasons, 2 in reasons) == ([True, True, False], True, False)
    with pytest.raises(KeyError):
        reasons[2]
    reasons.say(numbers[2:], room)
    reasons.say(1, replace(reasons[1], cause=Cause.EVICTING, behind="z"))
    assert reasons.among(numbers, (Cause.EVICTING, Cause.LIMIT)).tolist() == [False, True, False]
    refused = reasons.refused(numbers[::-1])
    freed = replace(room, request="b", cause=Cause.EVICTING, behind="z")
    assert refused == (replace(room, request="c"), freed, replace(room, request="a"))
    assert refused == Refused.made_of(tuple(refused))
    assert (len(refused), freed in refused, room in refused) == (3, True, False)
    assert (refused.get("b"), refused.get("nobody")) == (freed, None)
    assert refused.causes() == {Cause.CAPACITY: 2, Cause.EVICTING: 1}
    over = Refusal("a", Cause.OVER, at="r")
    assert refused.instead([over]) == (replace(room, request="c"), freed, over)
    assert refused.instead([]) is refused
