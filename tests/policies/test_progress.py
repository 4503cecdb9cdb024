"""From progress lines to step, rate, arrival and series; nothing a job writes can break it."""

import json
import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from definitions.progress import MetricQuery, ProgressPoint
from policies.progress import metric_names, parse_points, series, summarise, wanted_series

START = datetime(2026, 1, 1, tzinfo=UTC)


def point(
    step: int, seconds: float = 0, *, attempt: int = 1, rank: int = 0, total: int | None = None, **metrics: float
) -> ProgressPoint:
    at = START + timedelta(seconds=seconds)
    return ProgressPoint(step=step, at=at, attempt=attempt, rank=rank, total=total, metrics=metrics)


def line(**fields: object) -> bytes:
    body = {"step": 1, "time": "2026-01-01T00:00:00Z", "attempt": 1, "rank": 0, "metrics": {}}
    return json.dumps(body | fields).encode() + b"\n"


@pytest.mark.parametrize(
    "damaged",
    [
        b'{"step": 2, "time": "2026-01-0',
        b"\n\n",
        b"hello\n",
        b"[1, 2]\n",
        b"17\n",
        b"\xff\xfe\n",
        b"[" * 50_000 + b"\n",
        b'{"step": ' + b"9" * 5000 + b"}\n",
        b" " * 70_000 + line(),
        line(step=-1),
        line(step=1.5),
        line(step=True),
        line(step="2"),
        line(step=2**60),
        line(time="yesterday"),
        line(time="2026-01-01T00:00:00"),
        line(time="0001-01-01T00:00:00+14:00"),
        line(time=None),
    ],
)
def test_a_damaged_line_costs_only_itself(damaged: bytes) -> None:
    assert [p.step for p in parse_points(line(step=1) + damaged)] == [1]
    ended = damaged if damaged.endswith(b"\n") else damaged + b"\n"
    assert [p.step for p in parse_points(line(step=1) + ended + line(step=3))] == [1, 3]


def test_what_is_not_a_finite_number_is_left_out_of_a_line_that_counts() -> None:
    content = line(
        metrics={"a": 1, "b": math.nan, "c": math.inf, "d": "0.5", "e": None, "f": True, "g": 10**400, "h": 0.5}
    )
    assert parse_points(content)[0].metrics == {"a": 1.0, "h": 0.5}
    assert parse_points(line(metrics=[1], attempt="x", rank=-1, total=0.5)) == [point(1, attempt=0)]
    assert parse_points(line(time="2026-01-01T02:00:00+02:00", total=9)) == [point(1, total=9)]


@given(st.binary(max_size=200))
def test_no_bytes_at_all_break_it(content: bytes) -> None:
    assert summarise(parse_points(content)) is None or b"step" in content


def test_rate_and_arrival_follow_from_the_newest_attempt() -> None:
    points = [point(0, 0), point(90, 10), point(50, 100, attempt=2, total=100), point(60, 105, attempt=2, loss=0.5)]
    now = summarise(points)
    assert now is not None
    assert (now.step, now.total, now.rate, now.metrics) == (60, 100, 2.0, {"loss": 0.5})
    assert (now.at, now.eta) == (START + timedelta(seconds=105), START + timedelta(seconds=125))


@pytest.mark.parametrize(
    ("points", "rate", "eta"),
    [
        ([point(5)], None, None),
        ([point(0, 0), point(10, 10)], 1.0, None),  # no total
        ([point(0, 0, total=10), point(10, 10)], 1.0, 10),
        ([point(0, 0, total=5), point(10, 10)], 1.0, None),  # beyond what it said
        ([point(0, 0, total=20), point(10, 0)], None, None),  # no time has passed
        ([point(0, 60, total=20), point(10, 0)], None, None),  # its clock was set back
        ([point(10, 0, total=20), point(10, 60)], None, None),  # no step was made
        ([point(0, 0, total=1000), point(100, 1000), point(200, 1100)], 1.0, 1900),  # the start is out of the window
        ([point(0, 0, total=2**50), point(1, 250)], 0.004, None),  # in millions of years
    ],
)
def test_rate_and_arrival_are_told_only_where_they_are_known(
    points: list[ProgressPoint], rate: float | None, eta: float | None
) -> None:
    now = summarise(points)
    assert now is not None
    assert (now.rate, now.eta) == (rate, None if eta is None else START + timedelta(seconds=eta))


def test_one_rank_speaks_for_its_attempt_and_metrics_come_from_all() -> None:
    points = [point(1, 1, rank=1, mem=1.0), point(2, 2, rank=0, loss=0.5), point(9, 3, rank=1, mem=2.0)]
    now = summarise(points)
    assert now is not None
    assert (now.step, now.metrics) == (2, {"mem": 2.0, "loss": 0.5})


def test_an_arrival_after_the_end_of_the_calendar_is_not_known() -> None:
    late = datetime(9999, 12, 31, 23, 59, 50, tzinfo=UTC)
    points = [ProgressPoint(step=0, at=late, total=100), ProgressPoint(step=1, at=late + timedelta(seconds=1))]
    now = summarise(points)
    assert now is not None
    assert now.eta is None


def test_a_later_attempt_takes_over_from_its_first_step() -> None:
    points = [
        *(point(step, step, loss=1.0) for step in (5, 10, 15, 20)),
        *(point(step, step, attempt=2, loss=2.0) for step in (11, 21)),
    ]
    assert [(p.step, p.value) for p in series(points, "loss", 100)] == [(5, 1.0), (10, 1.0), (11, 2.0), (21, 2.0)]


def test_a_series_is_of_the_lowest_rank_that_reports_the_metric_and_has_each_step_once() -> None:
    points = [point(1, loss=1.0), point(1, rank=1, loss=9.0), point(1, rank=1, mem=5.0), point(1, 1, loss=1.5)]
    assert [(p.step, p.value) for p in series(points, "loss", 10)] == [(1, 1.5)]
    assert [(p.step, p.value) for p in series(points, "mem", 10)] == [(1, 5.0)]
    assert series(points, "absent", 10) == ()
    assert metric_names(points) == ("loss", "mem")


def test_a_spike_survives_thinning_out() -> None:
    points = [point(step, step, loss=100.0 if step == 777 else 1.0) for step in range(1000)]
    thin = series(points, "loss", 20)
    assert len(thin) == 20
    assert (thin[0].step, thin[-1].step) == (0, 999)
    assert (777, 100.0) in [(p.step, p.value) for p in thin]


@given(st.lists(st.floats(-1e300, 1e300), max_size=60), st.integers(0, 70))
def test_a_thinned_series_is_real_points_in_order_with_both_ends(values: list[float], most: int) -> None:
    points = [point(step, step, loss=value) for step, value in enumerate(values)]
    thin = series(points, "loss", most)
    assert len(thin) == min(len(values), max(most, 2))
    steps = [p.step for p in thin]
    assert steps == sorted(set(steps))
    assert all(p.value == values[p.step] for p in thin)
    assert not values or (steps[0], steps[-1]) == (0, len(values) - 1)


@pytest.mark.parametrize(
    ("query", "room", "names", "more"),
    [
        ({}, None, "abcd", False),
        ({"limit": 3}, None, "abc", True),
        ({"after": "b"}, None, "cd", False),
        ({"names": ("d", "a", "z")}, None, "ad", False),
        ({}, 650, "abc", True),
        ({}, 1, "a", True),
    ],
)
def test_of_the_wanted_series_those_are_given_that_fit(
    query: dict[str, object], room: int | None, names: str, more: bool
) -> None:
    points = [point(step, b=1, a=2, d=3, c=4) for step in range(2)]
    wanted = MetricQuery.model_validate({"limit": 10, "points": 500, **query})
    found = wanted_series(points, wanted, room)
    assert ("".join(line.name for line in found.series), found.more) == (names, more)
    assert all(len(line.points) == 2 for line in found.series)


def test_names_that_nothing_can_send_on_are_left_out() -> None:
    (found,) = parse_points(line(metrics={"\ud800": 1, "a\0b": 2, "": 3, "loss": 4}))
    assert found.metrics == {"loss": 4}
