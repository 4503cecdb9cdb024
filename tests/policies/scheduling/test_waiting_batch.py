"""Gangs that begin to wait all at once are the same to the scheduler as gangs that came one by one."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.scheduling.model import Request
from policies.scheduling.waiting import Batch, Waiting
from tests.policies.scheduling.plan_parts import gang

SHAPES = (gang("", 1), gang("", 2), gang("", 1, gpus=4), gang("", 1, reservation="night"))
ONE = st.builds(
    lambda shape, queue, priority, submitted, limit: replace(
        SHAPES[shape], queue=queue, priority=priority, submitted=submitted, limit=limit
    ),
    st.integers(0, len(SHAPES) - 1),
    st.sampled_from("xyz"),
    st.integers(0, 5),
    st.integers(0, 9),
    st.none() | st.integers(1, 9),
)


def named(found: list[Request]) -> list[Request]:
    return [replace(each, id=f"g{number}") for number, each in enumerate(found)]


def batch(requests: list[Request]) -> Batch:
    by_id = {each.id: each for each in requests}
    samples: list[Request] = []
    like = []
    for each in requests:
        kind = (each.roles, each.reservation)
        same = [number for number, sample in enumerate(samples) if (sample.roles, sample.reservation) == kind]
        like.append(same[0] if same else len(samples))
        samples += [] if same else [each]
    return Batch(
        ids=[each.id for each in requests],
        queues=[each.queue for each in requests],
        priorities=[each.priority for each in requests],
        submitted=[each.submitted for each in requests],
        seconds=[each.seconds for each in requests],
        like=like,
        samples=samples,
        make=by_id.__getitem__,
    )


def ordered(waiting: Waiting) -> list[tuple[Request, int, int]]:
    """In order, with how each is counted and how long it runs."""
    waiting.settle()
    return [
        (waiting.request(number), int(waiting.kind[number]), int(waiting.seconds[number]))
        for number in waiting.sorted.tolist()
    ]


@given(st.lists(ONE, max_size=12), st.lists(ONE, max_size=12), st.data())
def test_who_came_together_is_as_who_came_one_by_one(
    before: list[Request], come: list[Request], data: st.DataObject
) -> None:
    requests = named([*before, *come])
    alone, together = Waiting(requests[: len(before)]), Waiting(requests[: len(before)])
    for waiting in (alone, together):
        waiting.settle()
    for request in requests[len(before) :]:
        alone.add(request)
    together.add_all(batch(requests[len(before) :]))
    assert ordered(together) == ordered(alone)
    for gone in data.draw(st.lists(st.sampled_from(requests), unique=True) if requests else st.just([])):
        alone.remove(gone.id)
        together.remove(gone.id)
    late = replace(gang("late", 3), queue="w", priority=9)
    for waiting in (alone, together):
        waiting.add(late)
    assert ordered(together) == ordered(alone)
    assert together.index.keys() == alone.index.keys()


def test_who_waits_already_comes_in_no_batch() -> None:
    first = gang("g", 1)
    waiting = Waiting([first])
    for found in ([first], [replace(first, id="h"), replace(first, id="h")]):
        with pytest.raises(ValueError, match="waits already"):
            waiting.add_all(batch(found))
    assert list(waiting.index) == ["g"]


def test_of_who_left_nothing_is_made_any_more() -> None:
    waiting = Waiting()
    waiting.add_all(batch([gang("g", 1)]))
    number = waiting.index["g"]
    waiting.remove("g")
    with pytest.raises(KeyError):
        waiting.request(number)
