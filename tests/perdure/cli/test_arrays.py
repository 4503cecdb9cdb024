"""Arrays on the command line: submitted with `--array`, listed as one, and looked into."""

import json

import pytest

from definitions.states import Phase
from perdure.cli.array_words import array_of
from perdure.errors import PerdureError
from policies.array_children import child_id
from tests.perdure.cli.calling import Cli
from tests.support.array_rows import make_jobs


def submitted(cli: Cli, *more: str) -> str:
    """An array of five, three of which were made and one has failed."""
    job = json.loads(cli.ok("run", "--array", "0-8:2%3", "--name", "sweep", "--json", *more, "--", "./try.sh"))
    world = cli.live.world
    make_jobs(world.engine, job["id"], 3, world.clock.now())
    world.end(child_id(job["id"], 2), Phase.FAILED)
    identity: str = job["id"]
    return identity


@pytest.mark.parametrize(
    ("text", "array"),
    [
        ("0-99%10", {"first": 0, "last": 99, "limit": 10}),
        ("0-99:2%10", {"first": 0, "last": 99, "step": 2, "limit": 10}),
        ("5-9", {"first": 5, "last": 9}),
        (None, None),
    ],
)
def test_a_range_reads_as_the_field_of_the_document(text: str | None, array: dict[str, int] | None) -> None:
    assert array_of(text) == array


@pytest.mark.parametrize("text", ["", "9", "0-", "a-b", "0-9%", "0-9:", "0-9%2:3", "-1-9", "0-9 "])
def test_another_spelling_is_refused_with_one_that_passes(text: str) -> None:
    with pytest.raises(PerdureError) as refused:
        array_of(text)
    assert "FIRST-LAST" in refused.value.detail
    assert refused.value.remedy is not None
    assert "0-99:2 for every second one" in refused.value.remedy


def test_the_plan_says_how_many_jobs_there_will_be(cli: Cli, folder: str) -> None:
    shown = cli("run", "--array", "0-8:2%3", "--dry-run", "--", "./try.sh")
    assert shown.code == 0
    assert "0-8:2: 5 such jobs, at most 3 at once" in " ".join((shown.err + shown.out).split())


def test_a_list_shows_an_array_once_with_where_its_jobs_are(cli: Cli, folder: str) -> None:
    submitted(cli)
    rows = cli.ok("jobs", "list").splitlines()[1:]
    assert len(rows) == 1
    assert "array 0-8:2: 1 failed, 2 pending, 2 to come" in rows[0]
    named = [entry["name"] for entry in json.loads(cli.ok("jobs", "list", "--children", "--json"))["items"]]
    assert sorted(named) == ["sweep", "sweep-0", "sweep-2", "sweep-4"]
    assert "sweep-4" in cli.ok("jobs", "list", "--array", "sweep")


def test_the_jobs_of_an_array_are_listed_by_index(cli: Cli, folder: str) -> None:
    submitted(cli)
    rows = cli.ok("jobs", "children", "sweep").splitlines()[1:]
    assert [row.split("\t")[0] for row in rows] == ["sweep-0", "sweep-2", "sweep-4"]
    failed = json.loads(cli.ok("jobs", "children", "sweep", "--phase", "Failed", "--json", "name,arrayIndex"))
    assert failed["items"] == [{"name": "sweep-2", "arrayIndex": 2}]
    assert "PD-2204" in cli("jobs", "children", "sweep-0").err


def test_an_array_is_shown_with_the_indexes_that_failed_and_a_job_with_its_own(cli: Cli, folder: str) -> None:
    job = submitted(cli)
    shown = " ".join(cli.ok("jobs", "show", "sweep").split())
    assert "array 0-8:2, 5 jobs, at most 3 at once" in shown
    assert "jobs 2 Pending, 1 Failed, 2 not made yet" in shown
    assert "failed 2" in shown
    assert f"array index 4 of {job}" in " ".join(cli.ok("jobs", "show", "sweep-4").split())


def test_a_log_is_asked_of_one_of_the_jobs(cli: Cli, folder: str) -> None:
    submitted(cli)
    refused = cli("jobs", "logs", "sweep")
    assert refused.code != 0
    assert "PD-2203" in refused.err
    assert "sweep-0" in refused.err
