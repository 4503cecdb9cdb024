"""What nodes have, what of it is taken, and what is wanted of it."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as some

from policies.capacity import Held, Site, TypeUse, Wanted, sites_in_use, spread, types_in_use

MODELS = ("A100", "H100", "")
SITES = some.lists(
    some.builds(
        Site,
        pool=some.sampled_from(("east", "west")),
        name=some.uuids().map(str),
        gpus=some.integers(0, 8),
        model=some.sampled_from(MODELS),
        ready=some.booleans(),
        schedulable=some.booleans(),
    ),
    max_size=6,
)
WANTED = some.lists(
    some.builds(
        Wanted,
        pool=some.sampled_from(("east", "west")),
        models=some.sampled_from(((), ("H100",), ("A100", "H100"), ("B200",))),
        parts=some.integers(0, 20_000),
        gangs=some.integers(1, 5),
    ),
    max_size=8,
)


@some.composite
def held_on(draw: some.DrawFn, sites: Sequence[Site]) -> list[Held]:
    """Pods that a node really has room for: each device is shared up to the whole of it."""
    found = []
    for site in sites:
        for number in range(site.gpus):
            for share in draw(some.sampled_from(((), (1000,), (300,), (250, 500)))):
                found.append(Held(site.pool, site.name, cpu=10, memory=7, devices=(number,), share=share))
    return found


@given(some.data())
def test_every_part_of_every_gpu_is_taken_or_free_or_closed_or_a_rest(data: some.DataObject) -> None:
    sites = data.draw(SITES)
    held = data.draw(held_on(sites))
    rows = types_in_use(sites_in_use(sites, held), data.draw(WANTED))
    for row in rows:
        assert row.total * 1000 == row.used + (row.free + row.closed) * 1000 + row.scraps, row
    alone = [row for row in rows if len(row.models) == 1]
    assert sum(row.total for row in alone) == sum(site.gpus for site in sites)
    assert sum(row.used for row in alone) == sum(each.share for each in held)


@given(SITES, WANTED)
def test_what_is_wanted_is_told_where_nothing_else_would_do(sites: list[Site], wanted: list[Wanted]) -> None:
    rows = types_in_use(sites_in_use(sites, []), wanted)
    assert len({(row.pool, row.models) for row in rows}) == len(rows)
    for row in rows:
        assert row.shortfall == max(0, row.demand - row.free * 1000)
        wider = [each for each in rows if each.pool == row.pool and set(each.models) > set(row.models)]
        assert all(each.demand >= row.demand and each.gangs >= row.gangs for each in wider)
    for each in wanted:
        if each.parts:
            assert any(row.pool == each.pool and row.demand >= each.parts for row in rows), each


@given(SITES)
def test_an_empty_pool_has_everything_free_that_is_not_closed(sites: list[Site]) -> None:
    for use in sites_in_use(sites, []):
        assert (use.used, use.whole) == (0, use.site.gpus)
        assert use.free == (use.site.gpus if use.site.ready and use.site.schedulable else 0)


def test_pods_are_counted_on_their_own_node_only_and_elsewhere_not_at_all() -> None:
    sites = [Site("east", "a", gpus=8), Site("west", "a", gpus=8)]
    held = [
        Held("east", "a", cpu=2000, memory=5, devices=(0, 3)),
        Held("east", "a", cpu=500, devices=(3,), share=250),
        Held("west", "a", loose=1500),
        Held("west", "gone", devices=(0,)),
    ]
    east, west = sites_in_use(sites, held)
    assert (east.cpu, east.memory, east.devices, east.used, east.free) == (2500, 5, {0: 1000, 3: 1250}, 2250, 6)
    assert (west.used, west.free) == (1500, 6)


def test_a_node_that_shrank_has_nothing_free_and_keeps_what_is_taken() -> None:
    (use,) = sites_in_use([Site("east", "a", gpus=2)], [Held("east", "a", devices=(0, 1, 2, 3))])
    assert (use.used, use.free) == (4000, 0)


@pytest.mark.parametrize(
    ("frees", "largest", "scraps", "words"),
    [
        ((), 8, 0, "none free"),
        ((), 8, 500, "none free whole, and 0.5 in parts of shared ones"),
        ((8,), 8, 0, "8 free, on one node"),
        ((1,) * 8, 8, 0, "8 free but on 8 nodes, 1 on each"),
        ((4, 2, 2), 8, 0, "8 free but on 3 nodes, at most 4 on one"),
        ((8, 8), 8, 0, "16 free, on 2 nodes, 8 on each"),
        ((8, 1), 8, 750, "9 free, on 2 nodes, at most 8 on one, and 0.75 in parts of shared ones"),
        ((1, 1), 1, 0, "2 free, on 2 nodes, 1 on each"),
    ],
)
def test_words_say_whether_free_gpus_are_of_use(frees: tuple[int, ...], largest: int, scraps: int, words: str) -> None:
    assert spread(TypeUse("east", ("H100",), 64, 0, 0, scraps, frees, largest, 0, 0)) == words
