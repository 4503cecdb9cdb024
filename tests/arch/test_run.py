"""The runner of all tests: no test falls between its groups, and its sum is the sum."""

import json
import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

from tests.plugin_tally import FILE
from tests.run import ALONE, BESIDE, failures, groups, lanes, main, total

ROOT = Path(__file__).parents[2]


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
    lines = [{"passed": n, "failed": 1, "skipped": 0, "failures": [[f"test_{n}", "why"]]} for n in (3, 4)]
    tally.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert total(tally) == {"passed": 7, "failed": 2, "skipped": 0}
    assert failures(tally) == [("test_3", "why"), ("test_4", "why")]
    assert total(tmp_path / "no group wrote one") == {"passed": 0, "failed": 0, "skipped": 0}


def test_a_failure_is_told_with_the_first_line_of_its_reason(tmp_path: Path) -> None:
    test, tally = tmp_path / "test_it.py", tmp_path / "tally"
    test.write_text("def test_it() -> None:\n    assert 1 == 2, 'one is not two'\n\n\ndef test_so() -> None: ...\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "tests.plugin_tally", "-c", "/dev/null"]
    environment = {**os.environ, FILE: str(tally)}
    subprocess.run([*command, str(test)], env=environment, cwd=ROOT, capture_output=True, check=False)
    assert total(tally) == {"passed": 1, "failed": 1, "skipped": 0}
    ((name, reason),) = failures(tally)
    assert name.endswith("test_it.py::test_it")
    assert reason == "AssertionError: one is not two"


def test_groups_that_run_beside_each_other_do_so_only_when_both_are_wanted() -> None:
    assert lanes(["fast", "pods"]) == [["pods"]]
    assert lanes(["pods", "production", "kube"]) == [["kube", "production"], ["pods"]]
    assert lanes(["fast"]) == []
    assert {name for lane in BESIDE for name in lane} <= set(ALONE)
