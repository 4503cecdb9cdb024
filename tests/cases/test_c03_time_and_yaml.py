"""Times that do not mean what people think, in our own YAML: three minutes or three hours, 43200 or noon.

The same trap has two doors: notations of time that tools read differently (`3:00`, `720`, `00:10`), and YAML readers
that turn `12:00:00` into 43200 and `1:30` into 90. Here a duration has a unit, and text that may be misread has quotes.
"""

from datetime import timedelta

import pytest
import yaml
from hypothesis import given

from definitions.documents import parse_job
from definitions.quantities import format_duration, parse_duration
from definitions.spec_errors import SpecError
from tests.definitions.strategies import durations

JOB = "apiVersion: perdure/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  shell: sleep 1\n  timeout: %s\n"

# What batch systems read these as, in seconds; None: an error there too.
ELSEWHERE = {
    "3:00": 180,
    "11:0:0": 39_600,
    "720": 43_200,
    "0-01:00": 3600,
    "1-12": 129_600,
    "2-15:00:00": 226_800,
    "7-00:00:00": 604_800,
    "48:0:0": 172_800,
    "00:10": 10,
    "0": 0,
    "-1": None,
    "1:2:3:4": None,
    "1-": None,
    "\uff11:00": None,
}


@pytest.mark.parametrize("written", ELSEWHERE)
@pytest.mark.parametrize("quote", ["", '"'])
def test_no_notation_of_batch_systems_is_taken_for_a_duration(written: str, quote: str) -> None:
    with pytest.raises(SpecError) as refused:
        parse_job(JOB % f"{quote}{written}{quote}", "job.yaml")
    (issue,) = refused.value.issues
    assert (issue.code, issue.path, issue.line, issue.column) == ("PD-1108", "spec.timeout", 6, 12)
    assert "write" in issue.fix


@pytest.mark.parametrize(
    ("written", "forms"),
    [
        ("3:00", {"3m", "3h"}),
        ("00:10", {"10s", "10m"}),
        ("1:30", {"1m30s", "1h30m"}),
        ("11:0:0", {"11h"}),
        ("2-15:00:00", {"2d15h"}),
        ("7-00:00:00", {"7d"}),
        ("48:0:0", {"2d"}),
        ("720", {"720s", "720m", "720h"}),
    ],
)
def test_the_answer_gives_each_form_that_may_have_been_meant(written: str, forms: set[str]) -> None:
    with pytest.raises(SpecError) as refused:
        parse_job(JOB % written, "job.yaml")
    fix = refused.value.issues[0].fix
    assert set(fix.removeprefix("write ").replace(",", "").replace(" or", "").split()) == forms
    meant = ELSEWHERE.get(written)
    if meant is not None and written != "720":
        assert timedelta(seconds=meant) in {parse_duration(form) for form in forms}
    for form in forms:
        assert parse_job(JOB % form, "job.yaml").spec.timeout == parse_duration(form)


def test_three_minutes_or_three_hours_is_said_in_words() -> None:
    with pytest.raises(SpecError, match="3:00 could mean 3 minutes or 3 hours"):
        parse_job(JOB % "3:00", "job.yaml")


@pytest.mark.parametrize(("written", "elsewhere"), [("12:00:00", 43_200), ("1:30", 90), ("0777", 511), ("NO", False)])
def test_what_older_readers_turn_into_something_else_has_to_be_quoted(written: str, elsewhere: object) -> None:
    text = (JOB % "1h") + f"  env: {{A: {written}}}\n"
    assert yaml.safe_load(text)["spec"]["env"]["A"] == elsewhere, "the trap is real"
    with pytest.raises(SpecError) as refused:
        parse_job(text, "job.yaml")
    (issue,) = refused.value.issues
    assert (issue.line, issue.column) == (7, 12)
    assert f'write "{written}"' in issue.fix
    assert parse_job(text.replace(written, f'"{written}"'), "job.yaml").spec.env["A"].value == written


def test_a_version_number_keeps_its_last_digit_or_is_refused() -> None:
    text = (JOB % "1h") + "  env: {PYTHON: 3.10}\n"
    assert yaml.safe_load(text)["spec"]["env"]["PYTHON"] == 3.1, "the trap is real"
    with pytest.raises(SpecError, match=r'3\.10 is the number 3\.1(?s:.)*Write "3\.10"'):
        parse_job(text, "job.yaml")


def test_no_limit_is_said_by_leaving_the_field_out_and_never_by_zero() -> None:
    assert parse_job(JOB.replace("  timeout: %s\n", ""), "job.yaml").spec.timeout is None
    with pytest.raises(SpecError, match="not above 0s"):
        parse_job(JOB % "0s", "job.yaml")


@given(durations)
def test_what_is_written_is_read_back(value: timedelta) -> None:
    assert parse_job(JOB % format_duration(value), "job.yaml").spec.timeout == value
