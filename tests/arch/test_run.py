"""The runner of all tests: no test falls between its groups, and its sum is the sum."""

import json
from itertools import combinations
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

from tests.run import ALONE, BESIDE, groups, lanes, main, total


@pytest.mark.parametrize(
    "markers", [set(chosen) for size in range(len(ALONE) + 1) for chosen in combinations(ALONE, size)]
)
def test_a_test_belongs_to_exactly_one_group_whatever_its_markers(markers: set[str]) -> None:
    def carries(name: str, /, **_: object) -> bool:
        return name in markers

    expressions = {name: arguments[arguments.index("-m") + 1] for name, arguments in groups().items()}
    chosen = [name for name, expression in expressions.items() if Expression.compile(expression).evaluate(carries)]
    assert len(chosen) == 1
    assert chosen[0] in (markers or {"fast"})


def test_an_unknown_group_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nightly"]) == 2
    assert (
        "no such group: nightly; there are fast, slow, clean_clone, faults, soak, mutants, kube, pods, production"
        in capsys.readouterr().err
    )


def test_the_groups_are_added_up(tmp_path: Path) -> None:
    tally = tmp_path / "tally"
    tally.write_text("".join(json.dumps({"passed": n, "failed": 1, "skipped": 0}) + "\n" for n in (3, 4)))
    assert total(tally) == {"passed": 7, "failed": 2, "skipped": 0}
    assert total(tmp_path / "no group wrote one") == {"passed": 0, "failed": 0, "skipped": 0}


def test_groups_that_run_beside_each_other_do_so_only_when_both_are_wanted() -> None:
    assert lanes(["fast", "pods"]) == [["pods"]]
    assert lanes(["pods", "production", "kube"]) == [["kube", "production"], ["pods"]]
    assert lanes(["fast"]) == []
    assert {name for lane in BESIDE for name in lane} <= set(ALONE)
