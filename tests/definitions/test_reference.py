"""The reference of each kind shows every field, and help texts come from the same words."""

import re

import pytest

from definitions.documents import KINDS
from definitions.reference import reference
from definitions.refusals import LOCAL_REFUSALS, REFUSALS
from definitions.spec_fields import walk


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_a_kind_has_a_row(kind: str) -> None:
    rows = re.findall(r"^\| `(\w+)` \|", reference(kind), re.M)
    below = {path for path in (field.path for field in walk(KINDS[kind])) if not path.startswith("spec.job.")}
    wanted = [path.rsplit(".", 1)[-1] for path in below if not path.startswith("spec.env.")]
    assert sorted(rows) == sorted(wanted)


@pytest.mark.parametrize(
    "row",
    [
        "| `timeout` | duration, > 0s |  | Longest running time over all attempts;",
        "| `command` | list of text |  | Program and arguments",
        "| `env` | map of text, or `{secret: NAME}` |  |",
        "| `nodes` | whole number, ≥ 1, ≤ 1024 | `1` |",
        "| `maxBytes` | size, ≥ 0 | `10Gi` |",
        "| `cpus` | processors, > 0 |  |",
        "| `gracePeriod` | duration, ≤ 1h | `30s` |",
        "| `retry` | [fields](#specretry) |  |",
        "| `secret` | name | **required** |",
        "| `resume` | `auto`, `never` | `auto` |",
    ],
)
def test_a_row_says_type_bounds_and_default_as_they_are_written(row: str) -> None:
    assert row in reference("Job")


def test_refused_fields_say_so() -> None:
    rows = reference("Job").splitlines()
    refused = [row for row in rows if "**Refused here**" in row]
    assert len(refused) >= len([each for each in REFUSALS.values() if not each.queued])
    assert (
        "| `team` | name |  | Team that it is accounted to. **Refused here** (PD-1502): needs people and teams. |"
        in rows
    )
    assert [row for row in refused if "| `image` |" in row or "| `queue` |" in row or "Only with" in row] == []
    assert len([row for row in rows if "**Only with `cluster`" in row]) >= len(LOCAL_REFUSALS)
    (gpus,) = [row for row in rows if row.startswith("| `gpus` | whole number")]
    assert "**Only with `cluster` or `queue`.**" in gpus
    assert [row for row in rows if row.startswith("| `topology`") and "**Only with `queue`.**" in row]
    assert "Refused here" not in reference("Schedule")


def test_every_link_has_its_heading() -> None:
    for kind in KINDS:
        text = reference(kind)
        headings = {re.sub(r"[^a-z0-9]", "", found.lower()) for found in re.findall(r"^## `(.+)`$", text, re.M)}
        assert set(re.findall(r"\(#(\w+)\)", text)) <= headings


def test_every_field_is_described() -> None:
    assert [
        (kind, field.path) for kind, model in KINDS.items() for field in walk(model) if not field.info.description
    ] == []
