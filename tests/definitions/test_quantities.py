"""Durations, sizes and processor shares: one grammar each, and mistakes answered with what to write."""

from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from definitions.quantities import (
    QuantityError,
    format_cpus,
    format_duration,
    format_size,
    parse_cpus,
    parse_duration,
    parse_size,
)
from tests.definitions.strategies import durations, sizes


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("30s", timedelta(seconds=30)),
        ("90m", timedelta(minutes=90)),
        ("24h", timedelta(hours=24)),
        ("7d", timedelta(days=7)),
        ("1d12h", timedelta(hours=36)),
        ("1h30m", timedelta(minutes=90)),
        ("250ms", timedelta(milliseconds=250)),
        ("0s", timedelta(0)),
        ("3650d", timedelta(days=3650)),
    ],
)
def test_a_duration_is_numbers_with_units(text: str, meant: timedelta) -> None:
    assert parse_duration(text) == meant


@pytest.mark.parametrize(
    ("value", "says", "write"),
    [
        (90, "no unit", "90s, 90m or 90h"),
        ("90", "no unit", "90s, 90m or 90h"),
        ("3:00", "3 minutes or 3 hours", "3m or 3h"),
        ("1:30", "1 minute 30 seconds or 1 hour 30 minutes", "1m30s or 1h30m"),
        ("00:10", "10 seconds or 10 minutes", "10s or 10m"),
        ("12:00:00", "clock time", "12h"),
        ("7-00:00:00", "clock time", "7d"),
        ("1.5h", "not how durations are spelled", "1h30m"),
        ("5 min", "not how durations are spelled", "5m"),
        ("2 Hours", "not how durations are spelled", "2h"),
        ("30s1h", "not how durations are spelled", "1h30s"),
        ("1h 30m", "not how durations are spelled", "1h30m"),
        ("PT1H30M", "ISO 8601", "1h30m"),
        (" 5m", "spaces", "5m"),
        ("2w", "'w'", "d, h, m, s or ms"),
        ("-5m", "not a duration", "30s"),
        ("", "not a duration", "30s"),
        ("\u0661\u0662h", "not a duration", "30s"),
        (True, "not a duration", "30s"),
        (None, "not a duration", "30s"),
        (["5m"], "not a duration", "30s"),
        ("3651d", "longer than ten years", "3650d"),
        ("9" * 40 + "s", "too many digits", "larger unit"),
        (timedelta(seconds=-1), "negative", "30s"),
        (timedelta(microseconds=1), "finer than a millisecond", "round"),
    ],
)
def test_what_is_no_duration_is_answered_with_the_form_to_write(value: object, says: str, write: str) -> None:
    with pytest.raises(QuantityError) as refused:
        parse_duration(value)
    assert says in refused.value.what
    assert write in refused.value.fix


@given(durations)
def test_a_duration_survives_being_written(value: timedelta) -> None:
    assert parse_duration(format_duration(value)) == value


@pytest.mark.parametrize(
    ("value", "meant"),
    [(0, 0), (1024, 1024), ("1024", 1024), ("500M", 500 * 10**6), ("10Gi", 10 * 2**30), ("32K", 32000), ("1k", 1000)],
)
def test_a_size_is_bytes_or_a_number_with_one_unit(value: object, meant: int) -> None:
    assert parse_size(value) == meant


@pytest.mark.parametrize(
    ("value", "says", "write"),
    [
        ("10GB", "not how sizes are spelled", "10G or 10Gi"),
        ("10gib", "not how sizes are spelled", "10G or 10Gi"),
        ("10 Gi", "not how sizes are spelled", "10G or 10Gi"),
        ("1.5Gi", "fraction", "1536Mi"),
        ("100m", "thousandths", "100M (decimal) or 100Mi (binary)"),
        ("0.3Gi", "not a size", "500M"),
        (1.5, "not a size", "500M"),
        (-1, "not a size", "500M"),
        (True, "not a size", "500M"),
        ("lots", "not a size", "500M"),
        ("9000Pi", "larger than any store", "8192Pi"),
    ],
)
def test_what_is_no_size_is_answered_with_the_form_to_write(value: object, says: str, write: str) -> None:
    with pytest.raises(QuantityError) as refused:
        parse_size(value)
    assert says in refused.value.what
    assert write in refused.value.fix


@given(sizes)
def test_a_size_survives_being_written(value: int) -> None:
    assert parse_size(format_size(value)) == value


@pytest.mark.parametrize(("value", "meant"), [(2, 2000), (0.5, 500), ("500m", 500), ("0.25", 250), ("1m", 1)])
def test_processors_are_whole_or_thousandths(value: object, meant: int) -> None:
    assert parse_cpus(value) == meant


@pytest.mark.parametrize("value", ["half", "1.2345", -1, True, None, "2000000", "1e3"])
def test_what_is_no_share_of_processors_is_refused(value: object) -> None:
    with pytest.raises(QuantityError, match="processors"):
        parse_cpus(value)


@given(st.integers(1, 10**8))
def test_processors_survive_being_written(value: int) -> None:
    assert parse_cpus(format_cpus(value)) == value


@given(st.text() | st.integers() | st.floats() | st.none() | st.booleans())
def test_no_value_breaks_the_parsers(value: object) -> None:
    for parse, kind in ((parse_duration, timedelta), (parse_size, int), (parse_cpus, int)):
        with suppress(QuantityError):
            assert isinstance(parse(value), kind)
